"""`make mutants`: plant faults, one at a time, in a copy of the sources, and see whether the tests notice.

The faults are in `mutants.toml`, each with the tests that ought to catch it. What no test catches is a rule that
nothing holds. A test of the usual suite sees that every fault still finds its line. The results are kept in
`bench/results/mutants.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
FAULTS = ROOT / "bench" / "mutants.toml"
RESULTS = ROOT / "bench" / "results" / "mutants.json"
TIMEOUT_S = 900


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
    """`caught`, `MISSED`, or `UNKNOWN` where the test fails without the fault as well."""
    by: str
    """The test that noticed."""
    took_s: float


MUTANTS = tuple(Mutant(**fault) for fault in tomllib.loads(FAULTS.read_text(encoding="utf-8"))["fault"])


@contextmanager
def copied_project() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gridloom-mutants-") as folder:
        copy = Path(folder)
        for part in ("src", "tests", "docs", "bench", "deploy", "guide"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        for file in ("pyproject.toml", "openapi.json", "README.md", "Makefile", "CONTRIBUTING.md", "CHANGELOG.md"):
            shutil.copy(ROOT / file, copy / file)
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


def run_tests(copy: Path, *tests: str, stop: bool = True, lives_s: int = 0) -> list[str]:
    """The tests that fail, or the first of them; with `lives_s`, whether as many seconds of simulated lives do."""
    command = ["pytest", "-q", *(["-x"] if stop else []), "-p", "no:cacheprovider", *(f"tests/{one}" for one in tests)]
    if lives_s:
        command = ["tests.simulation", "--seconds", str(lives_s), "--no-shrink"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=copy,
            env={**environment, "PYTHONPATH": str(copy / "src")},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ["nothing ended in time"]
    assert done.returncode in (0, 1, 2), f"{tests} could not be run: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    if done.returncode == 0:
        return []
    failed = re.findall(r"^(?:FAILED|ERROR) tests/(.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return failed or ["a simulated life" if lives_s else "the tests could not be collected"]


def try_mutants(chosen: Sequence[tuple[int, Mutant]], lives_s: int, jobs: int) -> list[MutantResult]:
    """Each by itself, several at a time; a test that fails without the fault as well has caught nothing."""
    copies: queue.Queue[Path] = queue.Queue()

    def try_one(numbered: tuple[int, Mutant]) -> MutantResult:
        number, mutant = numbered
        copy, began = copies.get(), time.monotonic()
        try:
            with planted(mutant, copy):
                failed = run_tests(copy, mutant.tests, lives_s=lives_s)
        finally:
            copies.put(copy)
        outcome = "caught" if failed else "MISSED"
        by = failed[0] if failed else ""
        print(f"{number:3} {outcome}  {mutant.file}: {mutant.old!r} → {mutant.new!r}: {by}", flush=True)
        took_s = round(time.monotonic() - began, 1)
        return MutantResult(mutant.file, mutant.old, mutant.new, mutant.across, outcome, by, took_s)

    with ExitStack() as stack:
        for _ in range(jobs):
            copies.put(stack.enter_context(copied_project()))
        with ThreadPoolExecutor(jobs) as threads:
            results = list(threads.map(try_one, chosen))
        if not lives_s:
            named = sorted({one.by for one in results if "::" in one.by})
            unsound = set(run_tests(copies.get(), *named, stop=False)) if named else set()
            results = [replace(one, outcome="UNKNOWN") if one.by in unsound else one for one in results]
    for one in results:
        if one.outcome == "UNKNOWN":
            print(f"    UNKNOWN  {one.file}: {one.by} fails without the fault as well")
    return results


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


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.mutation_tests", description=__doc__)
    parser.add_argument("--only", default="", help="only faults in files whose name contains this")
    parser.add_argument("--from", dest="first", type=int, default=1, help="begin with the fault of this number")
    parser.add_argument("--lives", type=int, default=0, metavar="SECONDS", help="by simulated lives instead of tests")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    given = parser.parse_args()
    chosen = [
        (number, mutant)
        for number, mutant in enumerate(MUTANTS, start=1)
        if given.only in mutant.file and number >= given.first
    ]
    results = try_mutants(chosen, given.lives, given.jobs)
    if len(results) == len(MUTANTS) and not given.lives:
        keep_results(results)
    missed = sum(one.outcome != "caught" for one in results)
    print(f"{len(results) - missed} of {len(results)} faults were caught.")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
