"""What the queue says of its jobs: what is due by which clock, what rests, what fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from tests.notifications import counting_notifications
from tests.platform.jobs.running import now

from gridloom.platform.jobs import enqueue, store
from gridloom.platform.jobs.declare import Clock
from gridloom.platform.jobs.rules import STUCK_AFTER

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

    async def test_does_not_come_due_by_waiting_where_the_platforms_clock_stands(self, pool: Any) -> None:
        """Whether or not it rests after a failure; what goes by the real clock comes due as ever."""
        await pool.execute("update sandbox_clock set hold_until = clock_timestamp()")
        start = await pool.fetchval("select platform_now()")
        for kind, due in (("gate", start + timedelta(hours=1)), ("rests", start + timedelta(hours=2))):
            await enqueue(pool, kind, key="a", due=due, clock="platform")
        await pool.execute("update job set not_before = clock_timestamp() + interval '3 hours' where kind = 'rests'")
        await enqueue(pool, "real", key="a", due=now() + timedelta(hours=4))
        for kind in ("gate", "rests"):
            assert await store.next_due(pool, [kind]) == (False, None)
        is_due, next_s = await store.next_due(pool, ["gate", "rests", "real"])
        assert is_due is False
        assert next_s == pytest.approx(14_400, abs=300)

    async def test_that_rests_after_a_failure_is_due_when_its_rest_is_over(self, pool: Any) -> None:
        await enqueue(pool, "note", key="a", due=now() - DAY)
        assert await store.next_due(pool, ["note"]) == (True, None)
        await store.fail(pool, await claim(pool, "note"), "It fell.", timedelta(minutes=10))
        is_due, next_s = await store.next_due(pool, ["note"])
        assert is_due is False
        assert next_s == pytest.approx(600, abs=300)
        await pool.execute("update job set not_before = clock_timestamp() - interval '1 second'")
        assert await store.next_due(pool, ["note"]) == (True, None)
        await pool.execute("update job set due = clock_timestamp() + interval '1 hour'")
        for rest_h, next_h in ((2, 2), (-1, 1)):
            await pool.execute("update job set not_before = clock_timestamp() + make_interval(hours => $1)", rest_h)
            is_due, next_s = await store.next_due(pool, ["note"])
            assert is_due is False
            assert next_s == pytest.approx(3600 * next_h, abs=300), "once it is due and has rested"

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
        claimed = await claim(pool, "tick")
        assert await store.record_started(pool, claimed)
        assert await store.finish(pool, claimed)
        row = await pool.fetchrow("select due, attempts, last_error, begun_at from job")
        assert (row["due"] - due, row["attempts"], row["last_error"], row["begun_at"]) == (
            pytest.approx(timedelta(minutes=30), abs=timedelta(seconds=1)),
            0,
            None,
            None,
        )

    async def test_that_recurs_on_the_platforms_clock_misses_none_of_its_times(self, pool: Any) -> None:
        """Each is a step of the market that others wait for."""
        await store.put_recurring(pool, "tick", "platform", timedelta(minutes=10))
        due = await pool.fetchval("update job set due = due - interval '25 minutes' returning due")
        for minutes in (10, 20):
            assert await store.finish(pool, await claim(pool, "tick"))
            assert await pool.fetchval("select due from job") == due + timedelta(minutes=minutes)

    async def test_that_recurs_keeps_its_time_and_follows_a_changed_interval_and_clock(self, pool: Any) -> None:
        async def read() -> Any:
            return tuple(await pool.fetchrow("select due, every, clock, payload, xmin::text from job"))

        minutes = [timedelta(minutes=number) for number in (10, 20)]
        await store.put_recurring(pool, "tick", "real", minutes[0])
        first = await read()
        assert first[1:4] == (minutes[0], "real", {})
        await store.put_recurring(pool, "tick", "real", minutes[0])
        assert await read() == first, "nothing is written where nothing has changed"
        await store.put_recurring(pool, "tick", "real", minutes[1])
        assert (await read())[:3] == (first[0], minutes[1], "real")
        await store.put_recurring(pool, "tick", "platform", minutes[1])
        assert (await read())[:3] == (first[0], minutes[1], "platform")

    async def test_is_late_since_it_was_due_or_put_or_had_rested(self, pool: Any) -> None:
        for key, due, enqueued, rested in (("due", 10, 99, None), ("put", 99, 20, None), ("rest", 99, 99, 30)):
            await enqueue(pool, key, key=key, due=now() - timedelta(minutes=due), payload={"of": key})
            await pool.execute(
                """
                update job set enqueued_at = clock_timestamp() - make_interval(mins => $2),
                  not_before = clock_timestamp() - make_interval(mins => $3) where key = $1
                """,
                key,
                enqueued,
                rested,
            )
        claimed = [await claim(pool, key) for key in ("due", "put", "rest")]
        assert [round(one.lag_s / 60) for one in claimed] == [10, 20, 30]
        await pool.execute("update job set organisation_id = $1", uuid4())
        for key, minutes in (("due", 10), ("put", 20), ("rest", 30)):
            async with pool.acquire() as db, db.transaction():
                of_organisation = await store.claim_due_of_organisation(db, [key], 3)
            assert of_organisation is not None
            assert round(of_organisation.lag_s / 60) == minutes
        assert [(one.key, one.payload) for one in claimed] == [(key, {"of": key}) for key in ("due", "put", "rest")]

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

    async def test_that_is_put_again_is_as_long_as_it_is_said_to_be_then(self, pool: Any) -> None:
        ours, others = uuid4(), uuid4()
        for owner, size in ((ours, 300), (others, 2)):
            await enqueue(pool, "heavy", key="a", due=now(), organisation_id=owner, size=size)
        assert tuple(await pool.fetchrow("select organisation_id, size from job")) == (others, 2)

    async def test_gives_its_organisation_the_last_turn(self, pool: Any) -> None:
        await enqueue(pool, "heavy", key="a", due=now(), organisation_id=uuid4())
        for _ in range(2):
            async with pool.acquire() as db, db.transaction():
                claimed = await store.claim_due_of_organisation(db, ["heavy"], 1)
            assert claimed is not None
            assert await store.record_started(pool, claimed)
            begun = "update job_turn set claimed_at = claimed_at - interval '1 day' returning claimed_at"
            assert await pool.fetchval(begun) > now() - 1.5 * DAY

    async def test_that_is_set_going_again_is_not_ended_by_the_run_before(self, pool: Any, dsn: str) -> None:
        await enqueue(pool, "note", key="a", due=now())
        claimed = await claim(pool, "note")
        await pool.execute("update job set attempts = 1, not_before = clock_timestamp() + interval '1 hour'")
        async with counting_notifications(dsn, store.CHANNEL) as heard:
            assert await store.retry_now(pool, "note", "a")
            assert await heard() == 1, "runners look at once"
        assert await store.finish(pool, claimed)
        assert await pool.fetchval("select count(*) from job") == 1
        assert (await claim(pool, "note")).attempts == 0

    async def test_wakes_the_runners_where_it_is_due_soon_by_its_own_clock(self, pool: Any, dsn: str) -> None:
        await pool.execute("update sandbox_clock set ahead = interval '1 day'")
        cases: list[tuple[Clock, int, int]] = [("platform", 24, 1), ("platform", 25, 0), ("real", 1, 0), ("real", 0, 1)]
        async with counting_notifications(dsn, store.CHANNEL) as heard:
            for clock, hours, woken in cases:
                await enqueue(pool, "note", key="a", due=now() + timedelta(hours=hours), clock=clock)
                assert await heard() == woken, (clock, hours)


class TestOneOfManyJobsOfAKind:
    async def test_leaves_the_others_as_they_are_whatever_becomes_of_it(self, pool: Any) -> None:
        """Auctions, say, of which one is cleared, fails, kills its runner or is cancelled."""
        keys = ["a", "b", "c", "d", "e"]
        for key in keys:
            await enqueue(pool, "clear", key=key, due=now() - DAY, payload={"of": key})
        await enqueue(pool, "other", key="a", due=now() - DAY)
        await pool.execute("update job set attempts = 1")
        claimed: dict[str, store.ClaimedJob] = {}
        for key in keys:
            one = await store.claim_one(pool, "clear", key)
            assert one is not None
            assert one.payload == {"of": key}
            claimed[key] = one
        ends: list[tuple[str, Callable[[], Awaitable[object]]]] = [
            ("a", lambda: store.record_started(pool, claimed["a"])),
            ("b", lambda: store.fail(pool, claimed["b"], "It fell.", DAY)),
            ("c", lambda: store.record_crash(pool, claimed["c"], "It died.", DAY, 1)),
            ("b", lambda: store.retry_now(pool, "clear", "b")),
            ("d", lambda: store.finish(pool, claimed["d"])),
            ("e", lambda: store.record_started(pool, claimed["e"])),
            ("a", lambda: store.clear_started(pool, claimed["a"])),
            ("a", lambda: store.remove(pool, "clear", "a")),
        ]
        whole = "select * from job order by kind, key"
        for key, end in ends:
            before = {(row["kind"], row["key"]): row for row in await pool.fetch(whole)}
            await end()
            after = {(row["kind"], row["key"]): row for row in await pool.fetch(whole)}
            assert {job for job in before if before[job] != after.get(job)} == {("clear", key)}
        assert sorted(key for kind, key in after if kind == "clear") == ["b", "c", "e"]


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
        await pool.execute("update job set not_before = clock_timestamp() - interval '1 ms' where key = 'resting'")
        await pool.execute("update job set organisation_id = $1 where key = 'organisation'", uuid4())
        await pool.execute(
            "update job set state = 'DEAD', failed_at = now(), attempts = $1 where key = 'dead'", STUCK_AFTER
        )
        seen = await store.health(pool)
        assert seen.overdue_s == pytest.approx(3600, abs=300)
        assert (seen.dead, seen.stuck, seen.failing, seen.troubled_kinds) == (1, 0, 0, ["note"])
        await pool.execute("update job set attempts = $1 where key = 'late'", STUCK_AFTER)
        await pool.execute("update job set attempts = $1 where key = 'later'", STUCK_AFTER - 1)
        seen = await store.health(pool)
        assert (seen.dead, seen.stuck, seen.failing) == (1, 1, 2)
        assert {job["key"] for job in seen.troubled} == {"dead", "late"}
        await pool.execute(
            """
            update job set attempts = $1, failed_at = now() - case key when 'late' then interval '2 hours'
              when 'later' then interval '1 hour' else interval '3 hours' end
            where state = 'DEAD' or attempts > 0
            """,
            STUCK_AFTER,
        )
        shown = [job["key"] for job in (await store.health(pool)).troubled]
        assert sorted(shown) == ["dead", "late", "later"]
        assert shown.index("later") < shown.index("late"), "what failed last comes first"
        assert len((await store.health(pool, most_shown=2)).troubled) == 2
