"""Jobs that fail: nothing of them stays, they are tried again, and stuck ones are reported."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import pytest
from tests.platform.jobs.known import known_job
from tests.platform.jobs.running import note, now, running, until

from gridloom.platform.database.commit.after_commit import after_commit
from gridloom.platform.jobs import JobRun, enqueue, run_due_platform_jobs, store
from gridloom.platform.jobs.rules import MAX_CRASHES, STUCK_AFTER

pytestmark = pytest.mark.usefixtures("kinds")


class TestAFailedJob:
    async def test_leaves_no_effect_and_is_tried_again(self, pool, dsn) -> None:
        told: list[int] = []

        @known_job("shaky")
        async def shaky(run: JobRun) -> None:
            await note(run)
            after_commit(run.db, lambda: told.append(run.attempt))
            if run.attempt == 1:
                raise ValueError("not yet")

        await enqueue(pool, "shaky", key="a", due=now())
        async with running(pool, dsn):
            await until(lambda: pool.fetchval("select count(*) > 0 from done"))
        assert [row["attempt"] for row in await pool.fetch("select attempt from done")] == [2]
        assert told == [2], "what waited for the commit of the first goes with it"

    async def test_is_tried_for_ever_but_shows_in_health_once_it_is_stuck(self, pool, dsn) -> None:
        @known_job("hopeless")
        async def hopeless(run: JobRun) -> None:
            raise ValueError("never\x00" + "!" * 2000)

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
        assert health.troubled[0]["last_error"] == "ValueError: never".ljust(2000, "!")
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
            assert await store.retry_now(pool, "shaky", "a")
            await until(lambda: pool.fetchval("select attempts = 1 from job"))
        assert tries == 2
        assert not await store.retry_now(pool, "shaky", "b")

    async def test_that_was_laid_aside_may_take_as_many_processes_along_as_a_new_one(self, pool) -> None:
        await enqueue(pool, "shaky", key="a", due=now())
        await pool.execute("update job set state = 'DEAD', deaths = $1, attempts = 3", MAX_CRASHES)
        assert await store.retry_now(pool, "shaky", "a")
        revived = await pool.fetchrow("select state, deaths, attempts from job")
        assert tuple(revived) == ("WAITING", 0, 0)

    async def test_keeps_its_rest_when_asked_for_without_a_restart(self, pool) -> None:
        await enqueue(pool, "shaky", key="a", due=now())
        await pool.execute("update job set attempts = 3, not_before = clock_timestamp() + interval '1 hour'")
        await enqueue(pool, "shaky", key="a", due=now(), restart=False)
        assert await pool.fetchval("select attempts = 3 and not_before is not null from job")
        await enqueue(pool, "shaky", key="a", due=now())
        assert await pool.fetchval("select attempts = 0 and not_before is null from job")

    async def test_that_recurs_rests_until_its_next_time_at_most(self, pool) -> None:
        await store.put_recurring(pool, "tick", "real", timedelta(seconds=30))
        await pool.execute("select pg_sleep(0.002)")  # instants are rounded to a millisecond, which may be the next
        async with pool.acquire() as db, db.transaction():
            claimed = await store.claim_one(db, "tick", "")
            assert claimed is not None
            await store.fail(db, claimed, "not yet", timedelta(hours=1))
        assert await pool.fetchval("select not_before <= clock_timestamp() + interval '30.001 seconds' from job")
        async with pool.acquire() as db, db.transaction():
            assert await store.claim_one(db, "tick", "") is None
        await pool.execute("update job set not_before = clock_timestamp() - interval '1 ms'")
        async with pool.acquire() as db, db.transaction():
            assert await store.claim_one(db, "tick", "") is not None, "it has rested"

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
        began = await pool.fetchval("select clock_timestamp()")
        async with running(pool, dsn):
            await until(lambda: pool.fetchval("select deaths = 5 from job"))
        assert timedelta(seconds=5) < await pool.fetchval("select not_before - $1::timestamptz from job", began)
        assert await pool.fetchval("select not_before - clock_timestamp() from job") < timedelta(seconds=10)
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
