"""The simulator's own paths: how it is seen and steered, and how it takes part in the clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType, convert, to_builtins

from gridloom.kernel.market_time import floor_to_period
from gridloom.kernel.problem import BadRequest, Conflict, FieldError, Forbidden, Unprocessable
from gridloom.platform.database.clock import platform_now
from gridloom.platform.http import SIGNED_IN, Instant, Request, RequestBody, ResponseBody, operation
from gridloom.platform.http.fields import view_of
from gridloom.sandbox import simulator_store, store
from gridloom.sandbox.simulated_clock import SimulationChanged, await_step, begin_world_now, resume
from gridloom.sandbox.simulation import Simulation
from gridloom.settings import Settings

TAG = "Sandbox"
PATIENCE_S = 20.0
STAND_BY_S = 5.0
SILENCE = timedelta(minutes=1)

Speed = Annotated[float, Meta(ge=0.1, le=100_000)]
Seed = Annotated[int, Meta(ge=0, le=2**31 - 1)]
FailedShare = Annotated[float, Meta(gt=0, le=1)]
MAX_FAILURES = 100


NOT_MOVED_IN = (
    'This sandbox was in use before. PUT /sandbox/simulator {"running": true} begins a simulated world in it.'
)


class NoSimulator(Conflict, title="The sandbox has no simulator"):
    """There is nothing to steer. Either the sandbox was started without its simulator (`GRIDLOOM_SIMULATOR=off`), or
    it was in use before the simulator came: then the world begins when the operator asks for it, by
    `PUT /sandbox/simulator {"running": true}`."""


class UnknownBattery(Unprocessable, title="The simulated world has no such battery"):
    """A failure names a battery that no simulator runs. `errors` names each."""


class NewFailure(RequestBody):
    """A battery of the simulated world that fails on purpose."""

    physical_asset_id: UUID
    start: Instant
    end: Instant
    share: FailedShare = 1.0
    announced: bool = False


class OrderedFailure(ResponseBody):
    """A battery of the simulated world that fails on purpose."""

    physical_asset_id: UUID
    start: Instant
    end: Instant
    share: FailedShare
    announced: bool


NewFailures = Annotated[list[NewFailure], Meta(max_length=MAX_FAILURES)]


class SimulatorView(ResponseBody):
    running: bool
    seed: Seed
    speed: Speed
    now: Instant
    history_complete: bool
    progress: Annotated[float, Meta(ge=0, le=1)]
    failures: list[OrderedFailure]
    history_seconds_left: int | UnsetType = UNSET
    fault: str | UnsetType = UNSET


class SimulatorChange(RequestBody):
    running: bool | UnsetType = UNSET
    seed: Seed | UnsetType = UNSET
    speed: Speed | UnsetType = UNSET
    failures: NewFailures | UnsetType = UNSET


@operation("GET", "/sandbox/simulator", summary="Read the state of the simulator", access=SIGNED_IN)
async def read_simulator(request: Request) -> SimulatorView:
    """`progress` reaches 1 when the world's past has been lived through; from then on the clock goes at `speed`."""
    return await _show_simulator(request, await simulator_store.read_simulation(request.db))


@operation(
    "PUT",
    "/sandbox/simulator",
    summary="Steer the simulator",
    access=SIGNED_IN,
    problems=(NoSimulator, UnknownBattery),
)
async def steer_simulator(request: Request, body: SimulatorChange) -> SimulatorView:
    """By the operator's people; what is left out stays. Paused, the world idles while the clock runs on at the
    real one's pace; it makes up for what it missed. A new seed holds for the market days whose prices are not
    published yet, and for the next reset. Where the sandbox was in use before its simulator was switched on, `running`
    has the world begin, without a past, at the present time of the clock. `failures` lists what fails on purpose, in
    place of those ordered before; the past of such a failure stays. One that is announced its owner announces at once;
    the others are seen by what is measured, and by what is not delivered."""
    if not request.caller.is_operator:
        raise Forbidden("Only the operator steers the simulator.")
    await store.lock_clock(request.db)
    state = await simulator_store.read_simulation(request.db)
    settings = request.resources[Settings]
    if not settings.simulator:
        raise NoSimulator("Start the service with GRIDLOOM_SIMULATOR=on.")
    if state is None:
        if body.running is not True:
            raise NoSimulator(NOT_MOVED_IN)
        await begin_world_now(request.db, seed=settings.simulator_seed)
        state = await simulator_store.read_simulation(request.db)
        assert state is not None
    if not isinstance(body.failures, UnsetType):
        await _check_failures(request, body.failures)
        await simulator_store.order_failures(request.db, [to_builtins(one) for one in body.failures])
    running = state.running if isinstance(body.running, UnsetType) else body.running
    seed = state.seed if isinstance(body.seed, UnsetType) else body.seed
    speed = state.speed if isinstance(body.speed, UnsetType) else body.speed
    if running and not state.running:
        await resume(request.db, state)
    if state.running and not running:
        await simulator_store.release_clock(request.db)
    await simulator_store.steer(request.db, running=running, seed=seed, speed=speed)
    return await _show_simulator(request, await simulator_store.read_simulation(request.db))


async def _check_failures(request: Request, failures: list[NewFailure]) -> None:
    backward = [
        FieldError(f"/failures/{index}/end", "Expected a quarter-hour after the start.")
        for index, one in enumerate(failures)
        if not floor_to_period(one.start) == one.start < one.end == floor_to_period(one.end)
    ]
    if backward:
        raise BadRequest("Failures begin and end on quarter-hours.", backward)
    known = await simulator_store.read_batteries(request.db)
    unknown = [
        FieldError(f"/failures/{index}/physicalAssetID", "unknown")
        for index, one in enumerate(failures)
        if str(one.physical_asset_id) not in known
    ]
    if unknown:
        raise UnknownBattery("These are no batteries of the simulated world.", unknown)


async def _show_simulator(request: Request, state: Simulation | None) -> SimulatorView:
    if state is None:
        now = await platform_now(request.db)
        seed = request.resources[Settings].simulator_seed
        return SimulatorView(
            running=False,
            seed=seed,
            speed=1.0,
            now=_to_the_millisecond(now),
            history_complete=True,
            progress=1.0,
            failures=[],
        )
    left_s = state.history_left_s
    return view_of(
        SimulatorView,
        state,
        now=_to_the_millisecond(state.now),
        progress=round(state.progress, 4),
        failures=[convert(one, OrderedFailure) for one in state.failures],
        history_seconds_left=UNSET if left_s is None else round(left_s),
    )


def _to_the_millisecond(instant: datetime) -> datetime:
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


# --- for the simulator itself ----------------------------------------------------------------------------------------


class StepDone(RequestBody):
    """The completed step; omitted, the simulator only asks for the next one."""

    world: Annotated[int, Meta(ge=0)] | UnsetType = UNSET
    done: Instant | UnsetType = UNSET
    memory: dict[str, Any] | None = None
    reported_until: Instant | UnsetType = UNSET


class StepView(ResponseBody):
    """The quarter-hour at which the clock waits, and what the simulator needs to know for it."""

    world: int
    seed: Seed
    start: Instant
    now: Instant
    step: Instant | None
    speed: Speed
    history_complete: bool
    hurrying: bool
    hurries_until: Instant | None
    failures: list[OrderedFailure]
    memory: dict[str, Any] | UnsetType = UNSET


@operation(
    "PUT",
    "/sandbox/simulator/step",
    summary="Complete a quarter-hour and wait for the next",
    access=SIGNED_IN,
    audited=False,
    transaction="manual",
    problems=(NoSimulator,),
)
async def take_simulator_step(request: Request, body: StepDone) -> StepView:
    """For the simulator, as a member of the operator's organisation. The clock goes on to the next quarter-hour once
    the last one is done, and this answers when it is there, or after 20 seconds without. What is said to be done
    twice, or of another world, changes nothing. While time hurries, `done` may lie ahead, before `hurriesUntil`: the
    clock does not wait at quarter-hours in which the simulator has nothing to do. One member at a time takes part;
    others stand by until it has been silent for a minute."""
    if not request.caller.is_operator:
        raise Forbidden("Only the operator's simulator takes part in the clock.")
    changes = request.resources[SimulationChanged]
    reported_until = None if isinstance(body.reported_until, UnsetType) else body.reported_until
    takes_part = await simulator_store.acquire_lease(request.pool, request.caller.id, SILENCE, reported_until)
    if not takes_part:
        state = await simulator_store.read_simulation(request.pool)
        if state is not None:
            await changes.wait(STAND_BY_S)
    else:
        world, done = body.world, body.done
        if not isinstance(world, UnsetType) and not isinstance(done, UnsetType) and floor_to_period(done) == done:
            await simulator_store.complete_step(request.pool, world, done, body.memory)
        state = await await_step(request.pool, changes, PATIENCE_S, request.stopping, reported_until)
    if state is None:
        await changes.wait(STAND_BY_S)  # for a world to begin; then the simulator asks again
        raise NoSimulator(NOT_MOVED_IN)
    answer = view_of(
        StepView,
        state,
        now=_to_the_millisecond(state.now),
        step=state.step if takes_part and state.awaits_simulator else None,
        hurrying=state.is_hurrying,
        hurries_until=state.hurries_until,
        failures=[convert(one, OrderedFailure) for one in state.failures],
    )
    if takes_part and isinstance(body.done, UnsetType):
        answer.memory = await simulator_store.read_memory(request.pool) or {}
    return answer
