"""The queue: what is enqueued happens once, at its time, if and only if its transaction commits."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from tests.platform.jobs.known import known_job
from tests.platform.jobs.running import note, now, running

from gridloom.platform.database.commit import after_commit
from gridloom.platform.jobs import JobRun, cancel, enqueue, jobs_of, store
from gridloom.wiring import JOB_MODULES

pytestmark = pytest.mark.usefixtures("kinds")


class TestAJob:
    async def test_does_not_exist_when_its_transaction_rolls_back(self, pool, dsn) -> None:
        known_job("note")(note)
        async with pool.acquire() as db:
            transaction = db.transaction()
            await transaction.start()
            await enqueue(db, "note", key="a", due=now())
            await transaction.rollback()
        assert await pool.fetchval("select count(*) from job") == 0

    async def test_enqueued_again_moves(self, pool) -> None:
        later = (now() + timedelta(days=1)).replace(microsecond=0)
        await enqueue(pool, "note", key="a", due=now(), payload={"n": 1})
        await pool.execute("update job set attempts = 2, deaths = 2, last_error = 'It fell.', not_before = now()")
        await enqueue(pool, "note", key="a", due=later, payload={"n": 2})
        rows = await pool.fetch("select due, payload, attempts, deaths, last_error, not_before from job")
        assert [tuple(row) for row in rows] == [(later, {"n": 2}, 0, 0, None, None)], "as if it had never failed"

    async def test_cancelled_while_it_runs_is_undone(self, pool, dsn) -> None:
        began, go_on, told = asyncio.Event(), asyncio.Event(), []

        @known_job("slow")
        async def slow(run: JobRun) -> None:
            await note(run)
            after_commit(run.db, lambda: told.append("it is done"))
            began.set()
            await go_on.wait()

        await enqueue(pool, "slow", key="a", due=now())
        async with running(pool, dsn):
            await began.wait()
            assert await cancel(pool, "slow", "a")
            go_on.set()
        assert await pool.fetchval("select count(*) from done") == 0
        assert told == []


class TestAJobThatIsBeingPut:
    """On a distributed database its transaction shows here, where the queue is, before it shows where the rows are."""

    async def claim(self, pool) -> str | None:
        async with pool.acquire() as db, db.transaction():
            claimed = await store.claim_due(db, ["note"])
            return claimed.key if claimed is not None else None

    async def hold(self, db, key: str) -> None:
        """Be in the state of a transaction that has put the job and is over here, but not yet elsewhere."""
        await db.execute(
            "select pg_advisory_xact_lock(job_put_lock(kind, key, enqueued_at)) from job where key = $1", key
        )

    async def test_after_it_was_cancelled_waits_for_no_run_of_it(self, pool) -> None:
        await enqueue(pool, "note", key="a", due=now())
        async with pool.acquire() as db, db.transaction():
            assert await store.claim_due(db, ["note"]) is not None
            assert await cancel(pool, "note", "a")
            async with asyncio.timeout(120):
                await enqueue(pool, "note", key="a", due=now())


FORMER_KINDS = {
    "delivery.look": "delivery.close-gates",
    "edge.forget": "edge.retention",
    "events.forget": "events.retention",
    "monitoring.fold": "monitoring.compact",
    "monitoring.forget": "monitoring.retention",
    "monitoring.look": "monitoring.schedule-compaction",
    "optimisation.forget": "optimisation.retention",
    "webhooks.forget-deliveries": "webhooks.retention",
}


class TestAKindThatWasRenamed:
    """Replicas of the release before put jobs under its former name during a rolling upgrade."""

    def test_is_declared_under_its_new_name(self) -> None:
        assert set(FORMER_KINDS.values()) <= {kind.name for kind in jobs_of(*JOB_MODULES)}
