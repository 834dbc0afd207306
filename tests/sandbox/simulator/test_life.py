"""The simulator's life from quarter-hour to quarter-hour: what it does in which order, and what it leaves behind."""

from __future__ import annotations

import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from tests.stand_ins import replace_for

from gridloom.sandbox.simulator import __main__ as process
from gridloom.sandbox.simulator import main_loop
from gridloom.sandbox.simulator.credentials import (
    SimulatorCredentials,
    write_credentials,
)
from gridloom.sandbox.simulator.main_loop import LoginRejectedError, SimulationRun, take_step
from gridloom.sandbox.simulator.state import SimulatorState
from gridloom_client.answers import SimulatorStep

pytestmark = pytest.mark.pure

NOON = datetime(2026, 6, 17, 12, tzinfo=UTC)
QUARTER = timedelta(minutes=15)
KEPT = SimulatorCredentials("secret", invitation="invitation")


def asked_for(**known: Any) -> SimulatorStep:
    given: dict[str, Any] = {
        "world": 1,
        "seed": 3,
        "start": NOON - timedelta(days=30),
        "now": NOON,
        "speed": 1.0,
        "history_complete": True,
        "hurrying": False,
    }
    return SimulatorStep(**(given | known))


def world_of(**known: Any) -> Any:
    memory = SimulatorState(world=1, seeds={"2024-01-01": 3}, **known)
    part: Any = "part"
    return SimulationRun(memory, part, part, part, NOON)


class TestAStep:
    async def test_is_done_after_those_that_were_missed_and_never_twice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        done: list[Any] = []

        async def do(world: Any, asked: Any, step: datetime, *, is_late: bool) -> None:
            done.append(((step - NOON) / QUARTER, is_late))
            world.memory.last_step = step

        monkeypatch.setattr(main_loop, "_do_step", do)
        world = world_of(last_step=NOON - 4 * QUARTER, metered_until=NOON)
        assert await take_step(world, asked_for(seed=9), NOON) == NOON
        assert done == [(-3, True), (-2, True), (-1, True), (0, False)]
        assert world.memory.seeds == {"2024-01-01": 3, "2026-06-20": 9}
        for step in (NOON, NOON - QUARTER):
            assert await take_step(world, asked_for(seed=10), step) == step
        assert len(done) == 4
        first = world_of(metered_until=NOON)
        assert await take_step(first, asked_for(), NOON) == NOON
        assert done[4:] == [(0, False)]

    async def test_is_followed_by_those_in_which_nothing_happens_while_time_hurries(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """They end before the hurry does. At noon in UTC nothing happens until 15:30 on the wall."""

        async def do(world: Any, asked: Any, step: datetime, *, is_late: bool) -> None:
            world.memory.last_step = step

        monkeypatch.setattr(main_loop, "_do_step", do)
        for hurries_h, last in ((9.0, 5), (1.0, 3)):
            world = world_of(metered_until=NOON)
            until = NOON + hurries_h * timedelta(hours=1)
            assert await take_step(world, asked_for(hurries_until=until), NOON) == NOON + last * QUARTER
            assert world.memory.last_step == NOON + last * QUARTER


class TestReports:
    def begin(self, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        made: list[Any] = []

        class Reports:
            def __init__(self, scene: Any, now: datetime, speed: float) -> None:
                made.append((scene.step, now, speed))

            def start(self) -> None:
                made.append("start")

        monkeypatch.setattr(main_loop, "MinuteReports", Reports)
        return made

    @pytest.mark.parametrize(
        ("last_step", "history_complete", "resumes"),
        [
            (None, True, False),
            (NOON, False, False),
            (NOON, True, True),
            (NOON - QUARTER, True, False),
            (NOON - QUARTER + timedelta(seconds=1), True, True),
            (NOON + QUARTER, True, False),
        ],
    )
    def test_are_resumed_in_the_quarter_hour_that_an_earlier_process_was_through_with(
        self, monkeypatch: pytest.MonkeyPatch, last_step: datetime | None, history_complete: bool, resumes: bool
    ) -> None:
        made = self.begin(monkeypatch)
        found = main_loop._resume_reports(world_of(last_step=last_step), asked_for(history_complete=history_complete))
        assert (found is not None) is resumes
        assert made == ([(last_step, NOON, 1.0), "start"] if resumes else [])


class TestALife:
    async def test_goes_from_world_to_world_and_leaves_nothing_open(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It waits, catches up with the clock, does a step, meets a reset, and ends with an error in the next world."""
        done: list[Any] = []
        later = NOON + QUARTER
        asked = {
            "waits": asked_for(memory={}),
            "waits in a world": asked_for(memory={"world": 1}),
            "on": asked_for(now=later),
            "first": asked_for(step=NOON),
            "reset": asked_for(step=later, world=2),
            "remembers": asked_for(step=later, world=2, memory={}),
        }
        script = iter(["waits", "waits in a world", "on", "first", "remembers"])

        async def ask(_: Any, before: Any = None) -> Any:
            name = next(script)
            known = [one for one, step in asked.items() if step is before]
            done.append(("ask", *known))
            return asked[name]

        async def finish(_: Any, memory: Any, through: datetime, before: Any) -> Any:
            done.append(("finish", memory.world, through))
            if memory.world == 2:
                raise RuntimeError("the service is away")
            return asked["reset"]

        async def enter(*of: Any) -> Any:
            world = of[-1].world
            done.append(("enter", world))

            async def close() -> None:
                done.append(("close", world))

            return SimpleNamespace(memory=SimpleNamespace(world=world), close=close)

        def reports_of(name: str) -> Any:
            async def catch_up(now: datetime) -> None:
                done.append(("catch up", name, now))

            return SimpleNamespace(stop=lambda: done.append(("stop", name)), catch_up=catch_up)

        async def take(world: Any, _: Any, step: datetime) -> datetime:
            done.append(("take", world.memory.world, step))
            return step

        monkeypatch.setattr(main_loop, "_ask_step", ask)
        monkeypatch.setattr(main_loop, "_finish_step", finish)
        monkeypatch.setattr(main_loop, "_enter_world", enter)
        monkeypatch.setattr(main_loop, "_resume_reports", lambda *_: reports_of("resumed"))
        monkeypatch.setattr(main_loop, "_begin_reports", lambda world, *_: reports_of(f"of {world.memory.world}"))
        monkeypatch.setattr(main_loop, "take_step", take)
        nothing: Any = None
        with pytest.raises(RuntimeError, match="away"):
            await main_loop._live_on(nothing, KEPT, nothing)
        assert done == [
            ("ask",),
            ("ask", "waits"),
            ("enter", 1),
            ("catch up", "resumed", NOON),
            ("ask", "waits in a world"),
            ("catch up", "resumed", later),
            ("ask", "on"),
            ("stop", "resumed"),
            ("take", 1, NOON),
            ("finish", 1, NOON),
            ("stop", "of 1"),
            ("close", 1),
            ("ask",),
            ("enter", 2),
            ("take", 2, later),
            ("finish", 2, later),
            ("stop", "of 2"),
            ("close", 2),
        ]


class TestTheProcess:
    @pytest.mark.parametrize(("outcome", "status"), [(None, None), (LoginRejectedError("no"), 78)])
    def test_lives_by_the_credentials_of_its_home_until_it_is_shut_out(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, outcome: Exception | None, status: int | None
    ) -> None:
        """An interrupt goes to its supervisor."""
        lived: list[Any] = []

        async def live(connect: Any, credentials: SimulatorCredentials) -> None:
            lived.append((connect, credentials))
            if outcome is not None:
                raise outcome

        monkeypatch.setattr(process, "run_forever", live)
        monkeypatch.setattr(process, "connect_to", lambda url: f"to {url}")
        monkeypatch.setattr(structlog, "configure", lambda **_: None)
        signals: list[Any] = []
        replace_for(monkeypatch, process, "signal", signal=lambda *of: signals.append(of))
        with pytest.raises(SystemExit) as unknown:
            process.main("http://here", str(tmp_path))
        assert (unknown.value.code, lived) == (1, [])
        write_credentials(tmp_path, KEPT)
        if status is None:
            process.main("http://here", str(tmp_path))
        else:
            with pytest.raises(SystemExit) as shut_out:
                process.main("http://here", str(tmp_path))
            assert shut_out.value.code == status
        assert lived == [("to http://here", KEPT)]
        assert set(signals) == {(signal.SIGINT, signal.SIG_IGN)}
