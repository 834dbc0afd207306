"""The queue: what is enqueued happens once, at its time, if and only if its transaction commits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from tests.jobs.known import known_job

from gridloom.database.listen import Listener
from gridloom.database.pool import create_pool
from gridloom.jobs import JobRun, JobRunner, cancel, enqueue, run_due_platform_jobs, store
from gridloom.jobs.rules import STUCK_AFTER

pytestmark = pytest.mark.usefixtures("kinds")


def now() -> datetime:
    return datetime.now(UTC)


async def note(run: JobRun) -> None:
    await run.db.execute("insert into done (key, attempt) values ($1, $2)", run.key, run.attempt)


@asynccontextmanager
async def running(pool, dsn: str, count: int = 1, **options) -> AsyncIterator[list[JobRunner]]:
    runners = [JobRunner(pool, **options) for _ in range(count)]
    listener = Listener(dsn)
    for runner in runners:
        runner.attach(listener)
    await listener.start()
    for runner in runners:
        await runner.start()
    await listener.connected.wait()
    try:
        yield runners
    finally:
        for runner in runners:
            await runner.stop()
        await listener.stop()


async def until(check: Callable[[], Awaitable[object]], seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not await check():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.02)


class TestAJob:
    async def test_runs_within_a_second_of_its_due_time_and_is_gone(self, pool, dsn) -> None:
        known_job("note")(note)
        async with running(pool, dsn):
            due = now() + timedelta(seconds=0.7)
            await enqueue(pool, "note", key="a", due=due)
            await until(lambda: pool.fetchval("select count(*) > 0 from done"))
            lag = (await pool.fetchval("select at from done")) - due
            assert timedelta(0) <= lag < timedelta(seconds=0.5)
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
        await enqueue(pool, "note", key="a", due=later, payload={"n": 2})
        rows = await pool.fetch("select due, payload from job")
        assert [tuple(row) for row in rows] == [(later, {"n": 2})]

    async def test_that_was_cancelled_does_not_run(self, pool, dsn) -> None:
        known_job("note")(note)
        await enqueue(pool, "note", key="a", due=now())
        assert await cancel(pool, "note", "a")
        assert not await cancel(pool, "note", "a")
        async with running(pool, dsn):
            await asyncio.sleep(0.2)
        assert await pool.fetchval("select count(*) from done") == 0

    async def test_cancelled_while_it_runs_is_undone(self, pool, dsn) -> None:
        began, go_on = asyncio.Event(), asyncio.Event()

        @known_job("slow")
        async def slow(run: JobRun) -> None:
            await note(run)
            began.set()
            await go_on.wait()

        await enqueue(pool, "slow", key="a", due=now())
        async with running(pool, dsn):
            await began.wait()
            assert await cancel(pool, "slow", "a")
            go_on.set()
        assert await pool.fetchval("select count(*) from done") == 0

    async def test_enqueued_while_it_runs_runs_once_more_and_holds_nobody_up(self, pool, dsn) -> None:
        began, go_on = asyncio.Event(), asyncio.Event()

        @known_job("slow")
        async def slow(run: JobRun) -> None:
            await note(run)
            began.set()
            await go_on.wait()

        await enqueue(pool, "slow", key="a", due=now())
        async with running(pool, dsn):
            await began.wait()
            await asyncio.wait_for(enqueue(pool, "slow", key="a", due=now()), 1)
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

    async def test_again_keeps_nobody_from_running_it_as_it_stands(self, pool) -> None:
        await enqueue(pool, "note", key="a", due=now())
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
            async with asyncio.timeout(5):
                await enqueue(pool, "note", key="a", due=now())


class TestAFailedJob:
    async def test_leaves_no_effect_and_is_tried_again(self, pool, dsn) -> None:
        @known_job("shaky")
        async def shaky(run: JobRun) -> None:
            await note(run)
            if run.attempt == 1:
                raise ValueError("not yet")

        await enqueue(pool, "shaky", key="a", due=now())
        async with running(pool, dsn):
            await until(lambda: pool.fetchval("select count(*) > 0 from done"))
        assert [row["attempt"] for row in await pool.fetch("select attempt from done")] == [2]

    async def test_is_tried_for_ever_but_shows_in_health_once_it_is_stuck(self, pool, dsn) -> None:
        @known_job("hopeless")
        async def hopeless(run: JobRun) -> None:
            raise ValueError("never\x00")

        await enqueue(pool, "hopeless", key="a", due=now())
        await pool.execute("update job set attempts = $1", STUCK_AFTER - 2)
        async with running(pool, dsn):
            await until(lambda: pool.fetchval("select attempts = $1 from job", STUCK_AFTER - 1))
            assert (await store.health(pool)).troubled_kinds == []
            await pool.execute("update job set not_before = null")
            await store.wake(pool)
            await until(lambda: pool.fetchval("select attempts = $1 from job", STUCK_AFTER))
        health = await store.health(pool)
        assert (health.dead, health.stuck, health.troubled_kinds) == (0, 1, ["hopeless"])
        assert health.troubled[0]["last_error"] == "ValueError: never"
        rest = await pool.fetchval("select not_before - clock_timestamp() from job")
        assert timedelta(minutes=3) < rest < timedelta(minutes=7)

    async def test_is_tried_at_once_when_it_is_revived(self, pool, dsn) -> None:
        tries = 0

        @known_job("shaky")
        async def shaky(run: JobRun) -> None:
            nonlocal tries
            tries += 1
            raise ValueError("not yet")

        await enqueue(pool, "shaky", key="a", due=now())
        await pool.execute("update job set attempts = 9")
        async with running(pool, dsn):
            await until(lambda: pool.fetchval("select attempts = 10 from job"))
            assert await store.revive(pool, "shaky", "a")
            await until(lambda: pool.fetchval("select attempts = 1 from job"))
        assert tries == 2
        assert not await store.revive(pool, "shaky", "b")

    async def test_keeps_its_rest_when_asked_for_without_a_restart(self, pool) -> None:
        await enqueue(pool, "shaky", key="a", due=now())
        await pool.execute("update job set attempts = 3, not_before = clock_timestamp() + interval '1 hour'")
        await enqueue(pool, "shaky", key="a", due=now(), restart=False)
        assert await pool.fetchval("select attempts = 3 and not_before is not null from job")
        await enqueue(pool, "shaky", key="a", due=now())
        assert await pool.fetchval("select attempts = 0 and not_before is null from job")

    async def test_that_takes_too_long_has_failed(self, pool, dsn) -> None:
        @known_job("endless", limit=timedelta(seconds=0.2))
        async def endless(run: JobRun) -> None:
            await run.db.execute("select pg_sleep(30)")

        await enqueue(pool, "endless", key="a", due=now())
        async with running(pool, dsn):
            await until(lambda: pool.fetchval("select attempts = 1 from job"))
        assert await pool.fetchval("select begun_at is null and deaths = 0 from job")


class TestARunThatEndedWithoutATrace:
    """Its note was committed and nothing else of it: as a process leaves it that is killed."""

    async def test_counts_and_rests_longer_each_time(self, pool, dsn) -> None:
        known_job("note")(note)
        await enqueue(pool, "note", key="a", due=now())
        await pool.execute("update job set begun_at = clock_timestamp(), deaths = 4, attempts = 4")
        async with running(pool, dsn):
            await until(lambda: pool.fetchval("select deaths = 5 from job"))
        rest = await pool.fetchval("select not_before - clock_timestamp() from job")
        assert timedelta(seconds=5) < rest < timedelta(seconds=10)
        assert await pool.fetchval("select state = 'WAITING' and begun_at is null and attempts = 5 from job")
        assert await pool.fetchval("select count(*) from done") == 0

    async def test_of_a_recurring_job_never_lays_it_aside(self, pool, dsn) -> None:
        known_job("tick", every=timedelta(seconds=30))(note)
        await store.put_recurring(pool, "tick", "real", timedelta(seconds=30))
        await pool.execute("update job set begun_at = clock_timestamp(), deaths = 20, attempts = 20")
        async with running(pool, dsn):
            await until(lambda: pool.fetchval("select deaths = 21 from job"))
        assert await pool.fetchval("select state = 'WAITING' from job")
        assert await pool.fetchval("select not_before > clock_timestamp() + interval '3 minutes' from job")

    async def test_does_not_stop_the_platforms_clock(self, pool) -> None:
        known_job("note")(note)
        due = await pool.fetchval("select platform_now()")
        await enqueue(pool, "note", key="a", due=due, clock="platform")
        await pool.execute("update job set begun_at = clock_timestamp()")

        async def set_clock(_moment: datetime) -> None: ...

        assert await run_due_platform_jobs(pool, due + timedelta(hours=1), set_clock) == 1
        assert [row["attempt"] for row in await pool.fetch("select attempt from done")] == [2]


class TestAStoppingRunner:
    async def test_gives_back_what_it_does_not_finish_without_counting_it(self, pool) -> None:
        began = asyncio.Event()

        @known_job("slow")
        async def slow(run: JobRun) -> None:
            await note(run)
            began.set()
            await asyncio.Event().wait()

        await enqueue(pool, "slow", key="a", due=now())
        runner = JobRunner(pool)
        await runner.start()
        await began.wait()
        assert await pool.fetchval("select begun_at is not null from job")
        await runner.stop(grace_s=0.05)
        assert await pool.fetchval("select begun_at is null and attempts = 0 and deaths = 0 from job")
        assert await pool.fetchval("select count(*) from done") == 0

    async def test_needs_no_more_than_two_connections_for_all_its_lanes(self, dsn, pool) -> None:
        @known_job("brief")
        async def brief(run: JobRun) -> None:
            await asyncio.sleep(0.01)
            await note(run)

        for n in range(20):
            await enqueue(pool, "brief", key=str(n), due=now())
        async with await create_pool(dsn, size=2) as narrow:
            runner = JobRunner(narrow)
            await runner.start()
            await until(lambda: pool.fetchval("select count(*) = 20 from done"))
            await runner.stop()


class TestARecurringJob:
    async def test_comes_back_without_being_enqueued(self, pool, dsn) -> None:
        known_job("tick", every=timedelta(seconds=0.3))(note)
        async with running(pool, dsn):
            await until(lambda: pool.fetchval("select count(*) >= 3 from done"))
        assert await pool.fetchval("select count(*) from job") == 1

    async def test_never_dies(self, pool, dsn) -> None:
        @known_job("tick", every=timedelta(seconds=0.1))
        async def tick(run: JobRun) -> None:
            raise ValueError("always")

        async with running(pool, dsn):
            await until(lambda: pool.fetchval("select attempts >= 3 from job"))
        assert (await store.health(pool)).failing == 1


class TestHealth:
    async def test_does_not_take_what_is_running_for_late(self, pool, dsn) -> None:
        began, go_on = asyncio.Event(), asyncio.Event()

        @known_job("slow")
        async def slow(run: JobRun) -> None:
            began.set()
            await go_on.wait()

        known_job("note")(note)
        await enqueue(pool, "slow", key="a", due=now() - timedelta(hours=1))
        await pool.execute("update job set enqueued_at = clock_timestamp() - interval '1 hour'")
        assert (await store.health(pool)).overdue_s > 3000
        async with running(pool, dsn):
            await began.wait()
            assert (await store.health(pool)).overdue_s == 0
            go_on.set()


class TestBulkWork:
    async def test_never_takes_more_than_one_lane_of_a_worker(self, pool, dsn) -> None:
        running_now, most = 0, 0

        @known_job("heavy", bulk=True)
        async def heavy(run: JobRun) -> None:
            nonlocal running_now, most
            running_now += 1
            most = max(most, running_now)
            await asyncio.sleep(0.1)
            running_now -= 1
            await note(run)

        known_job("note")(note)
        for n in range(3):
            await enqueue(pool, "heavy", key=str(n), due=now())
        await enqueue(pool, "note", key="prompt", due=now())
        async with running(pool, dsn):
            await until(lambda: pool.fetchval("select count(*) = 4 from done"))
        assert most == 1
        assert await pool.fetchval("select key from done order by at limit 1") == "prompt"


class TestThePlatformsClock:
    async def test_brings_every_due_job_in_order_before_it_stands(self, pool, dsn) -> None:
        seen = []

        @known_job("gate")
        async def gate(run: JobRun) -> None:
            at = await run.db.fetchval("select platform_now()")
            seen.append((run.key, round((at - start).total_seconds() / 3600)))
            if run.key == "b":
                await enqueue(run.db, "gate", key="b2", due=run.due + timedelta(minutes=1), clock="platform")

        start = await pool.fetchval("select platform_now()")

        async def set_clock(instant: datetime) -> None:
            await pool.execute(
                "update sandbox_clock set ahead = greatest(ahead, $1::timestamptz - clock_timestamp())", instant
            )

        for key, hours in (("c", 30), ("a", 10), ("b", 20), ("beyond", 100)):
            await enqueue(pool, "gate", key=key, due=start + timedelta(hours=hours), clock="platform")
        async with running(pool, dsn, 2):
            ran = await run_due_platform_jobs(pool, start + timedelta(hours=50), set_clock)
            assert seen == [("a", 10), ("b", 20), ("b2", 20), ("c", 30)]
            assert ran <= 4  # a runner may have been quicker
            assert await pool.fetchval("select key from job") == "beyond"

    async def test_wakes_the_runners_for_what_is_due_soon_after_it(self, pool, dsn) -> None:
        known_job("note")(note)
        start = await pool.fetchval("select platform_now()")
        await enqueue(pool, "note", key="a", due=start + timedelta(hours=10, seconds=0.5), clock="platform")

        async def set_clock(instant: datetime) -> None:
            await pool.execute(
                "update sandbox_clock set ahead = greatest(ahead, $1::timestamptz - clock_timestamp())", instant
            )

        async with running(pool, dsn):
            await asyncio.sleep(0.2)
            assert await run_due_platform_jobs(pool, start + timedelta(hours=10), set_clock) == 0
            await until(lambda: pool.fetchval("select count(*) = 1 from done"), 2)
