"""Jobs that fail: nothing of them stays, they are tried again, and stuck ones are reported."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from tests.platform.jobs.known import known_job
from tests.platform.jobs.running import note, now, running, until

from gridloom.platform.database.commit import after_commit
from gridloom.platform.jobs import JobRun, enqueue, run_due_platform_jobs, store
from gridloom.platform.jobs.rules import MAX_CRASHES

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
