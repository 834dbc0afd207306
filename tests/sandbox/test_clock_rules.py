"""What moves the clock of a sandbox, what it waits for and who is told: each step of it without a database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from tests.stand_ins import replace_for

from gridloom.kernel.problem import Forbidden, Unavailable
from gridloom.platform.identity.store.revocations import organisation_subject
from gridloom.platform.jobs import store as job_store
from gridloom.sandbox import clock, routes, simulated_clock, simulator_store, store
from gridloom.sandbox.clock import ClockWalkStopped
from gridloom.sandbox.simulated_clock import SimulationChanged, await_step, fast_forward_to
from gridloom.sandbox.simulation import Simulation
from gridloom.settings import Settings

pytestmark = pytest.mark.pure

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
QUARTER, SECOND = timedelta(minutes=15), timedelta(seconds=1)
LIVE = Simulation(
    world=1,
    seed=1,
    running=True,
    speed=1,
    start=NOON - timedelta(days=30),
    step=NOON,
    is_done=True,
    history_complete=True,
    target=None,
    anchor_real=NOON,
    anchor_platform=NOON,
    now=NOON,
    real=NOON,
)
POOL: Any = "pool"


class Calls:
    """Stands in for functions; keeps what they were given, in order, and answers as told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.made: list[Any] = []

    def answer(self, module: Any, name: str, answer: Any = None) -> None:
        async def stand_in(*given: Any, **options: Any) -> Any:
            self.made.append((name, *given, *options.items()))
            return answer.pop(0) if isinstance(answer, list) else answer

        self._monkeypatch.setattr(module, name, stand_in)

    def take_turns(self, module: Any) -> None:
        @asynccontextmanager
        async def transaction(pool: Any) -> AsyncIterator[str]:
            assert pool == POOL
            yield "turn"

        self._monkeypatch.setattr(module, "transaction", transaction)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(monkeypatch)


class TestAMoveOfTheWorldsClock:
    @pytest.mark.parametrize(
        ("state", "pause_s", "made"),
        [
            pytest.param(None, 0.0, [], id="without a world"),
            pytest.param(replace(LIVE, running=False), 0.0, [], id="paused"),
            pytest.param(replace(LIVE, is_done=False), 0.0, [], id="while it waits"),
            pytest.param(
                replace(LIVE, history_complete=False), 0.0, [("complete_history", "turn")], id="in the present"
            ),
            pytest.param(
                LIVE,
                900.0,
                [("run_clock", "turn", timedelta(), NOON + QUARTER), ("wake", "turn")],
                id="at the real one's pace",
            ),
            pytest.param(
                replace(LIVE, speed=10),
                1.0,
                [("_jump_clock", POOL, "turn", replace(LIVE, speed=10), NOON)],
                id="at another",
            ),
        ],
    )
    async def test_is_the_next_of_its_state(
        self, calls: Calls, state: Simulation | None, pause_s: float, made: list[Any]
    ) -> None:
        calls.take_turns(simulated_clock)
        calls.answer(store, "try_lock_clock", True)
        calls.answer(simulator_store, "read_simulation", state)
        for name, answer in (("commit_without_the_disk", None), ("complete_history", None), ("run_clock", True)):
            calls.answer(simulator_store, name, answer)
        calls.answer(job_store, "wake")
        calls.answer(simulated_clock, "_jump_clock")
        assert await simulated_clock._advance_clock(POOL) == pause_s
        assert calls.made[:3] == [
            ("try_lock_clock", "turn"),
            ("commit_without_the_disk", "turn"),
            ("read_simulation", "turn"),
        ]
        assert calls.made[3:] == made


class TestAStepThatIsAwaited:
    async def ask(self, **options: Any) -> Simulation | None:
        given: dict[str, Any] = {
            "patience_s": 60.0,
            "stopping": asyncio.Event(),
            "changes": SimulationChanged(),
        } | options
        async with asyncio.timeout(60):
            return await await_step(POOL, **given)

    async def test_is_given_at_once_and_so_is_a_standstill(self, calls: Calls) -> None:
        calls.answer(simulated_clock, "_advance_clock", 0.0)
        stopping = asyncio.Event()
        stopping.set()
        awaiting = replace(LIVE, is_done=False)
        cases: list[tuple[Simulation | None, dict[str, Any]]] = [
            (None, {}),
            (awaiting, {}),
            (LIVE, {"stopping": stopping}),
            (LIVE, {"patience_s": 0.0}),
            (LIVE, {"reported_until": NOON - SECOND}),
        ]
        for state, options in cases:
            calls.answer(simulator_store, "read_simulation", state)
            assert await self.ask(**options) is state
        assert all(name == "read_simulation" for name, *_ in calls.made)
        assert len(calls.made) == 5

    async def test_is_looked_for_after_each_move_until_the_clock_has_jumped(self, calls: Calls) -> None:
        states = [replace(LIVE, now=NOON + seconds * SECOND) for seconds in (0, 30, 60, 91)]
        calls.answer(simulator_store, "read_simulation", list(states))
        calls.answer(simulated_clock, "_advance_clock", 0.0)
        assert await self.ask(reported_until=NOON) is states[3]
        assert [name for name, *_ in calls.made] == ["read_simulation", "_advance_clock"] * 3 + ["read_simulation"]


class TestAHurryThatIsWaitedFor:
    TARGET = NOON + timedelta(hours=1)

    def world(
        self, monkeypatch: pytest.MonkeyPatch, calls: Calls, states: list[Simulation | None], clock_s: list[float]
    ) -> None:
        async def sleep(_: float) -> None: ...

        calls.answer(simulator_store, "set_target")
        calls.answer(simulator_store, "read_simulation", states)
        calls.answer(simulator_store, "has_reported_since_arrival", [False, False, True])
        calls.answer(simulated_clock, "platform_now", [NOON, "then"])
        replace_for(monkeypatch, simulated_clock, "asyncio", sleep=sleep)
        replace_for(monkeypatch, simulated_clock, "time", monotonic=lambda: clock_s.pop(0) if clock_s else 0.0)

    def states(self, *minutes: float, target: datetime | None = TARGET) -> list[Simulation | None]:
        return [replace(LIVE, now=NOON + timedelta(minutes=number), target=target) for number in minutes]

    async def test_ends_when_the_clock_is_there_and_the_batteries_have_reported(
        self, monkeypatch: pytest.MonkeyPatch, calls: Calls
    ) -> None:
        self.world(monkeypatch, calls, self.states(0, 30, 60), [])
        found: Any = await fast_forward_to(POOL, self.TARGET)
        assert found == "then"
        names = [name for name, *_ in calls.made]
        assert calls.made[0] == ("set_target", POOL, self.TARGET)
        assert names[-4:] == [*["has_reported_since_arrival"] * 3, "platform_now"]

    async def test_ends_where_it_was_stopped_or_reset_and_waits_for_no_report(
        self, monkeypatch: pytest.MonkeyPatch, calls: Calls
    ) -> None:
        for states in ([*self.states(0), *self.states(30, target=None)], [*self.states(0), None]):
            calls.made.clear()
            self.world(monkeypatch, calls, states, [])
            found: Any = await fast_forward_to(POOL, self.TARGET)
            assert found == "then"
            assert "has_reported_since_arrival" not in [name for name, *_ in calls.made]

    async def test_gives_up_half_a_minute_after_the_clock_has_moved_last(
        self, monkeypatch: pytest.MonkeyPatch, calls: Calls
    ) -> None:
        self.world(monkeypatch, calls, self.states(0, 15, 15, 15, 15), [0.0, 30.0, 31.0, 31.0, 61.0, 61.1])
        with pytest.raises(Unavailable, match="does not answer"):
            await fast_forward_to(POOL, self.TARGET)
        assert [name for name, *_ in calls.made].count("read_simulation") == 4

    async def test_does_not_wait_long_for_reports(self, monkeypatch: pytest.MonkeyPatch, calls: Calls) -> None:
        self.world(monkeypatch, calls, self.states(60), [])
        calls.answer(simulator_store, "has_reported_since_arrival", False)
        await fast_forward_to(POOL, self.TARGET)
        assert [name for name, *_ in calls.made].count("has_reported_since_arrival") == 30


class TestAMoveThatIsAskedFor:
    async def test_is_a_hurry_of_a_running_world_and_is_refused_where_that_was_stopped(self, calls: Calls) -> None:
        hour = timedelta(hours=1)
        calls.answer(simulator_store, "read_simulation", LIVE)
        calls.answer(clock, "fast_forward_to", [NOON + hour, NOON + hour - SECOND])
        assert await clock.move_clock(POOL, to=None, by=hour) == NOON + hour
        with pytest.raises(
            ClockWalkStopped, match=r"It stands at 2026-03-02T12:59:59Z, before 2026-03-02T13:00:00Z\."
        ) as stopped:
            await clock.move_clock(POOL, to=NOON + hour, by=None)
        assert stopped.value.members == {"now": "2026-03-02T12:59:59Z"}
        assert [one[1:] for one in calls.made if one[0] == "fast_forward_to"] == [(POOL, NOON + hour)] * 2

    @pytest.mark.parametrize(
        ("state", "target", "is_stopped", "made"),
        [
            pytest.param(None, "of the walk", True, ["stop_walk"], id="without a world"),
            pytest.param(
                replace(LIVE, running=False, target=NOON + SECOND), "of the walk", True, ["stop_walk"], id="paused"
            ),
            pytest.param(LIVE, None, False, [], id="going at its speed"),
            pytest.param(replace(LIVE, target=NOON), None, False, [], id="there"),
            pytest.param(
                replace(LIVE, target=NOON + SECOND),
                NOON + SECOND,
                True,
                ["lock_clock", "stop_at_present"],
                id="hurrying",
            ),
        ],
    )
    async def test_is_shown_and_stopped_by_who_makes_it(
        self, calls: Calls, state: Simulation | None, target: Any, is_stopped: bool, made: list[str]
    ) -> None:
        calls.answer(simulator_store, "read_simulation", state)
        calls.answer(store, "read_walk_target", "of the walk")
        assert await clock.read_walk_target(POOL) == target
        calls.made.clear()
        calls.answer(store, "stop_walk", True)
        calls.answer(store, "lock_clock")
        calls.answer(simulator_store, "stop_at_present", True)
        assert await clock.stop_walk(POOL) is is_stopped
        assert [name for name, *_ in calls.made[1:]] == made


class TestARequest:
    def request_of(self, *permissions: str, **known: Any) -> Any:
        caller = SimpleNamespace(permissions=permissions, is_operator=True, organisation_id="operator")
        return SimpleNamespace(caller=caller, db="db", resources={Settings: Settings(**known)})

    async def test_to_stop_the_clock_is_for_those_of_the_operator_who_may_more_than_read(self, calls: Calls) -> None:
        calls.answer(clock, "stop_walk", True)
        with pytest.raises(Forbidden, match="may only read"):
            await routes.stop_clock_walk(self.request_of("Read:auctions", "Read:bids"))
        await routes.stop_clock_walk(self.request_of("Read:auctions", "Create:bids"))
        assert calls.made == [("stop_walk", "db")]

    @pytest.mark.parametrize("simulator", [True, False])
    async def test_to_reset_locks_what_moves_the_clock_and_signs_everybody_out(
        self, calls: Calls, simulator: bool
    ) -> None:
        gone = [UUID(int=1), UUID(int=2)]
        calls.answer(store, "lock_clock")
        calls.answer(store, "reset_data", [gone])
        for name in ("lock_recurring", "notify_revoked", "begin_world_again"):
            calls.answer(routes, name)
        await routes.reset_sandbox(self.request_of(simulator=simulator, simulator_days=12))
        assert calls.made == [
            ("lock_clock", "db"),
            ("lock_recurring", "db"),
            ("reset_data", "db", "operator"),
            *[("notify_revoked", "db", organisation_subject(one)) for one in gone],
            *([("begin_world_again", "db", 12)] if simulator else []),
        ]
