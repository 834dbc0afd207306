"""`make mutants`: plant faults, one at a time, in a copy of the sources, and see whether the tests notice.

The faults are in `mutants.toml`, each with the tests that ought to catch it. What no test catches is a rule that
nothing holds. A test of the usual suite sees that every fault still finds its line. What came of each is kept in
`bench/results/mutants.json` as soon as it is known; the test that noticed a fault the last time is asked first.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pytest
from tests.database_server import open_scratch, server_url, stop_servers

from bench.mutation_lives import Lives, keep_found_by_lives

ROOT = Path(__file__).parents[1]
FAULTS = ROOT / "bench" / "mutants.toml"
RESULTS = ROOT / "bench" / "results" / "mutants.json"
SHARED_CASES = Path("web/src/features/virtual-assets/projection.cases.json")
"""What tests of the service read of the console's."""
TIMEOUT_S = 900


class TestsNotRun(Exception):
    """No test was run: what was asked for is not there."""

    __test__ = False


class FaultNotFound(Exception):
    """The text that a fault replaces is not where it was: `mutants.toml` has to be put right."""


@dataclass(frozen=True, slots=True)
class Mutant:
    file: str
    old: str
    new: str
    tests: str
    across: str = ""

    @property
    def path(self) -> str:
        return f"src/{self.file}" if self.file.startswith("gridloom_client/") else f"src/gridloom/{self.file}"

    @property
    def leaves_schema(self) -> bool:
        """The database that tests begin with is the one that they would make without the fault."""
        return not self.file.startswith("platform/database/")

    def applied_to(self, text: str) -> str:
        if text.count(self.old) != 1:
            raise FaultNotFound(f"{self.path} has {self.old!r} {text.count(self.old)} times, not once")
        return text.replace(self.old, self.new)


@dataclass(frozen=True, slots=True)
class MutantResult:
    file: str
    old: str
    new: str
    across: str
    outcome: str
    """`caught`, `MISSED`, or `UNKNOWN`: the test fails without the fault as well, or neither could be tried."""
    by: str
    """The test that noticed."""
    took_s: float


MUTANTS = tuple(Mutant(**fault) for fault in tomllib.loads(FAULTS.read_text(encoding="utf-8"))["fault"])


@contextmanager
def copied_project() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gridloom-mutants-") as folder:
        copy = Path(folder)
        for part in ("src", "tests", "docs", "bench", "deploy", "guide", "sdk"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        for file in ("pyproject.toml", "openapi.json", "README.md", "Makefile", "CONTRIBUTING.md", "CHANGELOG.md"):
            shutil.copy(ROOT / file, copy / file)
        cases = copy / SHARED_CASES
        cases.parent.mkdir(parents=True)
        shutil.copy(ROOT / SHARED_CASES, cases)
        yield copy


@contextmanager
def planted(mutant: Mutant, copy: Path) -> Iterator[None]:
    path = copy / mutant.path
    if not path.exists():
        raise FaultNotFound(f"there is no file {mutant.path}")
    text = path.read_text(encoding="utf-8")
    try:
        _write_source(path, mutant.applied_to(text))
        yield
    finally:
        _write_source(path, text)


def _write_source(path: Path, text: str) -> None:
    """What was compiled of it before is removed: it is known again by the second in which it was written."""
    path.write_text(text, encoding="utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        compiled.unlink()


def run_tests(copy: Path, environment: dict[str, str], *tests: str, stop: bool = True) -> list[str]:
    """The tests that fail, or the first of them."""
    command = ["pytest", "-q", *(["-x"] if stop else []), "-p", "no:cacheprovider", *(f"tests/{one}" for one in tests)]
    status, printed = _run_in(copy, environment, command)
    if status is None:
        return ["nothing ended in time"]
    if status == pytest.ExitCode.OK:
        return []
    failed = re.findall(r"^(?:FAILED|ERROR) tests/(.+?)(?: - .*)?$", printed, re.MULTILINE)
    if not failed and status not in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED):
        raise TestsNotRun(f"{tests} could not be run: {printed[-2000:]}")
    return failed or ["the tests could not be collected"]


def find_unsound(noticed_by: Iterable[str], copy: Path, environment: dict[str, str]) -> set[str]:
    """Those tests that fail in a copy without any fault as well."""
    named = sorted({by for by in noticed_by if "::" in by or by.endswith(".py")})  # a test, or a file without its tests
    return set(run_tests(copy, environment, *named, stop=False)) if named else set()


def _run_in(copy: Path, environment: dict[str, str], command: Sequence[str]) -> tuple[int | None, str]:
    """Exit status, or None where it took too long, and what was printed: into a file, which no process that outlives
    the tests keeps open for a reader."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        running = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=copy,
            env={**environment, "PYTHONPATH": str(copy / "src")},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status: int | None = running.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            status = None
        output.seek(0)
        return status, output.read()


class Attempts:
    """Faults that are tried, several at a time, each in a copy; what came of each is kept as soon as it is known."""

    def __init__(self, chosen: Sequence[tuple[int, Mutant]], lives: Lives | None, known: dict[Mutant, str]) -> None:
        self.chosen, self.lives, self.known = chosen, lives, known
        self.results: dict[int, MutantResult] = {}
        self._copies: queue.Queue[Path] = queue.Queue()
        self._saving = threading.Lock()
        self._keeps = len(chosen) == len(MUTANTS) and lives is None

    def run(self, jobs: int) -> list[MutantResult]:
        with ExitStack() as stack:
            self._alone = _environment_of_tests()
            self._shared = stack.enter_context(shared_server())
            for _ in range(jobs):
                self._copies.put(copy := stack.enter_context(copied_project()))
            if self.lives is not None:
                self.lives.live_unplanted(copy, self._shared)
            with ThreadPoolExecutor(jobs) as threads:
                list(threads.map(lambda numbered: self._try_one(*numbered), self.chosen))
            if self.lives is None:
                self._withdraw_unsound()
        return [self.results[number] for number, _ in self.chosen]

    def _try_one(self, number: int, mutant: Mutant) -> None:
        copy, began = self._copies.get(), time.monotonic()
        try:
            with planted(mutant, copy):
                failed = self._find_failures(mutant, copy)
            outcome, by = ("caught", failed[0]) if failed else ("MISSED", "")
        except (FaultNotFound, TestsNotRun) as fault:
            outcome, by = "UNKNOWN", str(fault)
        finally:
            self._copies.put(copy)
        took_s = round(time.monotonic() - began, 1)
        print(f"{number:3} {outcome} {took_s:6.1f} s  {mutant.file}: {mutant.old!r} → {mutant.new!r}: {by}", flush=True)
        self._keep(number, MutantResult(mutant.file, mutant.old, mutant.new, mutant.across, outcome, by, took_s))

    def _find_failures(self, mutant: Mutant, copy: Path) -> list[str]:
        """By the test that noticed the last time; where there is none, or it does not notice, by all that are named."""
        environment = self._shared if mutant.leaves_schema else self._alone
        if self.lives is not None:
            return self.lives.find_broken(copy, environment)
        with suppress(TestsNotRun):  # it has another name now
            if mutant in self.known and (failed := run_tests(copy, environment, self.known[mutant])):
                return failed
        return run_tests(copy, environment, mutant.tests)

    def _withdraw_unsound(self) -> None:
        """A test that fails without the fault as well has caught nothing."""
        caught = [one.by for one in self.results.values() if one.outcome == "caught"]
        unsound = find_unsound(caught, self._copies.get(), self._shared)
        for number, one in self.results.items():
            if one.by in unsound:
                print(f"    UNKNOWN  {one.file}: {one.by} fails without the fault as well", flush=True)
                self._keep(number, replace(one, outcome="UNKNOWN"))

    def _keep(self, number: int, result: MutantResult) -> None:
        with self._saving:
            self.results[number] = result
            if self._keeps:
                keep_results([self.results[each] for each in sorted(self.results)])
            if self.lives is not None:
                keep_found_by_lives(self.lives, asdict(result))


@contextmanager
def shared_server() -> Iterator[dict[str, str]]:
    """The environment of tests that find a server with a migrated template, which each would have to make."""
    open_scratch()
    try:
        server_url()
        yield _environment_of_tests()
    finally:
        stop_servers()


def _environment_of_tests() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def keep_results(results: Sequence[MutantResult]) -> None:
    caught = sum(one.outcome == "caught" for one in results)
    across = sum(bool(one.across) for one in results)
    kept = {
        "faults": len(results),
        "caught": caught,
        "acrossRooms": across,
        "results": [asdict(one) for one in results],
    }
    RESULTS.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_known_tests() -> dict[Mutant, str]:
    """By fault, the test that noticed it in the run whose results are kept."""
    if not RESULTS.exists():
        return {}
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))["results"]
    named = {(one["file"], one["old"], one["new"]): one["by"] for one in kept if "::" in one["by"]}
    found = {mutant: named.get((mutant.file, mutant.old, mutant.new)) for mutant in MUTANTS}
    return {mutant: by for mutant, by in found.items() if by is not None and by.startswith(mutant.tests)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.mutation_tests", description=__doc__)
    parser.add_argument("--only", default="", help="only faults in files whose name contains this")
    parser.add_argument("--from", dest="first", type=int, default=1, help="begin with the fault of this number")
    parser.add_argument(
        "--lives", type=int, default=0, metavar="COUNT", help="by so many simulated lives, not by tests"
    )
    parser.add_argument("--numbers", default="", help="only faults of these numbers, such as 3,39,41")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    given = parser.parse_args()
    numbers = {int(number) for number in given.numbers.split(",") if number}
    chosen = [
        (number, mutant)
        for number, mutant in enumerate(MUTANTS, start=1)
        if given.only in mutant.file and number >= given.first and (not numbers or number in numbers)
    ]
    lives = Lives(_run_in, given.lives, TIMEOUT_S) if given.lives else None
    results = Attempts(chosen, lives, read_known_tests()).run(given.jobs)
    missed = sum(one.outcome != "caught" for one in results)
    print(f"{len(results) - missed} of {len(results)} faults were caught.")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
