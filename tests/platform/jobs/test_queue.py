"""The queue: what is enqueued happens once, at its time, if and only if its transaction commits."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from tests.platform.jobs.known import known_job
from tests.platform.jobs.running import note, now, running, until

from gridloom.platform.database.commit.after_commit import after_commit
from gridloom.platform.jobs import JobRun, cancel, enqueue, jobs_of, store
from gridloom.wiring import JOB_MODULES

pytestmark = pytest.mark.usefixtures("kinds")


class TestAJob:
    async def test_runs_at_its_due_time_and_is_gone(self, pool, dsn) -> None:
        known_job("note")(note)
        async with running(pool, dsn):
            due = now() + timedelta(seconds=0.7)
            await enqueue(pool, "note", key="a", due=due)
            await until(lambda: pool.fetchval("select count(*) > 0 from done"))
            assert await pool.fetchval("select at from done") >= due
            await until(lambda: pool.fetchval("select count(*) = 0 from job"))

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

    async def test_enqueued_again_keeps_an_earlier_time_where_that_is_asked_for(self, pool) -> None:
        """Whether the second call comes with the later time or the first, and only while the job waits."""
        sooner, later = [(now() + timedelta(days=days)).replace(microsecond=0) for days in (1, 2)]
        for first, second in ((sooner, later), (later, sooner)):
            await enqueue(pool, "note", key="a", due=first)
            await enqueue(pool, "note", key="a", due=second, keep_earlier_due=True)
            assert await pool.fetchval("select due from job") == sooner
        await pool.execute("update job set state = 'DEAD'")
        await enqueue(pool, "note", key="a", due=later, keep_earlier_due=True)
        assert await pool.fetchval("select due from job") == later

    async def test_that_was_cancelled_does_not_run(self, pool, dsn) -> None:
        known_job("note")(note)
        await enqueue(pool, "note", key="a", due=now())
        assert await cancel(pool, "note", "a")
        assert not await cancel(pool, "note", "a")
        async with running(pool, dsn):
            await asyncio.sleep(0.2)
        assert await pool.fetchval("select count(*) from done") == 0

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

    async def test_enqueued_while_it_runs_runs_once_more_and_delays_no_other(self, pool, dsn) -> None:
        began, go_on = asyncio.Event(), asyncio.Event()

        @known_job("slow")
        async def slow(run: JobRun) -> None:
            await note(run)
            began.set()
            await go_on.wait()

        await enqueue(pool, "slow", key="a", due=now())
        async with running(pool, dsn):
            await began.wait()
            await asyncio.wait_for(enqueue(pool, "slow", key="a", due=now()), 120)
            go_on.set()
            await until(lambda: pool.fetchval("select count(*) = 2 from done"))
            await until(lambda: pool.fetchval("select count(*) = 0 from job"))

    async def test_may_enqueue_itself(self, pool, dsn) -> None:
        @known_job("chain")
        async def chain(run: JobRun) -> None:
            await note(run)
            if run.payload["left"]:
                await enqueue(run.db, "chain", key=run.key, due=now(), payload={"left": run.payload["left"] - 1})

        await enqueue(pool, "chain", key="a", due=now(), payload={"left": 3})
        async with running(pool, dsn):
            await until(lambda: pool.fetchval("select count(*) = 4 from done"))
            await until(lambda: pool.fetchval("select count(*) = 0 from job"))

    async def test_of_an_unknown_kind_waits_for_a_replica_that_knows_it(self, pool, dsn) -> None:
        known_job("note")(note)
        await enqueue(pool, "of-the-next-release", key="a", due=now())
        async with running(pool, dsn):
            await asyncio.sleep(0.2)
        assert await pool.fetchval("select attempts from job") == 0


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

    async def test_waits_for_the_end_of_the_transaction_that_puts_it(self, pool) -> None:
        await enqueue(pool, "note", key="a", due=now())
        async with pool.acquire() as db, db.transaction():
            await self.hold(db, "a")
            assert await self.claim(pool) is None
        assert await self.claim(pool) == "a"

    async def test_is_held_by_who_puts_it_until_its_transaction_ends(self, pool) -> None:
        async with pool.acquire() as db, db.transaction():
            await enqueue(db, "note", key="a", due=now())
            name = await db.fetchval("select job_put_lock(kind, key, enqueued_at) from job")
            assert not await pool.fetchval("select pg_try_advisory_xact_lock_shared($1)", name)
        assert await pool.fetchval("select pg_try_advisory_xact_lock_shared($1)", name)

    async def test_again_keeps_no_runner_from_running_it_as_it_is(self, pool) -> None:
        await enqueue(pool, "note", key="a", due=now())
        await pool.execute("select pg_sleep(0.002)")  # what is put twice within a millisecond is one and the same
        async with pool.acquire() as db, db.transaction():
            await enqueue(db, "note", key="a", due=now())
            assert await self.claim(pool) == "a"

    async def test_keeps_no_other_job_waiting(self, pool) -> None:
        for key in ("a", "b"):
            await enqueue(pool, "note", key=key, due=now())
        async with pool.acquire() as db, db.transaction():
            await self.hold(db, "a")
            assert await self.claim(pool) == "b"

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

    @pytest.mark.parametrize("former", FORMER_KINDS)
    async def test_gets_its_new_name_on_its_way_in(self, pool, former: str) -> None:
        later = (now() + timedelta(days=1)).replace(microsecond=0)
        await enqueue(pool, FORMER_KINDS[former], key="a", due=now())
        await enqueue(pool, former, key="a", due=later)
        [job] = await pool.fetch("select kind, due from job")
        assert (job["kind"], job["due"]) == (FORMER_KINDS[former], later)

    async def test_recurs_once(self, pool) -> None:
        await store.put_recurring(pool, "edge.retention", "real", timedelta(minutes=10))
        await store.put_recurring(pool, "edge.forget", "real", timedelta(minutes=10))
        assert await pool.fetchval("select array_agg(kind) from job") == ["edge.retention"]
