"""Rows are deleted when they have expired, batch by batch."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from gridloom.kernel.ids import uuid7
from gridloom.platform.events import slot_store
from gridloom.platform.identity.store import retention as identity_store
from gridloom.platform.jobs import JobRun, jobs_of
from gridloom.platform.upkeep import retention
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

    async def test_asks_each_room_to_forget_its_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[tuple[str, Any]] = []

        def forget(name: str) -> Any:
            async def delete(db: Any, *limits: Any) -> int:
                assert db == "db"
                asked.append((name, limits))
                return 0

            return delete

        monkeypatch.setattr(slot_store, "delete_expired", forget("streams"))
        monkeypatch.setattr(identity_store, "delete_expired", forget("sign-ins"))
        for name in ("delete_events_before", "delete_deliveries_before", "delete_expired", "delete_full_buckets"):
            monkeypatch.setattr(retention, name, forget(name))
        run: Any = SimpleNamespace(db="db")
        for declared in jobs_of(retention):
            asked.append((declared.name, (declared.every, declared.bulk, declared.clock)))
            await declared.handler(run)
        batch, hour = (timedelta(days=30), 2000), timedelta(hours=1)
        assert asked == [
            ("edge.retention", (timedelta(minutes=10), False, "real")),
            ("delete_expired", ()),
            ("delete_full_buckets", ()),
            ("events.retention", (hour, True, "real")),
            ("streams", ()),
            ("delete_events_before", batch),
            ("webhooks.retention", (hour, True, "real")),
            ("delete_deliveries_before", batch),
            ("identity.retention", (hour, True, "real")),
            ("sign-ins", ()),
        ]
