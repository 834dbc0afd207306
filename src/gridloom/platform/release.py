"""Which release this is: the package's version and, between two releases, the commit of the checkout it runs from."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from pathlib import Path


@cache
def release_name() -> str:
    """`0.3.0`, or `0.3.0.dev0+5c7683bf` from a checkout; without a commit where there is none."""
    number = version("gridloom")
    commit = _read_commit(Path(__file__).parents[3]) if ".dev" in number else None
    return f"{number}+{commit[:8]}" if commit else number


def _read_commit(root: Path) -> str | None:
    """The commit that is checked out, without starting git."""
    place = root / ".git"
    try:
        if place.is_file():  # a further work tree names its folder
            place = Path(place.read_text(encoding="utf-8").partition("gitdir:")[2].strip())
        head = (place / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        common = place / "commondir"
        shared = (place / common.read_text(encoding="utf-8").strip()) if common.exists() else place
        if (shared / name).exists():
            return (shared / name).read_text(encoding="utf-8").strip()
        packed = (shared / "packed-refs").read_text(encoding="utf-8").splitlines()
        return next((line.split()[0] for line in packed if line.endswith(f" {name}")), None)
    except OSError:
        return None
