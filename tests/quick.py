"""`make quick`: the pure tests of every room, and all tests of the rooms that changed since the branch left main.

The pure ones, which need neither a server nor the application, run in two processes beside that of the rooms. Tests
nearest to the change come first, slow ones are left out, and so is what is not begun within `BUDGET_S`, which the
summary says. `make watch` does the same again whenever a file is saved.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
PURE_MARK = "pytest.mark.pure"
STARTED_AT = "GRIDLOOM_QUICK_STARTED_AT"
BUDGET_S = 48.0
PURE_PROCESSES = 2
WATCH_INTERVAL_S = 0.5
ROOMS_ELSEWHERE = {"gridloom_client": "client", "gridloom_gateway": "gateway", "gridloom_mcp": "client"}
STOREYS = frozenset({"platform", "commands"})
"""Folders of rooms: what is in one has tests in the folder of the same name."""
"""Where the tests of the other packages are."""


# --- in a process that runs tests ------------------------------------------------------------------------------------


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Where time is over, leave out what is left; what it was stands in the summary."""
    if time.time() - float(os.environ[STARTED_AT]) > BUDGET_S:
        pytest.skip(f"{BUDGET_S:.0f} s are over: `make test TESTS={item.path.relative_to(ROOT).parent}` runs it")


# --- which tests -----------------------------------------------------------------------------------------------------


def find_pure_tests() -> list[Path]:
    return [path for path in sorted(TESTS.rglob("test_*.py")) if PURE_MARK in path.read_text(encoding="utf-8")]


def find_changed_files(base: str = "main") -> list[Path]:
    """Committed since the branch left `base`, or not committed yet."""
    since = _run_git("merge-base", "HEAD", base) or ["HEAD"]
    named = [*_run_git("diff", "--name-only", since[0]), *_run_git("ls-files", "--others", "--exclude-standard")]
    return [Path(name) for name in dict.fromkeys(named)]


def find_tests_of(changed: Iterable[Path]) -> list[Path]:
    """Test files of the rooms in which files changed, those first that name a changed module."""
    changed = list(changed)
    found = {test for path in changed for test in _find_tests_of_file(path)}
    modules = [_name_module(path) for path in changed if path.parts[0] == "src"]
    return sorted(found, key=lambda test: (not _names_any(test, modules), test))


def _find_tests_of_file(path: Path) -> list[Path]:
    if path.suffix not in (".py", ".sql") or len(path.parts) < 2:
        return []
    if path.parts[0] == "tests":
        if path.name.startswith("test_"):
            return [ROOT / path] if (ROOT / path).exists() else []
        return _list_tests(ROOT / path.parent) if len(path.parts) > 2 else []
    if path.parts[0] != "src" or len(path.parts) < 3:
        return []
    if path.parts[1] != "gridloom":
        return _list_tests(TESTS / ROOMS_ELSEWHERE[path.parts[1]])
    place = Path(*path.parts[2:4]) if path.parts[2] in STOREYS else Path(path.parts[2])
    return (
        _list_tests(TESTS / place)
        or _list_tests(TESTS / place.with_name(f"test_{place.name}"))
        or _list_tests(TESTS / place.parent if place.suffix and place.parent.parts else TESTS / place)
    )


def _list_tests(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    return sorted(place.rglob("test_*.py"))


def _name_module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts[1:]).removesuffix(".__init__")


def _names_any(test: Path, modules: Sequence[str]) -> bool:
    """As `from a.b.c import`, or as `from a.b import c`."""
    text = test.read_text(encoding="utf-8")
    for module in modules:
        package, _, name = module.rpartition(".")
        if f"from {module} import" in text or any(
            name in line for line in text.splitlines() if line.startswith(f"from {package} import")
        ):
            return True
    return False


def _run_git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[:-1]


# --- running them ----------------------------------------------------------------------------------------------------


def run_quick(base: str) -> int:
    """Exit status: 0 where nothing failed."""
    started = time.time()
    near = find_tests_of(find_changed_files(base))
    pure = sorted(find_pure_tests(), key=lambda path: path not in near)
    rooms = [path for path in near if path not in pure]
    running = [
        _start_tests(f"pure tests, part {part + 1}", pure[part::PURE_PROCESSES], "pure and not slow", started)
        for part in range(PURE_PROCESSES)
    ]
    if rooms:
        places = sorted({path.parent.relative_to(ROOT).as_posix() for path in rooms})
        running.append(_start_tests(", ".join(places), rooms, "not slow", started))
    failed = 0
    for title, process in running:
        printed = process.communicate()[0]
        failed |= process.returncode not in (0, pytest.ExitCode.NO_TESTS_COLLECTED)
        print(f"--- {title}\n{printed.rstrip()}", flush=True)
    print(f"{time.time() - started:.0f} s: {'something failed' if failed else 'all passed'}", flush=True)
    return int(failed)


def _start_tests(title: str, files: Sequence[Path], marked: str, started: float) -> tuple[str, subprocess.Popen[str]]:
    names = [path.relative_to(ROOT).as_posix() for path in files]
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-m", marked, "-p", "tests.quick", *names]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment[STARTED_AT] = str(started)
    return title, subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def watch(base: str) -> None:
    """Run them now, and again whenever a file of the sources or the tests is saved; ends with Ctrl-C."""
    seen: dict[Path, int] = {}
    while True:
        now = {path: path.stat().st_mtime_ns for part in ("src", "tests") for path in _list_watched(ROOT / part)}
        if now != seen:
            seen = now
            run_quick(base)
        time.sleep(WATCH_INTERVAL_S)


def _list_watched(place: Path) -> list[Path]:
    return [path for ending in ("*.py", "*.sql") for path in place.rglob(ending)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.quick", description=__doc__)
    parser.add_argument("--base", default="main", help="the branch that this one left (main)")
    parser.add_argument("--watch", action="store_true", help="again whenever a file is saved")
    given = parser.parse_args()
    if not given.watch:
        return run_quick(given.base)
    try:
        watch(given.base)
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
