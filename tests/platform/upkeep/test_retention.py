"""Rows are deleted when they have expired, batch by batch."""

from __future__ import annotations

from gridloom.kernel.ids import uuid7
from gridloom.platform.jobs import JobRun
from gridloom.platform.upkeep.retention import delete_expired_requests


class TestRetention:
    async def test_deletes_answers_after_a_day_and_windows_after_minutes(self, app) -> None:
        old, young = uuid7().hex, uuid7().hex
        for key, age in ((old, "25 hours"), (young, "23 hours")):
            await app.pool.execute(
                "insert into idempotency values ($1, 'x', 'x', 201, '{}', '', clock_timestamp() - $2::text::interval)",
                key,
                age,
            )
            await app.pool.execute(
                "insert into rate_limit values ($1, clock_timestamp() - $2::text::interval, 1, 1)", key, age
            )
        async with app.pool.acquire() as db, db.transaction():
            moment = await db.fetchval("select clock_timestamp()")
            await delete_expired_requests(JobRun(db=db, kind="", key="", payload={}, due=moment, attempt=1))
        kept = await app.pool.fetch("select caller_key from idempotency where caller_key = any($1)", [old, young])
        assert [row["caller_key"] for row in kept] == [young]
        assert not await app.pool.fetch("select from rate_limit where key = any($1)", [old, young])
