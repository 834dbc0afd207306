"""Readiness and `gridloom jobs` report jobs that fail."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.people import client_of

from gridloom.auctions.clearing import CLEARING
from gridloom.platform.http.application import Application
from gridloom.platform.jobs import enqueue

FAILED = """
update job set attempts = 12, last_error = 'ValueError: [no] capacity', failed_at = clock_timestamp(),
  not_before = clock_timestamp() + interval '5 minutes' where kind = $1
"""


async def readiness(edge: Application) -> tuple[int, str, str]:
    async with client_of(edge) as client:
        answer = await client.get("/health/ready")
    check = next(one for one in answer.json()["checks"] if one["name"] == "job runner")
    return answer.status_code, check["status"], check["detail"]


async def gridloom_jobs(dsn: str, *arguments: str) -> str:
    command = [str(Path(sys.executable).with_name("gridloom")), "jobs", *arguments]
    environ = {"GRIDLOOM_DATABASE_URL": dsn, "COLUMNS": "200"}
    done = await asyncio.to_thread(subprocess.run, command, env=environ, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


class TestAClearingThatFailsAgainAndAgain:
    async def test_degrades_readiness_by_name_until_it_is_repaired(
        self, fresh_app: Callable[[], Awaitable[Application]]
    ) -> None:
        edge = await fresh_app()
        assert (await readiness(edge))[:2] == (200, "OK")
        await enqueue(edge.pool, CLEARING, key="019a", due=datetime.now(UTC) + timedelta(hours=1))
        await edge.pool.execute(FAILED, CLEARING)
        status, state, detail = await readiness(edge)
        assert (status, state) == (200, "DEGRADED")
        assert detail.endswith("1 in need of attention (auction.clear): `gridloom jobs` says why")
        assert "019a" not in detail, "readiness is for everyone, and whose job it is is not"
        await edge.pool.execute("delete from job where kind = $1", CLEARING)
        assert (await readiness(edge))[:2] == (200, "OK")


class TestTheCommandJobs:
    async def test_lists_what_needs_attention_and_sets_it_going(self, pool, dsn) -> None:
        assert "No job needs attention." in await gridloom_jobs(dsn)
        await enqueue(pool, "auction.clear", key="019a", due=datetime.now(UTC))
        await enqueue(pool, "monitoring.compact", key="7", due=datetime.now(UTC))
        await pool.execute(FAILED, "auction.clear")
        await pool.execute(FAILED, "monitoring.compact")
        await pool.execute("update job set state = 'DEAD' where kind = 'monitoring.compact'")
        listed = await gridloom_jobs(dsn)
        assert "ValueError: [no] capacity" in listed
        assert "dead-lettered" in listed
        assert "auction.clear" not in await gridloom_jobs(dsn, "--revive", "auction.clear", "019a")
        assert "No job needs attention." in await gridloom_jobs(dsn, "--revive", "monitoring.compact", "7")
