"""The simulator's life: quarter-hour after quarter-hour, from wherever it was."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec
import structlog

from gridloom.kernel.market_time import PERIOD, market_day_of
from gridloom.sandbox.simulator.api_session import ApiSession, Connect, written
from gridloom.sandbox.simulator.batteries import metering
from gridloom.sandbox.simulator.batteries.minute_reports import MinuteReports
from gridloom.sandbox.simulator.credentials import SimulatorCredentials, member_name, member_password
from gridloom.sandbox.simulator.market.market_data import LOOK_BACK_DAYS, MarketData
from gridloom.sandbox.simulator.participants import failures, operator
from gridloom.sandbox.simulator.seeding import accept_invitation, join_again, seed_world
from gridloom.sandbox.simulator.state import SimulatorState
from gridloom.sandbox.simulator.step_context import StepContext, wall_time
from gridloom.sandbox.simulator.timetable import CATCH_UP_ACTIONS, TIMETABLE
from gridloom_client import AsyncClient, ConflictError, GridloomError, UnauthenticatedError
from gridloom_client.answers import SimulatorStep

log = structlog.get_logger()

METER_EVERY = timedelta(hours=12)
"""While time is hurrying; otherwise every quarter-hour, and every minute where a person could watch."""
WATCHABLE_SPEED = 10.0
PAUSE_S, MAX_PAUSE_S = 0.2, 5.0
MAX_REJECTIONS, REJECTION_WINDOW_S = 2, 60.0
"""One soon after the other, before passwords are taken for wrong: when the sandbox is reset, members end as well. No
more, or the service would have it wait for the next attempt."""


class LoginRejectedError(Exception):
    """The simulator's members are unknown here, or have other passwords: trying on would change nothing."""


@dataclass
class SimulationRun:
    """A world that the simulator lives in."""

    memory: SimulatorState
    market_data: MarketData
    operator: ApiSession
    sessions: dict[str, ApiSession]
    start: datetime

    async def close(self) -> None:
        for session in self.sessions.values():
            await session.client.aclose()


async def run_forever(connect: Connect, credentials: SimulatorCredentials) -> None:
    """For ever; a service that is away is waited for, and whatever went wrong is tried again from the last step.

    Raises ShutOut where the service does not let the simulator in.
    """
    pause_s, refused_at = PAUSE_S, list[float]()
    while True:
        try:
            async with connect(
                member_name(credentials, "operator"), member_password(credentials, "operator")
            ) as client:
                operator_session = await _sign_in(client, credentials)
                await _live_on(connect, credentials, operator_session)
        except GridloomError as error:
            if isinstance(error, UnauthenticatedError):
                now = asyncio.get_running_loop().time()
                refused_at = [at for at in refused_at if now - at < REJECTION_WINDOW_S] + [now]
                if len(refused_at) >= MAX_REJECTIONS:
                    raise LoginRejectedError(str(error)) from error
            log.warning("simulator.interrupted", error=str(error), retry_in_s=pause_s)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, MAX_PAUSE_S)


async def _sign_in(client: AsyncClient, credentials: SimulatorCredentials) -> ApiSession:
    """With an invitation at hand it is accepted first: a member who is unknown would only be refused."""
    session = ApiSession(client, "")
    if credentials.invitation is not None:
        name, password = member_name(credentials, "operator"), member_password(credentials, "operator")
        await accept_invitation(session, credentials.invitation, name, password, "Simulator")
    await client.sign_in()
    session.organisation_id = str((await client.auth.me()).organisation_id)
    return session


async def _live_on(connect: Connect, credentials: SimulatorCredentials, operator_session: ApiSession) -> None:
    world: SimulationRun | None = None
    reports: MinuteReports | None = None
    asked = await _ask_step(operator_session)
    try:
        while True:
            step = asked.step
            if step is None:
                if world is None and asked.memory:
                    world = await _enter_world(connect, credentials, operator_session, asked)
                    reports = _resume_reports(world, asked)
                if reports is not None:
                    await reports.catch_up(asked.now)
                asked = await _ask_step(operator_session, asked)
                continue
            if reports is not None:
                reports.stop()
                reports = None
            if world is None or asked.world != world.memory.world:
                if world is not None:
                    await world.close()
                    world = None
                if asked.memory is None:  # a reset came between: ask what there is to remember
                    asked = await _ask_step(operator_session)
                    continue
                world = await _enter_world(connect, credentials, operator_session, asked)
            done = await take_step(world, asked, step)
            reports = _begin_reports(world, asked, step)
            asked = await _finish_step(operator_session, world.memory, done, asked)
    finally:
        if reports is not None:
            reports.stop()
        if world is not None:
            await world.close()


async def _ask_step(operator_session: ApiSession, before: SimulatorStep | None = None) -> SimulatorStep:
    """The simulator's next step; it waits where a sandbox in use has no world until its operator asks for one.

    `before`: the response up to whose `now` all is reported.
    """
    while True:
        try:
            return await operator_session.client.sandbox.step(reported_until=None if before is None else before.now)
        except ConflictError as problem:
            log.debug("simulator.no_world", detail=str(problem))
            await asyncio.sleep(PAUSE_S)


async def _finish_step(
    operator_session: ApiSession, memory: SimulatorState, done: datetime, before: SimulatorStep
) -> SimulatorStep:
    """Calls `sandbox.step`, with a memory that is written as it is."""
    body = {
        "world": memory.world,
        "done": written(done),
        "memory": msgspec.to_builtins(memory),
        "reportedUntil": written(before.now),
    }
    return msgspec.convert(await operator_session.put("/sandbox/simulator/step", body), SimulatorStep)


async def _enter_world(
    connect: Connect, credentials: SimulatorCredentials, operator_session: ApiSession, asked: SimulatorStep
) -> SimulationRun:
    if asked.memory:
        memory = msgspec.convert(asked.memory, SimulatorState)
        sessions = await join_again(connect, credentials, operator_session, memory)
    else:
        first_day = market_day_of(asked.start) - timedelta(days=800)
        memory = SimulatorState(
            world=asked.world, seeds={first_day.isoformat(): asked.seed}, begun=market_day_of(asked.start)
        )
        sessions = await seed_world(connect, credentials, operator_session, memory, asked.start)
    world = SimulationRun(memory, MarketData(memory.seed_of), operator_session, sessions, asked.start)
    if memory.last_step is not None:
        today = market_day_of(memory.last_step)
        first = today - timedelta(days=LOOK_BACK_DAYS)
        await operator.learn_published_days(operator_session, world.market_data, first, today + timedelta(days=1))
    return world


# --- one quarter-hour ------------------------------------------------------------------------------------------------


async def take_step(world: SimulationRun, asked: SimulatorStep, step: datetime) -> datetime:
    """Everything that belongs to a quarter-hour, after what was missed before it; with which one this is through."""
    memory = world.memory
    if memory.last_step is not None and step <= memory.last_step:
        return step  # there was nothing to do in it
    memory.take_seed(asked.seed, market_day_of(step) + timedelta(days=3))
    memory.take_failures(asked.failures)
    first = step if memory.last_step is None else memory.last_step + PERIOD
    while first < step:
        await _do_step(world, asked, first, is_late=True)
        first += PERIOD
    await _do_step(world, asked, step, is_late=False)
    if asked.hurries_until is not None:
        memory.last_step = last_idle_step(memory, step, asked.hurries_until - PERIOD)
    assert memory.last_step is not None
    return memory.last_step


def last_idle_step(memory: SimulatorState, step: datetime, latest: datetime) -> datetime:
    """The last quarter-hour before the next in which a participant acts, while time is hurrying."""
    assert memory.metered_until is not None
    while step < latest:
        coming = step + PERIOD
        breaks = any(outage.is_due(coming) for outage in memory.outages)
        if breaks or wall_time(coming) in TIMETABLE or coming - memory.metered_until >= METER_EVERY:
            break
        step = coming
    return step


async def _do_step(world: SimulationRun, asked: SimulatorStep, step: datetime, *, is_late: bool) -> None:
    memory = world.memory
    context = StepContext(
        memory,
        world.market_data,
        world.operator,
        world.sessions,
        step,
        is_late=is_late,
        is_past=not asked.history_complete,
        is_hurrying=asked.hurrying,
    )
    if memory.last_step is None:
        await operator.renew_tolls(context, context.today)
    assert memory.metered_until is not None
    if not asked.hurrying or step - memory.metered_until >= METER_EVERY:
        await metering.meter(context, step)
    for group in TIMETABLE.get(context.clock, ()):
        await asyncio.gather(*(item(context) for item in group if not is_late or item in CATCH_UP_ACTIONS))
    await failures.announce_outages(context)
    memory.last_step = step


def _begin_reports(world: SimulationRun, asked: SimulatorStep, step: datetime) -> MinuteReports | None:
    """Report the minutes after a step: each as it passes at a speed at which a person can follow, otherwise after a
    jump only. The next step reports the rest."""
    if asked.hurrying:
        return None
    context = StepContext(
        world.memory, world.market_data, world.operator, world.sessions, step, is_late=False, is_past=False
    )
    reports = MinuteReports(context, asked.now, asked.speed)
    if asked.speed <= WATCHABLE_SPEED:
        reports.start()
    return reports


def _resume_reports(world: SimulationRun, asked: SimulatorStep) -> MinuteReports | None:
    """Of the quarter-hour under way, where an earlier process is through with its step: it ended before it had reported
    all of the minutes."""
    step = world.memory.last_step
    if step is None or not asked.history_complete or not step <= asked.now < step + PERIOD:
        return None
    return _begin_reports(world, asked, step)
