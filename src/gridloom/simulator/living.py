"""The simulator's life: quarter-hour after quarter-hour, from wherever it was."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec
import structlog

from gridloom.kernel.market_time import PERIOD, market_day_of
from gridloom.simulator.agenda import AGENDA, MADE_UP
from gridloom.simulator.batteries import metering
from gridloom.simulator.credentials import Kept, member_name, member_password
from gridloom.simulator.market.board import Board
from gridloom.simulator.memory import Memory, read_memory, written_memory
from gridloom.simulator.people import operator, owners
from gridloom.simulator.scene import Scene, wall_time
from gridloom.simulator.seeding import accept_invitation, join_again, seed_world
from gridloom.simulator.voices import Connect, Voice, written
from gridloom_client import AsyncClient, GridloomError, UnauthenticatedError
from gridloom_client.answers.sandbox import SimulatorStep

log = structlog.get_logger()

METER_EVERY = timedelta(hours=12)
"""While time is hurrying; otherwise every quarter-hour, and every minute where somebody could watch."""
WATCHABLE_SPEED = 10.0
PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0
MOST_REFUSALS, REFUSALS_WITHIN_S = 2, 60.0
"""One soon after the other, before passwords are taken for wrong: when the sandbox is reset, members end as well. No
more, or the service would have it wait for the next attempt."""


class ShutOut(Exception):
    """The simulator's members are unknown here, or have other passwords: trying on would change nothing."""


@dataclass
class World:
    """A world that the simulator lives in."""

    memory: Memory
    board: Board
    operator: Voice
    voices: dict[str, Voice]
    start: datetime

    async def close(self) -> None:
        for voice in self.voices.values():
            await voice.client.aclose()


async def live(connect: Connect, kept: Kept) -> None:
    """For ever; a service that is away is waited for, and whatever went wrong is tried again from the last step.

    Raises ShutOut where the service does not let the simulator in.
    """
    pause_s, refused_at = PAUSE_S, list[float]()
    while True:
        try:
            async with connect(member_name(kept, "operator"), member_password(kept, "operator")) as client:
                operator_voice = await _sign_in(client, kept)
                await _live_on(connect, kept, operator_voice)
        except GridloomError as error:
            if isinstance(error, UnauthenticatedError):
                now = asyncio.get_running_loop().time()
                refused_at = [at for at in refused_at if now - at < REFUSALS_WITHIN_S] + [now]
                if len(refused_at) >= MOST_REFUSALS:
                    raise ShutOut(str(error)) from error
            log.warning("simulator.interrupted", error=str(error), retry_in_s=pause_s)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


async def _sign_in(client: AsyncClient, kept: Kept) -> Voice:
    voice = Voice(client, "")
    try:
        await client.sign_in()
    except UnauthenticatedError:
        if kept.invitation is None:
            raise
        name, password = member_name(kept, "operator"), member_password(kept, "operator")
        await accept_invitation(voice, kept.invitation, name, password, "Simulator")
        await client.sign_in()
    voice.organisation_id = str((await client.auth.me()).organisation_id)
    return voice


async def _live_on(connect: Connect, kept: Kept, operator_voice: Voice) -> None:
    world: World | None = None
    watched: asyncio.Task[None] | None = None
    asked = await operator_voice.client.sandbox.step()
    try:
        while True:
            step = asked.step
            if step is None:
                asked = await operator_voice.client.sandbox.step()
                continue
            if world is None or asked.world != world.memory.world:
                if world is not None:
                    await world.close()
                    world = None
                if asked.memory is None:  # a reset came between: ask what there is to remember
                    asked = await operator_voice.client.sandbox.step()
                    continue
                world = await _enter_world(connect, kept, operator_voice, asked)
            done = await take_step(world, asked, step)
            watched = _watch_minutes(world, asked, watched)
            asked = await _finish_step(operator_voice, world.memory, done)
    finally:
        if watched is not None:
            watched.cancel()
        if world is not None:
            await world.close()


async def _finish_step(operator_voice: Voice, memory: Memory, done: datetime) -> SimulatorStep:
    """What `sandbox.step` does, with a memory that is written as it is."""
    body = {"world": memory.world, "done": written(done), "memory": written_memory(memory)}
    return msgspec.convert(await operator_voice.put("/sandbox/simulator/step", body), SimulatorStep)


async def _enter_world(connect: Connect, kept: Kept, operator_voice: Voice, asked: SimulatorStep) -> World:
    if asked.memory:
        memory = read_memory(asked.memory)
        voices = await join_again(connect, kept, memory)
    else:
        first_day = market_day_of(asked.start) - timedelta(days=800)
        memory = Memory(world=asked.world, seeds={first_day.isoformat(): asked.seed})
        voices = await seed_world(connect, kept, operator_voice, memory, asked.start)
    return World(memory, Board(memory.seed_of), operator_voice, voices, asked.start)


# --- one quarter-hour ------------------------------------------------------------------------------------------------


async def take_step(world: World, asked: SimulatorStep, step: datetime) -> datetime:
    """Everything that belongs to a quarter-hour, after what was missed before it; with which one this is through."""
    memory = world.memory
    if memory.last_step is not None and step <= memory.last_step:
        return step  # there was nothing to do in it
    memory.take_seed(asked.seed, market_day_of(step) + timedelta(days=3))
    first = step if memory.last_step is None else memory.last_step + PERIOD
    while first < step:
        await _do_step(world, asked, first, is_late=True)
        first += PERIOD
    await _do_step(world, asked, step, is_late=False)
    if asked.hurries_until is not None:
        memory.last_step = last_idle_step(memory, step, asked.hurries_until - PERIOD)
    assert memory.last_step is not None
    return memory.last_step


def last_idle_step(memory: Memory, step: datetime, latest: datetime) -> datetime:
    """The last quarter-hour before the next in which anybody has anything to do, while time is hurrying."""
    assert memory.metered_until is not None
    while step < latest:
        coming = step + PERIOD
        breaks = any(not outage.announced and outage.start <= coming for outage in memory.outages)
        if breaks or wall_time(coming) in AGENDA or coming - memory.metered_until >= METER_EVERY:
            break
        step = coming
    return step


async def _do_step(world: World, asked: SimulatorStep, step: datetime, *, is_late: bool) -> None:
    memory = world.memory
    scene = Scene(
        memory,
        world.board,
        world.operator,
        world.voices,
        step,
        is_late=is_late,
        is_past=not asked.history_complete,
        is_hurrying=asked.hurrying,
    )
    if memory.last_step is None:
        await operator.renew_tolls(scene, scene.today)
    assert memory.metered_until is not None
    if not asked.hurrying or step - memory.metered_until >= METER_EVERY:
        await metering.meter(scene, step)
    for item in AGENDA.get(scene.clock, ()):
        if not is_late or item in MADE_UP:
            await item(scene)
    await owners.announce_outages(scene)
    memory.last_step = step


def _watch_minutes(world: World, asked: SimulatorStep, before: asyncio.Task[None] | None) -> asyncio.Task[None] | None:
    """At a speed at which a person can follow, report each minute as it passes; the next step does the rest."""
    if before is not None:
        before.cancel()
    if asked.hurrying or asked.speed > WATCHABLE_SPEED or asked.step is None:
        return None
    scene = Scene(world.memory, world.board, world.operator, world.voices, asked.step, is_late=False, is_past=False)
    return asyncio.create_task(_report_minutes(scene, asked.step, asked.speed), name="minutes")


async def _report_minutes(scene: Scene, start: datetime, speed: float) -> None:
    with suppress(GridloomError):
        metered = metering.run_orders(scene, await metering.read_orders(scene, start, start + PERIOD))
        for minute in range(metering.MINUTES_A_PERIOD):
            await asyncio.sleep(60 / speed)
            await metering.send(scene, metered, minute, minute + 1)
