"""`python -m bench.api_coverage [database address]`: drives every operation once, and prints what came of it.

The service is started on the database that is named (an empty one, or a sandbox that may get a few organisations more
and is emptied at the end), or on one of its own. The same scenes run on a plain PostgreSQL, on a primary with a standby
(`--standby`) and on a distributed one; so what fails on one of them alone is the database's doing.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import asyncpg

from bench.api_coverage_calls import Line, Survey
from bench.api_coverage_steps import SCENES
from bench.harness import PASSWORD, USERNAME, await_answer, free_port, process
from bench.local_cluster import cluster
from gridloom.app import ROUTE_MODULES, SANDBOX_ROUTE_MODULES
from gridloom.edge import operations_of


def survey(address: str) -> list[Line]:
    operations = {
        operation.operation_id: operation for operation in operations_of(*ROUTE_MODULES, *SANDBOX_ROUTE_MODULES)
    }
    world = Survey(address, operations)
    for scene in SCENES:
        try:
            scene(world)
        except (KeyError, IndexError, TypeError) as error:  # what an earlier call should have brought is not there
            world.lines.append(Line(f"({scene.__name__})", 0, 0.0, f"went no further: {error!r}"))
    driven = {line.operation for line in world.lines}
    missing = [Line(name, 0, 0.0, "was not driven") for name in operations if name not in driven]
    return world.lines + missing


def report(lines: list[Line]) -> int:
    width = max(len(line.operation) for line in lines)
    for line in lines:
        print(f"{line.operation:{width}}  {line.status or '---'}  {line.took_ms:8.1f} ms  {line.said}".rstrip())
    failed = [line for line in lines if line.said]
    driven = len({line.operation for line in lines if line.status})
    print(f"\n{driven} operations, {len(lines)} calls, {len(failed)} not as they should be")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.api_coverage", description="Drive every operation once.")
    parser.add_argument("database", nargs="?", default=os.environ.get("GRIDLOOM_DATABASE_URL") or None)
    parser.add_argument("--standby", action="store_true", help="on a primary of its own, reading from a standby of it")
    parser.add_argument("--lag", default="0", help="how long the standby holds back what it receives, such as 2s")
    given = parser.parse_args()
    if given.standby and given.database:
        parser.error("a standby is made of the survey's own primary; leave the database out")
    return survey_with_standby(given.lag) if given.standby else survey_database(given.database)


def survey_with_standby(lag: str) -> int:
    with cluster(lag) as made:
        address, _ = made.start_service(1, reads_from_standby=True, more={"GRIDLOOM_METRICS_TOKEN": "survey"})
        outcome = report(survey(address))
        print(f"The standby (lag {lag}) was asked for rows {asyncio.run(_count_looks(made.standby.dsn)):,} times.")
        return outcome


async def _count_looks(dsn: str) -> int:
    """How often tables were read there: what a server counts, its standby does not get to know."""
    connection = await asyncpg.connect(dsn)
    try:
        return int(await connection.fetchval("select sum(seq_scan + coalesce(idx_scan, 0)) from pg_stat_user_tables"))
    finally:
        await connection.close()


def survey_database(database: str | None) -> int:
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="gl-survey-", ignore_cleanup_errors=True))
        port = free_port()
        environment = {
            "GRIDLOOM_ENVIRONMENT": "sandbox",
            "GRIDLOOM_PORT": str(port),
            "GRIDLOOM_WORKERS": "1",
            "GRIDLOOM_BOOTSTRAP_USERNAME": USERNAME,
            "GRIDLOOM_BOOTSTRAP_PASSWORD": PASSWORD,
            "GRIDLOOM_SIMULATOR": "off",
            "GRIDLOOM_LOG_LEVEL": "warning",
            "GRIDLOOM_HOME": str(Path(directory) / "home"),
            "GRIDLOOM_METRICS_TOKEN": "survey",
        }
        if database:
            environment["GRIDLOOM_DATABASE_URL"] = database
        product = stack.enter_context(process([sys.executable, "-m", "gridloom.cli", "serve"], environment))
        address = f"http://127.0.0.1:{port}"
        await_answer(address, "/health/ready", product)
        return report(survey(address))


if __name__ == "__main__":
    sys.exit(main())
