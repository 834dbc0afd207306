"""What went wrong behind the answers: error lines of a service's log, and jobs that have failed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import asyncpg

ENVIRONMENT: Final = {"GRIDLOOM_LOG_FORMAT": "json", "GRIDLOOM_LOG_LEVEL": "warning"}
"""Settings of a service whose log is read here."""


def find_error_lines(log: Path, expected: Collection[str] = ()) -> list[str]:
    """Each kind of error line once, with how often it stands in the log; those that begin with an expected pattern are
    left out."""
    kinds: Counter[str] = Counter()
    for line in log.read_text(errors="replace").splitlines():
        entry = _read_entry(line)
        if entry is None:
            kinds[line[:200]] += "Traceback" in line
        elif entry.get("level") in ("error", "critical"):
            said = _describe_entry(entry)
            kinds[said[:400]] += not any(re.match(pattern, said, re.DOTALL) for pattern in expected)
    return [f"{count} × {kind}" for kind, count in kinds.most_common() if count]


def _read_entry(line: str) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None


def _describe_entry(entry: dict[str, Any]) -> str:
    """The event, the kind of job, and the error as it was raised; the operation where nothing was."""
    trace = str(entry.get("exception") or "").strip().splitlines()
    raised = entry.get("error") or "\n".join(trace[-6:]) or entry.get("operation")
    return " ".join(str(part) for part in (entry.get("event"), entry.get("kind", ""), raised) if part)


async def read_failed_jobs(database: str) -> list[str]:
    """Jobs that are dead or wait after an attempt that failed."""
    connection = await asyncpg.connect(database)
    try:
        rows = await connection.fetch(
            "select kind, key, attempts, last_error from job where state = 'DEAD' or attempts > 0 order by kind, key"
        )
    finally:
        await connection.close()
    return [f"{row['kind']} {row['key']}: {row['attempts']} attempts, {row['last_error']}" for row in rows]


async def read_versions(database: str) -> dict[str, Any]:
    """Of PostgreSQL and, on a cluster, of Citus, with its nodes and the shards of one table."""
    connection = await asyncpg.connect(database)
    try:
        found: dict[str, Any] = {"postgresql": await connection.fetchval("show server_version")}
        citus = await connection.fetchval("select extversion from pg_extension where extname = 'citus'")
        if citus is not None:
            found["citus"] = (await connection.fetchval("select citus_version()")).split(" on ")[0]
            found["worker_nodes"] = await connection.fetchval(
                "select count(*) from pg_dist_node where noderole = 'primary' and groupid <> 0"
            )
            found["shards"] = await connection.fetchval(
                "select count(*) from pg_dist_shard where logicalrelid = to_regclass('virtual_asset')"
            )
        return found
    finally:
        await connection.close()
