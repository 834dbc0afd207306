"""`python -m bench [name …] [--quick] [--rounds N] [--seconds S] [--connections N] [--workers N]`."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from types import ModuleType

import bench
from bench.harness import Options, Result, running, write_results
from bench.scaling import main as write_scaling_page

QUICK = Options(seconds=0.7, rounds=1, connections=16, quick=True)


def benches() -> dict[str, ModuleType]:
    """Every module of this package that has a `run`."""
    found = {}
    for entry in pkgutil.iter_modules(bench.__path__):
        if entry.name.startswith("_"):
            continue
        module = importlib.import_module(f"bench.{entry.name}")
        if hasattr(module, "run"):
            found[entry.name] = module
    return found


def main() -> int:
    known = benches()
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure the product against its ceilings.")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(sorted(known))}; all when left out")
    parser.add_argument("--quick", action="store_true", help="only see that it runs; the numbers mean little")
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument("--connections", type=int, default=None)
    parser.add_argument("--workers", type=int, default=None)
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in known]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    start = QUICK if given.quick else Options()
    options = Options(
        seconds=given.seconds or start.seconds,
        rounds=given.rounds or start.rounds,
        connections=given.connections or start.connections,
        workers=given.workers or start.workers,
        quick=given.quick,
    )
    results: list[Result] = []
    for name in given.names or sorted(known):
        module = known[name]
        environment = getattr(module, "ENVIRONMENT", None)
        with running(name, options, has_ceiling=hasattr(module, "CEILING"), environment=environment) as harness:
            module.run(harness)
            results += harness.results
    if not options.quick:
        for path in write_results(results, options):
            print(f"written: {path}")
        write_scaling_page()  # it is computed from these
    missed = [result for result in results if result.met is False]
    print(f"{len(results)} results, {len(missed)} below target")
    return 0


if __name__ == "__main__":
    sys.exit(main())
