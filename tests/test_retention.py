"""Rows are deleted when they have expired, batch by batch."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from gridloom import retention
from gridloom.jobs import JobRun
from gridloom.kernel.ids import uuid7
from gridloom.retention import delete_expired_requests


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

    async def test_goes_on_with_what_is_thirty_days_old_until_a_batch_is_not_full(self) -> None:
        asked: list[tuple[timedelta, int]] = []

        async def delete(_: Any, older_than: timedelta, most: int) -> int:
            asked.append((older_than, most))
            return most if len(asked) < 3 else most - 1

        await retention._delete_in_batches(None, delete)  # type: ignore[arg-type]
        assert asked == [(timedelta(days=30), 2000)] * 3

    async def test_leaves_the_rest_to_the_next_run(self) -> None:
        asked: list[int] = []

        async def delete(_: Any, __: timedelta, most: int) -> int:
            asked.append(most)
            return most

        await retention._delete_in_batches(None, delete)  # type: ignore[arg-type]
        assert len(asked) == 50
