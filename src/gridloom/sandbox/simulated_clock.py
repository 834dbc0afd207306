"""Taking a simulated world's clock from quarter-hour to quarter-hour, each time waiting for the simulator."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime

from gridloom.kernel.market_time import floor_to_period
from gridloom.kernel.problem import Unavailable
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.commit import transaction
from gridloom.platform.database.listener import Listener
from gridloom.platform.database.pool import Connection, Database, Pool
from gridloom.platform.http.application import Application
from gridloom.platform.jobs import store as job_store
from gridloom.platform.jobs.fast_forward import run_due_platform_jobs
from gridloom.sandbox import simulator_store, store
from gridloom.sandbox.reset import explain_failure
from gridloom.sandbox.simulation import Idle, JumpTo, RunUntil, Simulation, next_move, start_of_history
from gridloom.settings import Settings

MAX_WAIT_S, MAX_REPORT_WAIT_S = 30.0, 3.0
TURN_TAKEN_S = 0.02
POLL_INTERVAL_S = 0.1


class SimulationChanged:
    """In each process: set when the simulation was steered, reset or fast-forwarded."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Event] = set()

    def heard(self, _: str | None) -> None:
        for event in self._waiting:
            event.set()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[asyncio.Event]:
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            yield event
        finally:
            self._waiting.discard(event)

    async def wait(self, patience_s: float) -> None:
        """Until something changes, or the patience is at its end."""
        async with self.listening() as changed:
            with suppress(TimeoutError):
                async with asyncio.timeout(patience_s):
                    await changed.wait()


@asynccontextmanager
async def lifespan(edge: Application, settings: Settings) -> AsyncIterator[None]:
    changes = SimulationChanged()
    edge.resources.add(changes)
    edge.explain_failure = explain_failure
    edge.resources[Listener].subscribe(simulator_store.CHANNEL, changes.heard)
    yield


async def await_step(
    pool: Pool,
    changes: SimulationChanged,
    patience_s: float,
    stopping: asyncio.Event,
    reported_until: datetime | None = None,
) -> Simulation | None:
    """Move the clock on until a quarter-hour awaits the simulator; without one when the patience is at its end, or
    when the clock has jumped within a quarter-hour, so that the simulator reports the minutes in between. It may have
    done so before: `reported_until` says what the simulator knows of."""
    ends, before = time.monotonic() + patience_s, None
    async with changes.listening() as changed:
        while True:
            changed.clear()
            state = await simulator_store.read_simulation(pool)
            left_s = ends - time.monotonic()
            if state is None or state.awaits_simulator or left_s <= 0 or stopping.is_set():
                return state
            if before is not None and before.has_jumped_to(state.now):
                return state
            if reported_until is not None and state.has_arrived_since(reported_until):
                return state
            before = state
            pause_s = await _advance_clock(pool) if state.running else left_s
            if pause_s > 0:
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(pause_s, left_s, 1.0)):
                        await changed.wait()


async def _advance_clock(pool: Pool) -> float:
    """One move of the clock; how many seconds to wait for the next."""
    async with transaction(pool) as turn:
        if not await store.try_lock_clock(turn):
            return TURN_TAKEN_S
        await simulator_store.commit_without_the_disk(turn)
        state = await simulator_store.read_simulation(turn)
        if state is None or not state.running or not state.is_done:
            return 0.0
        match next_move(state):
            case Idle():
                await simulator_store.complete_history(turn)
                return 0.0
            case RunUntil(ahead, until, pause_s):
                if await simulator_store.run_clock(turn, ahead, until):
                    await job_store.wake(turn)
                return pause_s
            case JumpTo(to, pause_s):
                await _jump_clock(pool, turn, state, to)
                return pause_s


async def _jump_clock(pool: Pool, turn: Database, state: Simulation, to: datetime) -> None:
    async def set_clock(instant: datetime) -> None:
        await simulator_store.advance_held_clock(pool, instant)

    await run_due_platform_jobs(pool, to, set_clock, resume_clock=False)
    if state.target is not None and to >= state.target:
        await simulator_store.reach_target(turn, to)
    if to >= state.next_step:
        await simulator_store.mark_issued(turn, state.next_step)


async def fast_forward_to(pool: Pool, target: datetime) -> datetime:
    """Have the clock of a running world hurry to an instant, and wait until it is there; the instant at which it stands
    when it is there, or earlier where it was stopped."""
    await simulator_store.set_target(pool, target)
    seen, since = await platform_now(pool), time.monotonic()
    while (state := await simulator_store.read_simulation(pool)) is not None and state.now < target:
        if state.target is None:
            break
        if state.now > seen:
            seen, since = state.now, time.monotonic()
        if time.monotonic() - since > MAX_WAIT_S:
            raise Unavailable("The simulator does not answer, and the clock waits for it. Try again, or pause it.")
        await asyncio.sleep(POLL_INTERVAL_S)
    if state is not None and state.now >= target:
        await _await_reports(pool)
    return await platform_now(pool)


async def _await_reports(pool: Pool) -> None:
    """Until the simulator has reported what its batteries measured up to where the clock has arrived, but not long."""
    for _ in range(round(MAX_REPORT_WAIT_S / POLL_INTERVAL_S)):
        if await simulator_store.has_reported_since_arrival(pool):
            return
        await asyncio.sleep(POLL_INTERVAL_S)


# --- beginnings ------------------------------------------------------------------------------------------------------


async def prepare_world(db: Connection, *, is_on: bool, seed: int, history_days: int) -> None:
    """At the service's start: give an untouched sandbox its world, with its past still to come; free the clock of one
    whose simulator is switched off. A sandbox in use gets its world only when the operator asks for it."""
    state = await simulator_store.read_simulation(db)
    if not is_on:
        if state is not None and state.running:
            await simulator_store.release_clock(db)
            await simulator_store.steer(db, running=False, seed=state.seed, speed=state.speed)
        return
    if state is not None:
        if not state.running:
            await resume(db, state)
        return
    async with db.transaction():
        await job_store.lock_recurring(db)
        await store.lock_organisations(db)
        if await store.is_untouched(db):
            start = start_of_history(await platform_now(db), history_days)
            await simulator_store.rewind_clock(db, start)
            await simulator_store.insert_simulation(db, seed=seed, start=start, history_complete=False)


async def begin_world_now(db: Database, *, seed: int) -> None:
    """In a sandbox in use: a world without a past, from the present time of the clock."""
    await simulator_store.hold_clock(db)
    start = floor_to_period(await platform_now(db))
    await simulator_store.insert_simulation(db, seed=seed, start=start, history_complete=True)


async def resume(db: Database, state: Simulation) -> None:
    await simulator_store.hold_clock(db)
    await simulator_store.steer(db, running=True, seed=state.seed, speed=state.speed)


async def begin_world_again(db: Database, history_days: int) -> None:
    """After a reset has put the clock back to the real time."""
    if await simulator_store.read_simulation(db) is None:
        return
    start = start_of_history(await platform_now(db), history_days)
    await simulator_store.rewind_clock(db, start)
    await simulator_store.begin_again(db, start)
