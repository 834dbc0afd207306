"""What the queue says of its jobs: what is due by which clock, what rests, what fails."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

from tests.platform.jobs.running import now

from gridloom.platform.jobs import enqueue, store

DAY = timedelta(days=1)


async def claim(pool: Any, kind: str) -> store.ClaimedJob:
    async with pool.acquire() as db, db.transaction():
        claimed = await store.claim_due(db, [kind])
    assert claimed is not None
    return claimed


class TestAJob:
    async def test_is_given_up_by_its_runner_without_a_trace(self, pool: Any) -> None:
        await enqueue(pool, "note", key="a", due=now())
        claimed = await claim(pool, "note")
        assert await store.record_started(pool, claimed)
        assert await pool.fetchval("select begun_at is not null from job")
        await store.clear_started(pool, claimed)
        assert tuple(await pool.fetchrow("select begun_at, attempts, deaths from job")) == (None, 0, 0)
        await enqueue(pool, "note", key="a", due=now())
        assert not await store.record_started(pool, claimed), "it was put anew meanwhile"
        await pool.execute("update job set begun_at = clock_timestamp()")
        await store.clear_started(pool, claimed)
        assert await pool.fetchval("select begun_at is not null from job"), "the run of another is noted still"
        assert await store.finish(pool, claimed), "and stays"
        assert await pool.fetchval("select count(*) from job") == 1
        assert await store.remove(pool, "note", "a")
        assert not await store.finish(pool, claimed), "it was cancelled"


class TestTheQueue:
    async def test_holds_what_recurs_on_the_platforms_clock_and_nothing_else(self, pool: Any) -> None:
        """A reset that waited for every long job would keep its caller waiting."""
        await store.put_recurring(pool, "gate", "platform", DAY)
        await store.put_recurring(pool, "tick", "real", DAY)
        await enqueue(pool, "once", key="", due=now(), clock="platform")
        async with pool.acquire() as db, db.transaction():
            await store.lock_recurring(db)
            free = "select kind from job where pg_try_advisory_xact_lock(job_lock(kind, key)) order by kind"
            assert [row["kind"] for row in await pool.fetch(free)] == ["once", "tick"]

    async def test_counts_what_an_organisation_runs_and_has_waiting(self, pool: Any) -> None:
        ours, others = uuid4(), uuid4()
        for number, owner in enumerate((ours, ours, ours, others)):
            await enqueue(pool, "heavy", key=str(number), due=now())
            await pool.execute("update job set organisation_id = $2 where key = $1", str(number), owner)
        await pool.execute("update job set begun_at = clock_timestamp() where key in ('0', '3')")
        assert await store.count_jobs(pool, ours) == (1, 2)
        await pool.execute("update job set state = 'DEAD' where key = '1'")
        assert await store.count_jobs(pool, ours) == (1, 1)
