"""A run of a zone passes through few files, so that a newcomer can follow it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.code_paths import noted_files
from tests.delivery.conftest import Yard
from tests.virtual_assets.conftest import QUARTER

from gridloom.delivery.runs.run import dispatch_zone
from gridloom.platform.database.clock import platform_now
from gridloom.platform.jobs import JobRun
from gridloom.virtual_assets.allocation import DISPATCH_JOB

MAX_FILES = 44


async def run_inline(work: Callable[..., Any], *arguments: Any) -> Any:
    return work(*arguments)


async def test_a_run_passes_through_at_most_44_files(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    virtual = await yard.virtual(await yard.battery(), await yard.battery())
    await yard.schedule(virtual, [400.0, 200.0])
    await yard.advance(yard.start - timedelta(hours=2))
    await yard.schedule(virtual, [300.0, 100.0])  # and so there is something to plan
    await yard.edge.pool.execute(
        "update sandbox_clock set ahead = greatest(ahead, $1::timestamptz - clock_timestamp())",
        yard.start - 2 * QUARTER,
    )
    monkeypatch.setattr(asyncio, "to_thread", run_inline)
    async with yard.edge.pool.acquire() as db, db.transaction():
        now = await platform_now(db)
        with noted_files() as files:
            await dispatch_zone(JobRun(db=db, kind=DISPATCH_JOB, key="TenneT", payload={}, due=now, attempt=1))
        assert await db.fetchval("select count(*) from delivery_run") > 1
    assert len(files) <= MAX_FILES, sorted(files)
