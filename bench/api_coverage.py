"""`python -m bench.api_coverage [database address]`: drives every operation once, and prints what came of it.

The service is started on the database that is named (an empty one, or a sandbox that may get a few organisations more
and is emptied at the end), or on one of its own. The same scenes run on a plain PostgreSQL, on a primary with a standby
(`--standby`) and on a distributed one; so what fails on one of them alone is the database's doing. With `--days` two
simulated days are played first, on the database and on a plain PostgreSQL, and compared. An error line in the service's
log and a failed job are failures, too.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg

from bench.api_coverage_calls import Line, Survey
from bench.api_coverage_steps import ALONE, SCENES
from bench.harness import PASSWORD, USERNAME, Options, Result, await_answer, free_port, process, write_results
from bench.local_cluster import cluster
from bench.lock_order import find_out_of_order, log_statements
from bench.service_log import ENVIRONMENT, find_error_lines, read_failed_jobs, read_versions
from bench.simulated_days import compare, play_days
from gridloom.app import ROUTE_MODULES, SANDBOX_ROUTE_MODULES
from gridloom.platform.database.server.embedded import dsn_of_running
from gridloom.platform.http import operations_of


def survey(address: str, callers: int = 1) -> list[Line]:
    operations = {
        operation.operation_id: operation for operation in operations_of(*ROUTE_MODULES, *SANDBOX_ROUTE_MODULES)
    }
    worlds = [Survey(address, operations) for _ in range(callers)]
    with ThreadPoolExecutor(callers) as together:
        for scene in SCENES:
            acting = worlds[:1] if scene in ALONE else worlds
            list(together.map(partial(play, scene), acting))
    lines = [line for world in worlds for line in world.lines]
    driven = {line.operation for line in lines}
    missing = [Line(name, 0, 0.0, "was not driven") for name in operations if name not in driven]
    return lines + missing


def play(scene: Callable[[Survey], None], world: Survey) -> None:
    try:
        scene(world)
    except (KeyError, IndexError, TypeError) as error:  # what an earlier call should have brought is not there
        world.lines.append(Line(f"({scene.__name__})", 0, 0.0, f"went no further: {error!r}"))


def report(lines: list[Line], wrong: Sequence[str] = ()) -> int:
    """`wrong`: what is wrong behind the answers."""
    width = max(len(line.operation) for line in lines)
    for line in lines:
        print(f"{line.operation:{width}}  {line.status or '---'}  {line.took_ms:8.1f} ms  {line.said}".rstrip())
    failed = [line for line in lines if line.said]
    driven = len({line.operation for line in lines if line.status})
    print(f"\n{driven} operations, {len(lines)} calls, {len(failed)} not as they should be")
    for sentence in wrong:
        print(f"behind the answers: {sentence}")
    return 1 if failed or wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.api_coverage", description="Drive every operation once.")
    parser.add_argument("database", nargs="?", default=os.environ.get("GRIDLOOM_DATABASE_URL") or None)
    parser.add_argument("--standby", action="store_true", help="on a primary of its own, reading from a standby of it")
    parser.add_argument("--lag", default="0", help="how long the standby holds back what it receives, such as 2s")
    parser.add_argument("--days", action="store_true", help="first play two simulated days there and on a plain one")
    parser.add_argument("--keep", metavar="NAME", help="write what came of it to bench/results/NAME.json")
    parser.add_argument("--callers", type=int, default=1, help="organisations that live through the same at once")
    given = parser.parse_args()
    if given.standby and given.database:
        parser.error("a standby is made of the survey's own primary; leave the database out")
    if given.standby:
        return survey_with_standby(given.lag)
    days = survey_days(given.database) if given.days else None
    return survey_database(given.database, days, given.keep, given.callers)


@dataclass(frozen=True)
class SurveyedDays:
    figures: dict[str, Any]
    wrong: list[str]


def survey_days(database: str | None) -> SurveyedDays:
    """Two simulated days, on this database and on a plain PostgreSQL; what failed there, and what differs."""
    plain = play_days(None)
    played = {"plain": plain} if database is None else {"plain": plain, "here": play_days(database)}
    wrong = [f"two days, {name}: {sentence}" for name, days in played.items() for sentence in days.wrong]
    if database is not None:
        wrong += [f"two days, differing from plain PostgreSQL: {one}" for one in compare(plain, played["here"])]
    for name, days in played.items():
        print(f"two simulated days, {name}: {days.took_s:.0f} s, {days.count()}", flush=True)
    figures = {name: {"seconds": round(days.took_s), "counts": days.count()} for name, days in played.items()}
    return SurveyedDays(figures, wrong)


def survey_with_standby(lag: str) -> int:
    with cluster(lag) as made:
        log = made.home / "service.log"
        asyncio.run(log_statements(made.primary.dsn))
        more = {**ENVIRONMENT, "GRIDLOOM_METRICS_TOKEN": "survey"}
        address, _ = made.start_service(1, reads_from_standby=True, more=more, log=log)
        lines = survey(address)
        wrong = [*find_error_lines(log), *asyncio.run(read_failed_jobs(made.primary.dsn))]
        outcome = report(lines, wrong + find_out_of_order(made.primary.home / "postgres.log"))
        print(f"The standby (lag {lag}) was asked for rows {asyncio.run(_count_looks(made.standby.dsn)):,} times.")
        return outcome


async def _count_looks(dsn: str) -> int:
    """How often tables were read there: what a server counts, its standby does not get to know."""
    connection = await asyncpg.connect(dsn)
    try:
        return int(await connection.fetchval("select sum(seq_scan + coalesce(idx_scan, 0)) from pg_stat_user_tables"))
    finally:
        await connection.close()


def survey_database(
    database: str | None, days: SurveyedDays | None = None, keep: str | None = None, callers: int = 1
) -> int:
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="gl-survey-", ignore_cleanup_errors=True))
        home, log, port = Path(directory) / "home", Path(directory) / "service.log", free_port()
        environment = {
            **ENVIRONMENT,
            "GRIDLOOM_ENVIRONMENT": "sandbox",
            "GRIDLOOM_PORT": str(port),
            "GRIDLOOM_WORKERS": "1",
            "GRIDLOOM_BOOTSTRAP_USERNAME": USERNAME,
            "GRIDLOOM_BOOTSTRAP_PASSWORD": PASSWORD,
            "GRIDLOOM_SIMULATOR": "off",
            "GRIDLOOM_HOME": str(home),
            "GRIDLOOM_METRICS_TOKEN": "survey",
        }
        if database:
            environment["GRIDLOOM_DATABASE_URL"] = database
        product = stack.enter_context(
            process([sys.executable, "-m", "gridloom.commands.cli", "serve"], environment, log)
        )
        address = f"http://127.0.0.1:{port}"
        await_answer(address, "/health/ready", product)
        lines = survey(address, callers)
        url = database or dsn_of_running(home)
        wrong = [*(days.wrong if days else ()), *find_error_lines(log), *asyncio.run(read_failed_jobs(url))]
        outcome = report(lines, wrong)
        if keep is not None:
            _keep_results(keep, lines, wrong, days, asyncio.run(read_versions(url)))
        return outcome


def _keep_results(
    name: str, lines: list[Line], wrong: list[str], days: SurveyedDays | None, versions: dict[str, Any]
) -> None:
    figures = {
        "operations": len({line.operation for line in lines if line.status}),
        "calls": len(lines),
        "not as they should be": [f"{line.operation}: {line.said}" for line in lines if line.said],
        "wrong behind the answers": wrong,
        "two simulated days": days.figures if days else None,
    }
    met = not wrong and not figures["not as they should be"]
    result = Result(name, "survey", figures, target="nothing else than on plain PostgreSQL", met=met)
    for path in write_results([result], Options(), versions):
        print(f"written: {path}")


if __name__ == "__main__":
    sys.exit(main())
