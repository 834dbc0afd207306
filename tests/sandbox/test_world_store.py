"""What is stored of a simulated world and of the clock: each statement on a world of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from tests.conftest import migrated_database
from tests.notifications import counting_notifications

from gridloom.kernel.market_time import floor_to_period
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Pool, create_pool
from gridloom.platform.jobs import store as job_store
from gridloom.sandbox import simulator_store, store
from gridloom.sandbox.simulated_clock import begin_world_again, begin_world_now, prepare_world
from gridloom.sandbox.simulation import Simulation, start_of_history

HOUR, QUARTER, SOON = timedelta(hours=1), timedelta(minutes=15), timedelta(minutes=1)
SET = "update sandbox_simulator set running = true, is_done = $1, step = $2, target = $3"


@pytest.fixture
async def dsn() -> AsyncIterator[str]:
    async with migrated_database() as url:
        yield url


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[Pool]:
    async with await create_pool(dsn, size=3) as pool:
        yield pool


@pytest.fixture
async def start(pool: Pool) -> datetime:
    """The beginning of a world whose clock runs on with the real one."""
    start = floor_to_period(await platform_now(pool))
    await simulator_store.insert_simulation(pool, seed=5, start=start, history_complete=True)
    return start


async def read(pool: Pool) -> Simulation:
    state = await simulator_store.read_simulation(pool)
    assert state is not None
    return state


async def read_row(pool: Pool) -> tuple[Any, ...]:
    row = await pool.fetchrow(
        """
        select world, seed, running, speed, start, step, is_done, history_complete, target, memory
        from sandbox_simulator
        """
    )
    assert row is not None
    return tuple(row)


async def stands(pool: Pool) -> bool:
    await asyncio.sleep(0.002)  # the instant at which it is held was rounded to the next millisecond
    first = await platform_now(pool)
    await asyncio.sleep(0.005)
    return first == await platform_now(pool)


class TestAWorld:
    async def test_begins_again_as_the_next_one_with_its_seed_and_speed(
        self, pool: Pool, dsn: str, start: datetime
    ) -> None:
        later = start + HOUR
        await pool.execute(
            """
            update sandbox_simulator set running = false, speed = 3, is_done = true, target = $1, memory = '{"a": 1}',
              anchor_real = '2000-01-01', anchor_platform = '2000-01-01'
            """,
            later,
        )
        async with counting_notifications(dsn, simulator_store.CHANNEL) as told:
            await simulator_store.begin_again(pool, later)
            assert await told() == 1
        assert await read_row(pool) == (2, 5, True, 3, later, later, False, False, None, None)
        state = await read(pool)
        assert state.anchor_platform == later
        assert abs(state.anchor_real - state.real) < SOON

    async def test_is_steered_from_its_present_time_and_hurries_no_more_once_it_is_paused(
        self, pool: Pool, dsn: str, start: datetime
    ) -> None:
        target = start + 9 * HOUR
        async with counting_notifications(dsn, simulator_store.CHANNEL) as told:
            await simulator_store.set_target(pool, target)
            assert await told() == 1
            for running, seed, speed, kept in ((True, 8, 0.5, target), (False, 9, 60, None), (True, 9, 60, None)):
                await pool.execute(
                    "update sandbox_simulator set anchor_real = '2000-01-01', anchor_platform = '2000-01-01'"
                )
                await pool.execute("update sandbox_clock set ahead = '2 hours'")
                await simulator_store.steer(pool, running=running, seed=seed, speed=speed)
                assert await told() == 1
                state = await read(pool)
                assert (state.running, state.seed, state.speed, state.target) == (running, seed, speed, kept)
                assert abs(state.anchor_real - state.real) < SOON
                assert abs(state.anchor_platform - state.real - 2 * HOUR) < SOON

    async def test_stops_its_hurry_where_there_is_one(self, pool: Pool, dsn: str, start: datetime) -> None:
        for target, running, stopped in (
            (None, True, False),
            (start - HOUR, True, False),
            (start + 2 * HOUR, False, False),
            (start + 2 * HOUR, True, True),
        ):
            await pool.execute(
                """
                update sandbox_simulator
                set running = $1, target = $2, anchor_real = '2000-01-01', anchor_platform = '2000-01-01'
                """,
                running,
                target,
            )
            assert await simulator_store.stop_at_present(pool) is stopped, (target, running)
            state = await read(pool)
            assert state.target == (None if stopped else target)
            assert (abs(state.anchor_real - state.real) < SOON) is stopped
            assert (abs(state.anchor_platform - state.now) < SOON) is stopped
        async with counting_notifications(dsn, simulator_store.CHANNEL) as told:
            await simulator_store.stop_at_present(pool)
            assert await told() == 1

    async def test_has_its_past_behind_it_at_the_later_of_both_clocks(self, pool: Pool, start: datetime) -> None:
        for ahead_h, anchor_h in ((-5, 0), (5, 5)):
            await pool.execute("update sandbox_clock set ahead = make_interval(hours => $1)", ahead_h)
            await pool.execute("update sandbox_simulator set history_complete = false")
            await simulator_store.complete_history(pool)
            state = await read(pool)
            assert state.history_complete
            assert abs(state.anchor_real - state.real) < SOON
            assert abs(state.anchor_platform - state.real - anchor_h * HOUR) < SOON

    async def test_awaits_the_next_quarter_hour_once_the_last_is_done(self, pool: Pool, start: datetime) -> None:
        """A target that lies beyond it stays."""
        step, beyond = start + QUARTER, start + HOUR
        for is_done, now_at, target, awaited, kept in (
            (True, start, beyond, step, beyond),
            (True, start, step, step, None),
            (False, start, step, start, step),
            (True, step, beyond, step, beyond),
            (True, beyond, beyond, beyond, beyond),
        ):
            await pool.execute(SET, is_done, now_at, target)
            await simulator_store.mark_issued(pool, step)
            state = await read(pool)
            assert (state.step, state.target) == (awaited, kept), (is_done, now_at, target)
            assert state.is_done is (is_done and now_at >= step)

    async def test_is_through_with_its_own_steps_alone(self, pool: Pool, start: datetime) -> None:
        """Of a world that goes at its pace: none that lies ahead."""
        await pool.execute(SET, False, start, None)
        for world, step in ((2, start), (1, start - QUARTER), (1, start + QUARTER)):
            assert not await simulator_store.complete_step(pool, world, step, {"n": 1})
        assert await read_row(pool) == (1, 5, True, 1, start, start, False, True, None, None)
        assert await simulator_store.complete_step(pool, 1, start, {"n": 2})
        assert not await simulator_store.complete_step(pool, 1, start, {"n": 3}), "it is done"
        assert await read_row(pool) == (1, 5, True, 1, start, start, True, True, None, {"n": 2})


class TestTheClock:
    async def test_goes_back_for_a_world_with_what_recurs_on_it_and_nothing_else(self, pool: Pool) -> None:
        await pool.execute("delete from job")
        now = await pool.fetchval("select date_trunc('second', clock_timestamp())")
        begun = now - timedelta(days=30)
        due = {"later": now, "earlier": begun - HOUR, "real": now, "once": now}
        for kind, instant in due.items():
            await pool.execute(
                "insert into job (kind, key, clock, due, every) values ($1, '', $2, $3, $4)",
                kind,
                "real" if kind == "real" else "platform",
                instant,
                None if kind == "once" else HOUR,
            )
        await simulator_store.rewind_clock(pool, begun)
        assert await platform_now(pool) == begun
        assert await stands(pool)
        rows = await pool.fetch("select kind, due from job")
        assert dict(map(tuple, rows)) == due | {"later": begun}

    async def test_that_is_held_is_taken_ahead_and_never_back_and_then_stands(self, pool: Pool) -> None:
        await simulator_store.hold_clock(pool)
        held = (await platform_now(pool)).replace(microsecond=0) + HOUR
        await simulator_store.advance_held_clock(pool, held)
        for to, reached in ((held - HOUR, held), (held + HOUR, held + HOUR), (held, held + HOUR)):
            await simulator_store.advance_held_clock(pool, to)
            assert await platform_now(pool) == reached
        assert await stands(pool)

    async def test_that_is_released_runs_on_from_where_it_stood(self, pool: Pool) -> None:
        """Though the real one has gone on for an hour."""
        await pool.execute("update sandbox_clock set ahead = '0', hold_until = clock_timestamp() - interval '1 hour'")
        held = await platform_now(pool)
        await simulator_store.release_clock(pool)
        assert not await stands(pool)
        assert held < await platform_now(pool) < held + SOON
        await simulator_store.release_clock(pool)
        assert held < await platform_now(pool) < held + SOON

    async def test_is_locked_by_one_at_a_time_who_may_idle(self, pool: Pool) -> None:
        idle = "select current_setting('idle_in_transaction_session_timeout')"
        async with pool.acquire() as one, pool.acquire() as other:
            async with one.transaction(), other.transaction():
                await store.lock_clock(one)
                assert await one.fetchval(idle) == "0"
                await other.execute("set local lock_timeout = '10ms'")
                with pytest.raises(asyncpg.LockNotAvailableError):
                    async with other.transaction():
                        await store.lock_clock(other)
                assert not await store.try_lock_clock(other)
            async with one.transaction(), other.transaction():
                assert await store.try_lock_clock(other)
                assert await other.fetchval(idle) == "0"
                assert not await store.try_lock_clock(one)

    async def test_is_not_walked_where_another_service_of_the_server_is(self, pool: Pool, dsn: str) -> None:
        """Locks of all databases are listed together."""
        await store.begin_walk(pool, uuid4(), await platform_now(pool) + HOUR)
        async with (
            migrated_database() as url,
            await create_pool(url, size=1) as elsewhere,
            elsewhere.acquire() as other,
            other.transaction(),
        ):
            await store.lock_clock(other)
            assert await store.read_walk_target(pool) is None
            assert not await store.stop_walk(pool)
        async with pool.acquire() as walker, walker.transaction():
            await store.lock_clock(walker)
            assert await store.stop_walk(pool)
            assert not await store.stop_walk(pool)


class TestTheBeginning:
    @pytest.mark.parametrize("days", [0, 3])
    async def test_gives_an_untouched_sandbox_its_world_and_its_clock(
        self, pool: Pool, monkeypatch: pytest.MonkeyPatch, days: int
    ) -> None:
        """No organisation is founded, and nothing that recurs runs, until it has."""
        locked: list[str] = []

        def note(module: Any, name: str) -> None:
            lock = getattr(module, name)

            async def stand_in(db: Any) -> Any:
                locked.append(name)
                return await lock(db)

            monkeypatch.setattr(module, name, stand_in)

        for module, name in ((job_store, "lock_recurring"), (store, "lock_organisations"), (store, "is_untouched")):
            note(module, name)
        first = await platform_now(pool)
        async with pool.acquire() as db:
            await prepare_world(db, is_on=True, seed=8, history_days=days)
        last = await pool.fetchval("select clock_timestamp()")
        start = (await read(pool)).start
        assert start in (start_of_history(first, days), start_of_history(last, days)), (
            "the day may have ended meanwhile"
        )
        assert await read_row(pool) == (1, 8, True, 1, start, start, False, False, None, None)
        assert await platform_now(pool) == start
        assert (await read(pool)).anchor_platform == start
        assert locked == ["lock_recurring", "lock_organisations", "is_untouched"]

    async def test_pauses_a_world_or_has_it_go_on_as_its_service_is_started(self, pool: Pool, start: datetime) -> None:
        await simulator_store.steer(pool, running=True, seed=8, speed=30)
        await simulator_store.hold_clock(pool)
        held = await platform_now(pool)
        async with pool.acquire() as db:
            for is_on in (False, False, True, True):
                await prepare_world(db, is_on=is_on, seed=99, history_days=3)
                state = await read(pool)
                assert (state.running, state.seed, state.speed, state.world) == (is_on, 8, 30, 1)
                assert await stands(pool) is is_on
        assert held <= state.now < held + SOON

    async def test_in_a_sandbox_in_use_is_the_present_time_of_its_clock(self, pool: Pool) -> None:
        shown = floor_to_period(await platform_now(pool)) + timedelta(days=3, minutes=7)
        await pool.execute("update sandbox_clock set ahead = $1::timestamptz - clock_timestamp()", shown)
        async with pool.acquire() as db:
            await prepare_world(db, is_on=False, seed=1, history_days=3)
            await prepare_world(db, is_on=True, seed=1, history_days=3)
        await begin_world_again(pool, 3)
        assert await simulator_store.read_simulation(pool) is None
        await begin_world_now(pool, seed=4)
        state = await read(pool)
        assert shown <= state.now < shown + SOON
        assert await stands(pool)
        assert state.start == state.step == floor_to_period(shown)
        assert (state.seed, state.history_complete, state.is_done) == (4, True, False)
        await begin_world_again(pool, 3)
        state = await read(pool)
        assert (state.world, state.start, state.now) == (2, start_of_history(shown, 3), start_of_history(shown, 3))

    async def test_finds_a_sandbox_touched_whose_clock_was_moved_or_that_has_an_organisation(self, pool: Pool) -> None:
        assert await store.is_untouched(pool)
        for ahead in ("1 hour", "-1 hour"):
            await pool.execute("update sandbox_clock set ahead = $1::text::interval", ahead)
            assert not await store.is_untouched(pool)
        await pool.execute("update sandbox_clock set ahead = '0'")
        found = "insert into organisation (id, name, kind) values ($1, $2, $3)"
        operator_id = uuid4()
        await pool.execute(found, operator_id, "Operator", "OPERATOR")
        assert await store.is_untouched(pool)
        await pool.execute(
            "insert into asset (id, kind, organisation_id) values ($1, 'PHYSICAL', $2)", uuid4(), operator_id
        )
        assert not await store.is_untouched(pool)
        await pool.execute("delete from asset")
        await pool.execute(found, uuid4(), "Trader", "PARTICIPANT")
        assert not await store.is_untouched(pool)
        async with pool.acquire() as db, db.transaction():
            await store.lock_organisations(db)
            async with pool.acquire() as other, other.transaction():
                await other.execute("set local lock_timeout = '10ms'")
                with pytest.raises(asyncpg.LockNotAvailableError):
                    await other.execute(found, uuid4(), "Owner", "PARTICIPANT")
