"""The simulator's life from quarter-hour to quarter-hour: what it does in which order, and what it leaves behind."""

from __future__ import annotations

import signal
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from tests.sandbox.simulator.recorded import refusal
from tests.stand_ins import replace_for

from gridloom.sandbox.simulator import __main__ as process
from gridloom.sandbox.simulator import api_session, main_loop, timetable
from gridloom.sandbox.simulator.batteries import metering
from gridloom.sandbox.simulator.credentials import (
    SimulatorCredentials,
    member_name,
    member_password,
    write_credentials,
)
from gridloom.sandbox.simulator.keep_alive_transport import KeepAliveTransport
from gridloom.sandbox.simulator.main_loop import LoginRejectedError, SimulationRun, run_forever, take_step
from gridloom.sandbox.simulator.participants import operator, owners
from gridloom.sandbox.simulator.state import SimulatorState
from gridloom_client import UnauthenticatedError
from gridloom_client.answers import SimulatorStep
from gridloom_client.wire import RawResponse

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

    @pytest.mark.parametrize(
        ("is_late", "hurrying", "metered_h", "last_step", "done"),
        [
            (False, False, 0.25, NOON, ["meter", "first", "second", "third", "outages"]),
            (True, False, 0.25, NOON, ["meter", "first", "third", "outages"]),
            (False, True, 11.75, NOON, ["first", "second", "third", "outages"]),
            (False, True, 12.0, None, ["tolls", "meter", "first", "second", "third", "outages"]),
        ],
    )
    async def test_meters_and_does_what_is_due_group_by_group_and_then_tells_of_outages(
        self,
        monkeypatch: pytest.MonkeyPatch,
        is_late: bool,
        hurrying: bool,
        metered_h: float,
        last_step: datetime | None,
        done: list[str],
    ) -> None:
        found: list[str] = []
        scenes: list[Any] = []

        def part(name: str) -> Any:
            async def act(scene: Any, *of: Any) -> None:
                found.append(name)
                scenes.append((scene, *of))

            return act

        first, second, third = part("first"), part("second"), part("third")
        step = NOON + QUARTER
        monkeypatch.setattr(
            main_loop, "TIMETABLE", {(14, 15): ((first,), (second, third)), (14, 0): ((part("other"),),)}
        )
        monkeypatch.setattr(main_loop, "CATCH_UP_ACTIONS", {first, third})
        monkeypatch.setattr(metering, "meter", part("meter"))
        monkeypatch.setattr(operator, "renew_tolls", part("tolls"))
        monkeypatch.setattr(owners, "announce_outages", part("outages"))
        world = world_of(last_step=last_step, metered_until=step - metered_h * timedelta(hours=1))
        await main_loop._do_step(
            world, asked_for(hurrying=hurrying, history_complete=not hurrying), step, is_late=is_late
        )
        assert found == done
        scene = scenes[0][0]
        assert (scene.step, scene.is_late, scene.is_past, scene.is_hurrying) == (step, is_late, hurrying, hurrying)
        more = {"tolls": (date(2026, 6, 17),), "meter": (step,)}
        assert scenes == [(scene, *more.get(name, ())) for name in done]
        assert world.memory.last_step == step


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

    def test_are_begun_where_time_does_not_hurry_and_follow_a_clock_that_can_be_watched(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = self.begin(monkeypatch)
        assert main_loop._begin_reports(world_of(), asked_for(hurrying=True), NOON) is None
        assert made == []
        for speed, follows in ((10.0, ["start"]), (10.1, [])):
            made.clear()
            later = NOON + timedelta(seconds=7)
            assert main_loop._begin_reports(world_of(), asked_for(speed=speed, now=later), NOON) is not None
            assert made == [(NOON, later, speed), *follows]

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

    async def test_asks_for_a_world_until_there_is_one_and_says_up_to_when_all_is_reported(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reported: list[Any] = []
        pauses: list[float] = []

        async def step(*, reported_until: Any) -> Any:
            reported.append(reported_until)
            if len(reported) == 1:
                raise refusal()
            return "step"

        async def sleep(pause_s: float) -> None:
            pauses.append(pause_s)

        replace_for(monkeypatch, main_loop, "asyncio", sleep=sleep)
        voice: Any = SimpleNamespace(client=SimpleNamespace(sandbox=SimpleNamespace(step=step)))
        found: Any = await main_loop._ask_step(voice)
        assert (found, pauses) == ("step", [0.2])
        await main_loop._ask_step(voice, asked_for(now=NOON + QUARTER))
        assert reported == [None, None, NOON + QUARTER]

    async def test_enters_a_world_that_it_remembers_or_makes_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Prices of two years before it are of its seed, too."""
        entered: list[Any] = []

        async def join(*of: Any) -> Any:
            entered.append(("join", of[-1].last_step))
            return "voices"

        async def seed(*of: Any) -> Any:
            entered.append(("seed", of[-2].world, of[-2].seeds, of[-1]))
            return "voices"

        monkeypatch.setattr(main_loop, "join_again", join)
        monkeypatch.setattr(main_loop, "seed_world", seed)
        nothing: Any = None
        remembered = {"world": 4, "seeds": {"2026-01-01": 8}, "last_step": "2026-06-17T12:00:00Z"}
        start = datetime(2026, 5, 17, 22, tzinfo=UTC)
        for memory in (remembered, {}):
            world: Any = await main_loop._enter_world(
                nothing, KEPT, nothing, asked_for(world=4, memory=memory, start=start)
            )
            assert (world.memory.world, world.start, world.voices) == (4, start, "voices")
            assert world.board.seed_of(date(2026, 6, 17)) == (8 if memory else 3)
        assert entered == [("join", NOON), ("seed", 4, {"2024-03-09": 3}, start)]

    async def test_signs_in_after_its_invitation_was_accepted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        done: list[Any] = []

        async def accept(_: Any, *of: Any) -> None:
            done.append(("accept", *of))

        async def sign_in() -> None:
            done.append("sign in")

        async def me() -> Any:
            return SimpleNamespace(organisation_id="operator")

        monkeypatch.setattr(main_loop, "accept_invitation", accept)
        client: Any = SimpleNamespace(sign_in=sign_in, auth=SimpleNamespace(me=me))
        name, password = (of(KEPT, "operator") for of in (member_name, member_password))
        voice = await main_loop._sign_in(client, KEPT)
        assert voice.organisation_id == "operator"
        assert done == [("accept", "invitation", name, password, "Simulator"), "sign in"]
        done.clear()
        await main_loop._sign_in(client, SimulatorCredentials("secret"))
        assert done == ["sign in"]

    @pytest.mark.parametrize(("apart_s", "attempts"), [(59.0, 2), (61.0, 5)])
    async def test_ends_where_its_members_are_refused_twice_within_a_minute(
        self, monkeypatch: pytest.MonkeyPatch, apart_s: float, attempts: int
    ) -> None:
        made: list[tuple[str, str]] = []

        @asynccontextmanager
        async def refuse(name: str, password: str) -> Any:
            made.append((name, password))
            if len(made) == 5:
                raise LoginRejectedError("enough")
            raise UnauthenticatedError(RawResponse(401, {}, b"{}"))
            yield

        async def sleep(_: float) -> None: ...

        loop = SimpleNamespace(time=lambda: 1000 + apart_s * len(made))
        replace_for(monkeypatch, main_loop, "asyncio", sleep=sleep, get_running_loop=lambda: loop)
        connect: Any = refuse
        with pytest.raises(LoginRejectedError):
            await run_forever(connect, KEPT)
        assert len(made) == attempts


class TestADay:
    async def test_begins_with_forgetting_and_with_outages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        done: list[Any] = []
        monkeypatch.setattr(owners, "draw_outages", lambda scene, day: done.append(day))
        memory = SimpleNamespace(forget_before=lambda *of: done.append(of))
        scene: Any = SimpleNamespace(memory=memory, today=date(2026, 6, 17), step=NOON)
        await timetable.begin_day(scene)
        assert done == [(date(2026, 6, 15), NOON), date(2026, 6, 17)]

    async def test_has_actions_about_other_days(self) -> None:
        done: list[Any] = []

        async def act(*of: Any) -> None:
            done.append(of)

        scene: Any = SimpleNamespace(today=date(2026, 6, 30))
        for days in (-1, 0, 1):
            await timetable._for_day(days, act, "more")(scene)
        assert done == [(scene, day, "more") for day in (date(2026, 6, 29), date(2026, 6, 30), date(2026, 7, 1))]


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

    def test_reaches_a_service_of_this_machine_over_connections_that_stay(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made: list[dict[str, Any]] = []
        monkeypatch.setattr(api_session, "AsyncClient", lambda url, **given: made.append({"url": url, **given}))
        for url in ("http://127.0.0.1:8123", "http://gridloom"):
            api_session.connect_to(url)("anna", "one")
        reached = [one["transport"] for one in made]
        assert all(isinstance(one, KeepAliveTransport) for one in reached)
        assert [(one._host, one._port) for one in reached] == [("127.0.0.1", 8123), ("gridloom", 80)]
        assert [(one["timeout_s"], one["retries"].attempts) for one in made] == [(60.0, 5)] * 2
        api_session.connect_to("https://gridloom")("anna", "one")
        assert made[2]["transport"] is None
