"""`make lot`: draw slips by lot from all sources, plant them one at a time, and see whether their rooms' tests notice.

Nobody chose them, as somebody did those of `mutants.toml`, so the share that is caught says how much a change can
break unseen. A room's tests that name the changed module come first; slow ones are left out. Some slips have no visible
effect: what is missed is a list to read, not a list of holes. The last lot is in `bench/results/lot.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import random
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tests.quick import find_tests_of

from bench.mutation_candidates import Slip, find_slips
from bench.mutation_tests import (
    ROOT,
    Mutant,
    TestsNotRun,
    copied_project,
    find_unsound,
    planted,
    run_tests,
    shared_server,
)

RESULTS = ROOT / "bench" / "results" / "lot.json"
SOURCES = ("src/gridloom", "src/gridloom_client")
OF_A_WHOLE_CHECKOUT = ("console/journeys/", "console/test_tool_chain.py")
"""Tests that need the console's sources and packages, which are not copied."""


@dataclass(frozen=True, slots=True)
class Drawn:
    file: str
    line: int
    function: str
    old: str
    new: str
    outcome: str = ""
    by: str = ""
    """The test that noticed."""
    took_s: float = 0.0


def draw(count: int, seed: int, only: str) -> list[Drawn]:
    """A file as often as it is long, then a function, then a slip in it."""
    files = sorted(path for part in SOURCES for path in (ROOT / part).rglob("*.py") if only in path.as_posix())
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    chance, found = random.Random(seed), dict[tuple[str, str, str], Drawn]()
    known: dict[Path, list[Slip]] = {}
    for _ in range(20 * count):
        [path] = chance.choices(files, [len(texts[file]) for file in files])
        if path not in known:
            known[path] = find_slips(texts[path])
        if not known[path] or not find_tests(path):
            continue
        function = chance.choice(sorted({slip.function for slip in known[path]}))
        slip = chance.choice([slip for slip in known[path] if slip.function == function])
        file = path.relative_to(ROOT).as_posix()
        found[file, slip.old, slip.new] = Drawn(file, slip.line, slip.function, slip.old, slip.new)
        if len(found) == count:
            break
    return list(found.values())


def find_tests(path: Path) -> list[str]:
    names = [test.relative_to(ROOT / "tests").as_posix() for test in find_tests_of([path.relative_to(ROOT)])]
    return [name for name in names if not name.startswith(OF_A_WHOLE_CHECKOUT)]


def try_all(lot: Sequence[Drawn], jobs: int) -> list[Drawn]:
    copies: queue.Queue[Path] = queue.Queue()
    with ExitStack() as stack:
        environment = stack.enter_context(shared_server()) | {"PYTEST_ADDOPTS": "-m 'not slow'"}
        for _ in range(jobs):
            copies.put(stack.enter_context(copied_project()))

        def try_one(drawn: Drawn) -> Drawn:
            copy, began = copies.get(), time.monotonic()
            try:
                mutant = Mutant(drawn.file.removeprefix("src/").removeprefix("gridloom/"), drawn.old, drawn.new, "")
                with planted(mutant, copy):
                    failed = run_tests(copy, environment, *find_tests(ROOT / drawn.file))
                outcome, by = ("caught", failed[0]) if failed else ("MISSED", "")
            except TestsNotRun as fault:
                outcome, by = "UNKNOWN", str(fault)
            finally:
                copies.put(copy)
            took_s = round(time.monotonic() - began, 1)
            print(f"{outcome} {took_s:6.1f} s  {drawn.file}:{drawn.line} {drawn.old!r} → {drawn.new!r}", flush=True)
            return Drawn(**asdict(drawn) | {"outcome": outcome, "by": by, "took_s": took_s})

        with ThreadPoolExecutor(jobs) as threads:
            results = list(threads.map(try_one, lot))
        unsound = find_unsound([one.by for one in results if one.outcome == "caught"], copies.get(), environment)
    for one in results:
        if one.by in unsound:
            print(f"UNKNOWN  {one.file}: {one.by} fails without the fault as well", flush=True)
    return [replace(one, outcome="UNKNOWN") if one.by in unsound else one for one in results]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.mutation_lot", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=40, help="how many are drawn (40)")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)), help="draws the same again")
    parser.add_argument("--only", default="", help="only from files whose path contains this, such as /revenue/")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    given = parser.parse_args()
    results = try_all(draw(given.count, given.seed, given.only), given.jobs)
    outcomes = Counter(one.outcome for one in results)
    if not given.only:
        kept = {"seed": given.seed, **outcomes, "results": [asdict(one) for one in results]}
        RESULTS.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{outcomes['caught']} of {len(results)} were caught (seed {given.seed}); read what was missed.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
