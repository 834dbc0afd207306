"""`python -m bench [name …] [--quick] [--rounds N] [--seconds S] [--connections N] [--workers N] [--database URL]`."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import pkgutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import bench
from bench.harness import Options, Result, running, write_results
from bench.local_cluster import cluster
from bench.scaling import main as write_scaling_page
from bench.service_log import ENVIRONMENT as LOG_ENVIRONMENT
from bench.service_log import find_error_lines, read_failed_jobs, read_versions

ON_A_CLUSTER = {"cluster": "citus_costs"}
"""Benches that measure something else where a database is given; they want a distributed one."""

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
    parser.add_argument(
        "--database",
        default=os.environ.get("GRIDLOOM_DATABASE_URL") or None,
        help="a sandbox's address; what is seen there is printed and not kept (a PostgreSQL of its own when left out)",
    )
    parser.add_argument(
        "--standby", action="store_true", help="on a primary of its own, reading from a synchronous standby of it"
    )
    parser.add_argument("--strict", action="store_true", help="end with 1 when a target is missed")
    parser.add_argument(
        "--keep", metavar="PREFIX", help="write what is seen on another database to bench/results/PREFIX<bench>.json"
    )
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
    with _find_database(given.database, standby=given.standby) as database:
        for asked in given.names or sorted(known.keys() - {ON_A_CLUSTER["cluster"]}):
            name = asked if database is None else ON_A_CLUSTER.get(asked, asked)
            results += _measure(name, known[name], options, database)
        versions = asyncio.run(read_versions(database)) if given.keep and database else None
    if versions is not None:
        for path in write_results(results, options, versions, given.keep):
            print(f"written: {path}")
    if not options.quick and database is None:
        for path in write_results(results, options):
            print(f"written: {path}")
        write_scaling_page()  # it is computed from these
    missed = [result for result in results if result.met is False]
    print(f"{len(results)} results, {len(missed)} below target")
    return 1 if given.strict and missed else 0


@contextmanager
def _find_database(address: str | None, *, standby: bool) -> Iterator[str | None]:
    """Where to measure: the address that was given, a cluster's, or None for a PostgreSQL of each bench's own."""
    if not standby:
        yield address
        return
    with cluster() as made:
        os.environ["GRIDLOOM_READ_DATABASE_URL"] = made.name_servers("standby")
        yield made.name_servers("read-write")


def _measure(name: str, module: ModuleType, options: Options, database: str | None) -> list[Result]:
    """A module with `EXPECTED_ERRORS` is held to a log without any other error line, and to no failed job."""
    environment = getattr(module, "ENVIRONMENT", None)
    expected: tuple[str, ...] | None = getattr(module, "EXPECTED_ERRORS", None)
    has_ceiling = hasattr(module, "CEILING")
    with tempfile.TemporaryDirectory(prefix="gl-bench-log-") as directory:
        log = None if expected is None else Path(directory) / "service.log"
        if log is not None:
            environment = {**(environment or {}), **LOG_ENVIRONMENT}
        with running(
            name, options, has_ceiling=has_ceiling, environment=environment, log=log, database=database
        ) as harness:
            module.run(harness)
            failed = asyncio.run(read_failed_jobs(harness.database_url)) if log is not None else []
        if log is not None:
            lines = find_error_lines(log, expected or ())
            figures = {"error lines": lines[:20], "failed jobs": failed[:20]}
            harness.report("behind the answers", figures, target="none", met=not (lines or failed))
        return harness.results


if __name__ == "__main__":
    sys.exit(main())
