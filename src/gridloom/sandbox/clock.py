"""Moving the platform's clock forward, with everything that is due happening on the way."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Final

from gridloom.kernel.ids import uuid7
from gridloom.kernel.market_time import format_instant
from gridloom.kernel.problem import Conflict, FieldError, Unavailable, Unprocessable
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.commit import transaction
from gridloom.platform.database.pool import Database, Pool
from gridloom.platform.jobs import store as job_store
from gridloom.platform.jobs.fast_forward import run_due_platform_jobs
from gridloom.sandbox import simulator_store, store
from gridloom.sandbox.simulated_clock import fast_forward_to

MAX_WAIT_S, POLL_INTERVAL_S = 30.0, 0.05
MAX_WALK: Final = timedelta(days=31)


class ClockMovesForward(Conflict, title="The clock only moves forward"):
    """The sandbox's clock can be moved to a later instant, never to an earlier one: what has happened has happened."""


class ClockWalkTooLong(Unprocessable, title="The clock moves at most 31 days a call"):
    """One call moves the sandbox's clock by at most 31 days. Move it in several calls to get further."""


class ClockWalkStopped(Conflict, title="The clock was stopped on its way"):
    """The operator stopped the clock (`DELETE /sandbox/clock/walk`), or paused or reset the sandbox, before the clock
    had reached the requested instant. What was due until then has happened; `now` is the time on the clock."""


async def move_clock(pool: Pool, *, to: datetime | None, by: timedelta | None) -> datetime:
    """Bring the clock to an instant; one caller at a time. Answers the time that it shows then."""
    state = await simulator_store.read_simulation(pool)
    if state is not None and state.running:
        target = _find_target(state.now, to, by)
        return _reject_stopped(await fast_forward_to(pool, target), target)
    for _ in range(round(MAX_WAIT_S / POLL_INTERVAL_S)):
        # Who waits holds no connection: the one whose turn it is needs them, and so does everyone else.
        async with transaction(pool) as turn:
            if await store.try_lock_clock(turn):
                return await _move_clock(pool, turn, to, by)
        await asyncio.sleep(POLL_INTERVAL_S)
    raise Unavailable("Another request is moving the clock. Nothing was changed; try again.")


class _WalkEndedError(Exception):
    """Ends a walk between two due instants."""


async def _move_clock(pool: Pool, turn: Database, to: datetime | None, by: timedelta | None) -> datetime:
    target, walk_id = _find_target(await platform_now(turn), to, by), uuid7()

    async def set_clock(instant: datetime) -> None:
        if not await store.step_walk(pool, walk_id, instant):
            raise _WalkEndedError

    await store.begin_walk(pool, walk_id, target)
    try:
        await run_due_platform_jobs(pool, target, set_clock, resume_clock=False)
    except _WalkEndedError:
        return _reject_stopped(await platform_now(turn), target)
    finally:
        await store.end_walk(pool, walk_id)
        await job_store.wake(pool)  # the runners' timers were set by the clock as it stood before the walk
    return await platform_now(turn)


async def read_walk_target(db: Database) -> datetime | None:
    """To which instant the clock is being moved; None where it is not."""
    state = await simulator_store.read_simulation(db)
    if state is not None and state.running:
        return state.target if state.target is not None and state.target > state.now else None
    return await store.read_walk_target(db)


async def stop_walk(db: Database) -> bool:
    """Have the clock stop at the instant it has reached; False where it is not being moved."""
    state = await simulator_store.read_simulation(db)
    if state is None or not state.running:
        return await store.stop_walk(db)
    if state.target is None or state.target <= state.now:
        return False
    await store.lock_clock(db)  # the clock's move to its next quarter-hour ends first
    return await simulator_store.stop_at_present(db)


def _find_target(now: datetime, to: datetime | None, by: timedelta | None) -> datetime:
    if by is not None and by > MAX_WALK:
        raise _reject_too_long("/advance")
    target = to if to is not None else now + (by or timedelta())
    if target < now:
        raise ClockMovesForward(f"It is {format_instant(now)} already.")
    if target - now > MAX_WALK:
        raise _reject_too_long("/now")
    return target.replace(microsecond=target.microsecond // 1000 * 1000)  # as it is shown, and stored


def _reject_too_long(pointer: str) -> ClockWalkTooLong:
    return ClockWalkTooLong("Move it in several calls.", errors=[FieldError(pointer, "is more than 31 days ahead")])


def _reject_stopped(now: datetime, target: datetime) -> datetime:
    if now < target:
        detail = f"It stands at {format_instant(now)}, before {format_instant(target)}."
        raise ClockWalkStopped(detail, now=format_instant(now))
    return now
