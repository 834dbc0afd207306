"""What is stored of a simulated world and of the clock: each statement on a world of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from uuid import uuid4

import asyncpg
import pytest
from tests.conftest import migrated_database
from tests.notifications import counting_notifications

from gridloom.kernel.market_time import floor_to_period
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Pool, create_pool
from gridloom.sandbox import simulator_store, store
from gridloom.sandbox.simulated_clock import begin_world_again, begin_world_now, prepare_world
from gridloom.sandbox.simulation import Simulation, start_of_history

HOUR, QUARTER, SOON = timedelta(hours=1), timedelta(minutes=15), timedelta(minutes=1)


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


async def stands(pool: Pool) -> bool:
    await asyncio.sleep(0.002)  # the instant at which it is held was rounded to the next millisecond
    first = await platform_now(pool)
    await asyncio.sleep(0.005)
    return first == await platform_now(pool)


class TestAWorld:
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


class TestTheClock:
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
