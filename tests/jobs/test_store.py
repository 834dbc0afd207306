"""What the queue says of its jobs: what is due by which clock, what rests, what fails."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from tests.jobs.running import now

from gridloom.jobs import enqueue, store
from gridloom.jobs.rules import STUCK_AFTER

DAY = timedelta(days=1)


async def claim(pool: Any, kind: str) -> store.ClaimedJob:
    async with pool.acquire() as db, db.transaction():
        claimed = await store.claim_due(db, [kind])
    assert claimed is not None
    return claimed


class TestAJob:
    async def test_is_due_by_its_own_clock(self, pool: Any) -> None:
        """The platform's is a day ahead."""
        await pool.execute("update sandbox_clock set ahead = interval '1 day'")
        start = await pool.fetchval("select platform_now()")
        assert await store.next_due(pool, ["real", "gate"]) == (False, None)
        await enqueue(pool, "real", key="a", due=now() + timedelta(hours=2))
        await enqueue(pool, "late", key="a", due=now() + timedelta(hours=50))
        await enqueue(pool, "gate", key="a", due=start + timedelta(hours=1), clock="platform")
        for kinds, seconds in ((["real"], 7200), (["late"], 180_000), (["gate"], 3600), (["real", "gate"], 3600)):
            is_due, next_s = await store.next_due(pool, kinds)
            assert is_due is False
            assert next_s == pytest.approx(seconds, abs=300)
        await enqueue(pool, "gate", key="a", due=start - timedelta(hours=1), clock="platform")
        assert (await store.next_due(pool, ["real"]))[0] is False
        assert (await store.next_due(pool, ["real", "gate"]))[0] is True

    async def test_that_rests_after_a_failure_is_due_when_its_rest_is_over(self, pool: Any) -> None:
        await enqueue(pool, "note", key="a", due=now() - DAY)
        assert await store.next_due(pool, ["note"]) == (True, None)
        await store.fail(pool, await claim(pool, "note"), "It fell.", timedelta(minutes=10))
        is_due, next_s = await store.next_due(pool, ["note"])
        assert is_due is False
        assert next_s == pytest.approx(600, abs=300)
        await pool.execute("update job set not_before = clock_timestamp() - interval '1 second'")
        assert (await store.next_due(pool, ["note"]))[0] is True

    async def test_that_failed_says_why_how_often_and_rests(self, pool: Any) -> None:
        """One that recurs rests no longer than until its next time."""
        for key in ("once", "often"):
            await enqueue(pool, key, key=key, due=now() - DAY)
        await pool.execute("update job set every = interval '1 minute' where key = 'often'")
        for key, rest_s in (("once", 3600), ("often", 60)):
            await store.fail(pool, await claim(pool, key), "It fell.", timedelta(hours=1))
            row = await pool.fetchrow(
                """
                select attempts, deaths, last_error, extract(epoch from not_before - failed_at)::float8 as rest_s
                from job where key = $1
                """,
                key,
            )
            assert tuple(row) == (1, 0, "It fell.", pytest.approx(rest_s, abs=5))

    async def test_whose_runner_died_too_often_is_dead_unless_it_recurs(self, pool: Any) -> None:
        for key in ("once", "often"):
            await enqueue(pool, key, key=key, due=now() - DAY)
        await pool.execute("update job set every = interval '1 minute' where key = 'often'")
        outcomes = {
            key: [await store.record_crash(pool, await claim(pool, key), "It died.", timedelta(), 2) for _ in range(2)]
            for key in ("once", "often")
        }
        assert outcomes == {"once": [False, True], "often": [False, False]}
        rows = await pool.fetch("select key, state, attempts, deaths, last_error from job order by key desc")
        assert [tuple(row) for row in rows] == [
            ("once", "DEAD", 2, 2, "It died."),
            ("often", "WAITING", 2, 2, "It died."),
        ]
        assert await store.retry_now(pool, "once", "once")
        assert await store.retry_now(pool, "once", "once") is False, "it does not fail any more"
        assert await pool.fetchval("select (state, attempts, deaths) from job where key = 'once'") == ("WAITING", 0, 0)

    async def test_that_recurs_comes_back_at_its_next_time_in_step(self, pool: Any) -> None:
        """However late it was run, without making up for the times that were missed."""
        due = now() - timedelta(minutes=25)
        await enqueue(pool, "tick", key="a", due=due)
        await pool.execute("update job set every = interval '10 minutes', attempts = 3, last_error = 'It fell.'")
        assert await store.finish(pool, await claim(pool, "tick"))
        row = await pool.fetchrow("select due, attempts, last_error from job")
        assert (row["due"] - due, row["attempts"], row["last_error"]) == (
            pytest.approx(timedelta(minutes=30), abs=timedelta(seconds=1)),
            0,
            None,
        )


class TestTheQueue:
    async def test_gives_the_platforms_jobs_in_the_order_in_which_they_run(self, pool: Any) -> None:
        start = (await pool.fetchval("select platform_now()")).replace(microsecond=0)
        for kind, key, hours in (("b", "1", 1), ("a", "2", 1), ("a", "1", 1), ("b", "0", 0), ("a", "9", 3)):
            await enqueue(pool, kind, key=key, due=start + timedelta(hours=hours), clock="platform")
        await enqueue(pool, "a", key="real", due=now() - DAY)
        await enqueue(pool, "other", key="0", due=start, clock="platform")

        async def list_keys(most: int) -> list[str]:
            found = await store.earliest_platform_jobs(pool, ["a", "b"], start + timedelta(hours=1), most)
            return [kind + key for kind, key, _ in found]

        assert await list_keys(10) == ["b0", "a1", "a2", "b1"]
        assert await list_keys(2) == ["b0", "a1"]
        await pool.execute("update job set not_before = clock_timestamp() + interval '1 hour' where key = '0'")
        assert await list_keys(10) == ["a1", "a2", "b1"], "what rests is left out"

    async def test_counts_what_an_organisation_runs_and_has_waiting(self, pool: Any) -> None:
        ours, others = uuid4(), uuid4()
        for number, owner in enumerate((ours, ours, ours, others)):
            await enqueue(pool, "heavy", key=str(number), due=now())
            await pool.execute("update job set organisation_id = $2 where key = $1", str(number), owner)
        await pool.execute("update job set begun_at = clock_timestamp() where key in ('0', '3')")
        assert await store.count_jobs(pool, ours) == (1, 2)
        await pool.execute("update job set state = 'DEAD' where key = '1'")
        assert await store.count_jobs(pool, ours) == (1, 1)

    async def test_is_as_late_as_the_job_that_waits_longest(self, pool: Any) -> None:
        """Jobs of organisations wait for their turn, and a rest after a failure is no delay."""
        for key, minutes in (("late", 30), ("later", 60), ("resting", 90), ("organisation", 120), ("dead", 150)):
            await enqueue(pool, "note", key=key, due=now() - timedelta(minutes=minutes))
        await pool.execute("update job set enqueued_at = due")
        await pool.execute("update job set not_before = clock_timestamp() where key = 'resting'")
        await pool.execute("update job set organisation_id = $1 where key = 'organisation'", uuid4())
        await pool.execute("update job set state = 'DEAD', failed_at = now() where key = 'dead'")
        seen = await store.health(pool)
        assert seen.overdue_s == pytest.approx(3600, abs=300)
        assert (seen.dead, seen.stuck, seen.failing, seen.troubled_kinds) == (1, 0, 0, ["note"])
        await pool.execute("update job set attempts = $1 where key = 'late'", STUCK_AFTER)
        await pool.execute("update job set attempts = $1 where key = 'later'", STUCK_AFTER - 1)
        seen = await store.health(pool)
        assert (seen.dead, seen.stuck, seen.failing) == (1, 1, 2)
        assert {job["key"] for job in seen.troubled} == {"dead", "late"}
