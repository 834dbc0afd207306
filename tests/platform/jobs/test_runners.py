"""Runners: how they stop, what they bring back by themselves, and in which order they take what is due."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import asyncpg
import pytest
from tests.platform.jobs.known import known_job
from tests.platform.jobs.running import note, now, running, until

from gridloom.platform.database.pool import Database, create_pool
from gridloom.platform.jobs import JobRun, JobRunner, enqueue, run_due_platform_jobs, store

pytestmark = pytest.mark.usefixtures("kinds")


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
    async def test_never_dies(self, pool, dsn) -> None:
        @known_job("tick", every=timedelta(seconds=0.1))
        async def tick(run: JobRun) -> None:
            raise ValueError("always")

        async with running(pool, dsn):
            await until(lambda: pool.fetchval("select attempts >= 3 from job"))
        assert (await store.health(pool)).failing == 1


class TestBulkWork:
    async def test_never_takes_more_than_one_lane_of_a_worker(self, pool, dsn) -> None:
        running_now, most = 0, 0
        prompt_ran = asyncio.Event()

        @known_job("heavy", bulk=True)
        async def heavy(run: JobRun) -> None:
            nonlocal running_now, most
            running_now += 1
            most = max(most, running_now)
            await prompt_ran.wait()
            running_now -= 1
            await note(run)

        @known_job("note")
        async def prompt(run: JobRun) -> None:
            prompt_ran.set()
            await note(run)

        for n in range(3):
            await enqueue(pool, "heavy", key=str(n), due=now())
        await enqueue(pool, "note", key="prompt", due=now())
        async with running(pool, dsn):
            await until(lambda: pool.fetchval("select count(*) = 4 from done"))
        assert most == 1


class TestThePlatformsClock:
    async def test_runs_a_job_that_can_wait_when_it_says(self, pool) -> None:
        asked = []

        async def postpone(_: Database, due: datetime, idle_until: datetime) -> datetime:
            asked.append((due, idle_until))
            return idle_until - timedelta(minutes=1)

        seen = {}

        async def record_clock(run: JobRun) -> None:
            seen[run.kind, run.due] = await run.db.fetchval("select platform_now()")

        known_job("look", postpone=postpone)(record_clock)
        known_job("other")(record_clock)
        start = await pool.fetchval("select date_trunc('second', platform_now())")
        first, other, end = (start + timedelta(hours=hours) for hours in (1, 2, 4))
        await enqueue(pool, "look", key="", due=first, clock="platform")
        await enqueue(pool, "other", key="", due=other, clock="platform")

        async def set_clock(instant: datetime) -> None:
            await pool.execute(
                "update sandbox_clock set ahead = greatest(ahead, $1::timestamptz - clock_timestamp())", instant
            )

        assert await run_due_platform_jobs(pool, end, set_clock) == 2
        assert asked == [(first, other)]
        assert other - timedelta(minutes=1) <= seen["look", first] < other
        assert seen["other", other] >= other

    async def test_wakes_no_runner_for_what_its_own_jobs_enqueue(self, pool, dsn) -> None:
        known_job("note")(note)

        @known_job("parent")
        async def enqueue_child(run: JobRun) -> None:
            await enqueue(run.db, "child", key="child", due=run.due, clock="platform")

        @known_job("child")
        async def enqueue_real(run: JobRun) -> None:
            """In a transaction of its own: equal notifications of one transaction are sent once."""
            await note(run)
            await enqueue(run.db, "note", key="real", due=now(), clock="real")

        start = await pool.fetchval("select platform_now()")
        await enqueue(pool, "parent", key="", due=start + timedelta(hours=1), clock="platform")
        heard, listener = asyncio.Queue[str](), await asyncpg.connect(dsn)
        await listener.add_listener(store.CHANNEL, lambda *given: heard.put_nowait(given[-1]))

        async def set_clock(instant: datetime) -> None:
            await pool.execute(
                "update sandbox_clock set ahead = greatest(ahead, $1::timestamptz - clock_timestamp())", instant
            )

        try:
            assert await run_due_platform_jobs(pool, start + timedelta(hours=2), set_clock, resume_clock=False) == 2
            assert await pool.fetchval("select key from done") == "child"
            await pool.execute("select pg_notify($1, 'last')", store.CHANNEL)
            # One for the job on the real clock, which no walk runs.
            assert [await heard.get(), await heard.get()] == ["", "last"]
        finally:
            await listener.close()

    async def test_leaves_to_the_runners_what_comes_after_its_last_look(self, pool, dsn) -> None:
        known_job("note")(note)
        start = await pool.fetchval("select platform_now()")
        end = start + timedelta(hours=10)

        async def set_clock(instant: datetime) -> None:
            await pool.execute(
                "update sandbox_clock set ahead = greatest(ahead, $1::timestamptz - clock_timestamp())", instant
            )
            await enqueue(pool, "note", key="late", due=instant, clock="platform")
            await asyncio.sleep(0.2)  # a runner that was notified has polled by then

        async with running(pool, dsn):
            assert await run_due_platform_jobs(pool, end, set_clock, resume_clock=False) == 0
            await until(lambda: pool.fetchval("select count(*) = 1 from done"))

    @pytest.mark.parametrize("step", ["record_started", "limit_transaction"])
    async def test_that_is_left_before_a_job_has_begun_counts_no_death(self, pool, monkeypatch, step) -> None:
        known_job("note")(note)
        start = await pool.fetchval("select platform_now()")
        await enqueue(pool, "note", key="a", due=start, clock="platform")
        real_step, reached = getattr(store, step), asyncio.Event()

        async def take_step_and_wait(*given, **options) -> None:
            await real_step(*given, **options)
            reached.set()
            await asyncio.Event().wait()

        async def set_clock(_: datetime) -> None: ...

        monkeypatch.setattr(store, step, take_step_and_wait)
        walk = asyncio.create_task(run_due_platform_jobs(pool, start + timedelta(seconds=1), set_clock))
        async with asyncio.timeout(120):
            await reached.wait()
        assert await pool.fetchval("select begun_at is not null from job")
        walk.cancel()
        await asyncio.wait([walk])
        assert await pool.fetchval("select begun_at is null and attempts = 0 and deaths = 0 from job")

    async def test_needs_no_more_than_two_connections_for_what_is_due_at_once(self, dsn, pool) -> None:
        known_job("note")(note)
        start = await pool.fetchval("select platform_now()")
        for n in range(6):
            await enqueue(pool, "note", key=str(n), due=start, clock="platform")

        async def set_clock(_: datetime) -> None: ...

        async with await create_pool(dsn, size=2) as narrow, asyncio.timeout(120):
            assert await run_due_platform_jobs(narrow, start + timedelta(seconds=1), set_clock) == 6
        assert await pool.fetchval("select count(*) from done") == 6

    async def test_leads_a_recurring_job_on_from_turn_to_turn(self, pool) -> None:
        known_job("tick", every=timedelta(hours=2))(note)
        start = await pool.fetchval("select date_trunc('second', platform_now())")
        await store.put_recurring(pool, "tick", "platform", timedelta(hours=2))
        await pool.execute("update job set due = $1", start + timedelta(hours=1))

        async def set_clock(instant: datetime) -> None:
            await pool.execute(
                "update sandbox_clock set ahead = greatest(ahead, $1::timestamptz - clock_timestamp())", instant
            )

        async with asyncio.timeout(120):  # one that never moved would be run for ever
            assert await run_due_platform_jobs(pool, start + timedelta(hours=6), set_clock) == 3
        assert await pool.fetchval("select due from job") == start + timedelta(hours=7)
