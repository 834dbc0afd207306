"""Moving the platform's clock forward, with everything that is due happening on the way."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from gridloom.database.clock import platform_now
from gridloom.database.commit.after_commit import transaction
from gridloom.database.pool import Database, Pool
from gridloom.jobs.fast_forward import run_due_platform_jobs
from gridloom.kernel.instant import format_instant
from gridloom.kernel.problem import Problem, Unavailable
from gridloom.sandbox import store
from gridloom.sandbox.simulated_clock import fast_forward_to
from gridloom.sandbox.simulator_store import read_simulation

MAX_WAIT_S, POLL_INTERVAL_S = 30.0, 0.05


class ClockMovesForward(Problem):
    """The sandbox's clock can be moved to a later moment, never to an earlier one: what has happened has happened."""

    status = 409
    title = "The clock only moves forward"


async def move_clock(pool: Pool, *, to: datetime | None, by: timedelta | None) -> datetime:
    """Bring the clock to a moment; one caller at a time. Answers the moment at which it stands then."""
    state = await read_simulation(pool)
    if state is not None and state.running:
        return await fast_forward_to(pool, _find_target(state.now, to, by))
    for _ in range(round(MAX_WAIT_S / POLL_INTERVAL_S)):
        # Who waits holds no connection: the one whose turn it is needs them, and so does everyone else.
        async with transaction(pool) as turn:
            if await store.try_lock_clock(turn):
                return await _move_clock(pool, turn, to, by)
        await asyncio.sleep(POLL_INTERVAL_S)
    raise Unavailable("Another request is moving the clock. Nothing was changed; try again.")


async def _move_clock(pool: Pool, turn: Database, to: datetime | None, by: timedelta | None) -> datetime:
    target = _find_target(await platform_now(turn), to, by)

    async def set_clock(moment: datetime) -> None:
        await store.set_clock(pool, moment)

    await run_due_platform_jobs(pool, target, set_clock)
    return await platform_now(turn)


def _find_target(now: datetime, to: datetime | None, by: timedelta | None) -> datetime:
    target = to if to is not None else now + (by or timedelta())
    if target < now:
        raise ClockMovesForward(f"It is {format_instant(now)} already.")
    return target
