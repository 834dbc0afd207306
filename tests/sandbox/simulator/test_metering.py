"""What is available of a simulated battery, and what is asked of it, minute by minute."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.sandbox.simulator.recorded import Session, refusal
from tests.stand_ins import replace_for

from gridloom.kernel.balancing import Direction
from gridloom.kernel.market_time import PERIOD
from gridloom.sandbox.simulator.batteries import metering, minute_reports
from gridloom.sandbox.simulator.batteries.metering import (
    CELLS,
    Metered,
    Orders,
    _find_available,
    _write_arrow,
    meter,
    read_orders,
    run_orders,
)
from gridloom.sandbox.simulator.batteries.minute_reports import MinuteReports
from gridloom.sandbox.simulator.batteries.physics import State
from gridloom.sandbox.simulator.scenario import BATTERIES
from gridloom.sandbox.simulator.state import SimulatedOutage, SimulatorState

pytestmark = pytest.mark.pure

START = datetime(2026, 3, 2, 12, tzinfo=UTC)


def outage(first: int, last: int, missing: float) -> SimulatedOutage:
    start, end = (START + timedelta(minutes=minute) for minute in (first, last))
    return SimulatedOutage(BATTERIES[1].slug, start, end, missing, planned=True)


class TestABatteryWithOutages:
    def test_loses_to_each_of_them_and_never_more_than_all(self) -> None:
        memory = SimulatorState(world=1, seeds={}, outages=[outage(-5, 3, 0.5), outage(2, 9, 0.3), outage(4, 6, 0.9)])
        available = _find_available(memory, START, 8)
        assert available[1].tolist() == pytest.approx([0.5, 0.5, 0.2, 0.7, 0.0, 0.0, 0.7, 0.7])
        assert (available[0] == 1).all()


def scene_of(frequency_hz: float, called: dict[Direction, float]) -> Any:
    """Batteries of 1 MWh each, at a frequency and a share of aFRR that is called."""

    def activation(day: date, direction: Direction) -> np.ndarray:
        return np.full(96, called.get(direction, 0.0))

    count = len(BATTERIES)
    memory = SimulatorState(
        world=1,
        seeds={},
        energy_kwh=[1000.0] * count,
        temperature_c=[25.0] * count,
        cycles=[0.0] * count,
        health_percent=[100.0] * count,
        owed_kwh=[0.0] * count,
    )
    board = SimpleNamespace(
        frequency_hz=lambda day: np.full(1440, frequency_hz), activation=activation, seed_of=lambda day: 1
    )
    return SimpleNamespace(memory=memory, board=board)


class TestABatteryThatHoldsReserve:
    @pytest.mark.parametrize(
        ("frequency_hz", "called", "power_kw"),
        [
            pytest.param(50.0, {}, 0.0, id="stands still while nothing is called"),
            pytest.param(50.0, {Direction.POS: 0.5}, 100.0, id="exports as much of aFRR as is called upwards"),
            pytest.param(50.0, {Direction.NEG: 0.5}, -150.0, id="imports as much of it as is called downwards"),
            pytest.param(49.8, {}, 400.0, id="exports all its FCR at a low frequency"),
            pytest.param(50.2, {}, -400.0, id="imports all of it at a high one"),
        ],
    )
    def test_answers_with_the_power_that_is_called(
        self, frequency_hz: float, called: dict[Direction, float], power_kw: float
    ) -> None:
        """400 kW of FCR, 200 kW of aFRR upwards and 300 kW downwards, for a quarter-hour."""
        nothing = np.zeros((len(BATTERIES), 1))
        afrr_kw = {Direction.POS: nothing + 200.0, Direction.NEG: nothing + 300.0}
        orders = Orders(START, nothing, nothing + 400.0, afrr_kw, np.full(len(BATTERIES), np.nan))
        metered = run_orders(scene_of(frequency_hz, called), orders)
        assert metered.signals["reserve_power"] == pytest.approx(np.full((len(BATTERIES), 15), power_kw))


class TestOrders:
    async def test_stay_the_same_when_what_comes_after_them_is_planned_anew(self) -> None:
        """Minutes of a quarter-hour are reported as they pass and all together at its end, with the same values."""

        def dispatch(later_percentage: float) -> list[dict[str, Any]]:
            shown = ((START, 40.0, -200.0), (START + PERIOD, later_percentage, 300.0))
            return [
                {"time": time.isoformat(), "power": power_kw, "parts": [], "stateOfChargePercentage": percentage}
                for time, percentage, power_kw in shown
            ]

        async def read(later_percentage: float) -> Orders:
            async def get(target: str) -> dict[str, Any]:
                return {"dispatch": dispatch(later_percentage)}

            memory = SimpleNamespace(batteries={battery.slug: battery.slug for battery in BATTERIES})
            scene: Any = SimpleNamespace(memory=memory, operator=SimpleNamespace(get=get))
            return await read_orders(scene, START, START + 2 * PERIOD)

        for orders in (await read(39.0), await read(41.0)):
            assert orders.planned_kwh == pytest.approx(0.4 * CELLS.capacity_kwh)
            assert (orders.power_kw == [-200.0, 300.0]).all()

    async def test_add_up_the_parts_of_each_kind_by_battery_and_quarter_hour(self) -> None:
        """Calls of reserve are held whichever way they go; a battery whose dispatch is refused does nothing."""
        first, second, refused = (battery.slug for battery in BATTERIES[:3])

        def parts(*of: tuple[str, float]) -> list[dict[str, Any]]:
            return [{"kind": kind, "power": power_kw} for kind, power_kw in of]

        def answer(target: str, _: Any) -> Any:
            slug = target.split("/")[2].removeprefix("id-")
            if slug == refused:
                raise refusal()
            points = [
                (0, 100.0, 50.0, parts(("FCR", 20.0), ("FCR", 30.0), ("WHOLESALE", 7.0))),
                (2, -80.0, 60.0, parts(("AFRR_POS", 5.0), ("AFRR_POS", 1.0), ("AFRR_NEG", -9.0), ("AFRR_NEG", 2.0))),
            ]
            known = {first: points[:1], second: points[1:]}.get(slug, [])
            dispatch = [
                {
                    "time": (START + number * PERIOD).isoformat(),
                    "power": power_kw,
                    "stateOfChargePercentage": percentage,
                    "parts": of_point,
                }
                for number, power_kw, percentage, of_point in known
            ]
            return {"dispatch": dispatch}

        operator = Session(answer)
        batteries = {battery.slug: f"id-{battery.slug}" for battery in BATTERIES}
        scene: Any = SimpleNamespace(memory=SimpleNamespace(batteries=batteries), operator=operator)
        orders = await read_orders(scene, START, START + 3 * PERIOD)
        nothing = np.zeros((len(BATTERIES), 3))
        power, fcr, up, down = (nothing.copy() for _ in range(4))
        power[0, 0], power[1, 2], fcr[0, 0], up[1, 2], down[1, 2] = 100.0, -80.0, 50.0, 6.0, 11.0
        assert orders.start == START
        assert orders.periods == 3
        assert (orders.power_kw == power).all()
        assert (orders.fcr_kw == fcr).all()
        assert (orders.afrr_kw[Direction.POS] == up).all()
        assert (orders.afrr_kw[Direction.NEG] == down).all()
        assert orders.planned_kwh[0] == 0.5 * BATTERIES[0].energy_kwh
        assert np.isnan(orders.planned_kwh[1:]).all()
        window = "start=2026-03-02T12:00:00Z&end=2026-03-02T12:45:00Z"
        assert operator.got == [f"/physical-assets/id-{one.slug}/dispatch?{window}" for one in BATTERIES]

    async def test_are_followed_by_half_a_day_at_a_time_and_all_of_it_is_reported(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read: list[Any] = []
        sent: list[Any] = []
        count, hours = len(BATTERIES), timedelta(hours=1)

        async def read_orders(_: Any, start: datetime, end: datetime) -> tuple[datetime, datetime]:
            read.append(((start - START) / hours, (end - START) / hours))
            return start, end

        def run_orders(_: Any, orders: tuple[datetime, datetime]) -> Any:
            end_h = (orders[1] - START) / hours
            state = State(*(np.full(count, value + end_h) for value in (100.0, 20.0, 1.0, 60.0)))
            minutes = (orders[1] - orders[0]) // metering.MINUTE
            signals = {"frequency": np.zeros((count, minutes))}
            return SimpleNamespace(state=state, owed_kwh=np.full(count, 7 + end_h), signals=signals)

        async def send(_: Any, metered: Any, first: int, last: int) -> None:
            sent.append((first, last))

        for name, stand_in in (("read_orders", read_orders), ("run_orders", run_orders), ("send", send)):
            monkeypatch.setattr(metering, name, stand_in)
        memory = SimulatorState(world=1, seeds={}, metered_until=START)
        scene: Any = SimpleNamespace(memory=memory)
        await meter(scene, START + 30 * hours)
        assert read == [(0, 12), (12, 24), (24, 30)]
        assert sent == [(0, 720), (0, 720), (0, 360)]
        assert memory.metered_until == START + 30 * hours
        kept = (memory.energy_kwh, memory.temperature_c, memory.cycles, memory.health_percent, memory.owed_kwh)
        assert kept == tuple([value] * count for value in (130.0, 50.0, 31.0, 90.0, 37.0))
        await meter(scene, START + 30 * hours)
        assert len(read) == 3, "nothing is metered twice"


class TestAReport:
    def test_names_battery_and_minute_of_each_value(self) -> None:
        count = len(BATTERIES)
        values = 100.0 * np.arange(count)[:, None] + np.arange(15)
        state = State(*[np.zeros(count)] * 4)
        nothing: Any = None
        metered = Metered(START, {"active_power": values, "cycles": -values}, state, np.zeros(count), nothing)
        memory = SimulatorState(world=1, seeds={}, batteries={one.slug: f"id-{one.slug}" for one in BATTERIES})
        table = pa.ipc.open_stream(_write_arrow(memory, metered, 3, 5)).read_all()
        assert table.to_pylist() == [
            {
                "physicalAssetID": f"id-{battery.slug}",
                "time": START + timedelta(minutes=minute),
                "active_power": 100.0 * row + minute,
                "cycles": -100.0 * row - minute,
            }
            for row, battery in enumerate(BATTERIES)
            for minute in (3, 4)
        ]

    @pytest.mark.parametrize(("speed", "apart_s"), [(1.0, 60), (0.1, 600)])
    async def test_of_a_minute_comes_when_the_clock_has_passed_it(
        self, monkeypatch: pytest.MonkeyPatch, speed: float, apart_s: float
    ) -> None:
        pauses: list[float] = []
        sent: list[tuple[int, int]] = []

        async def sleep(pause_s: float) -> None:
            pauses.append(pause_s)

        async def read(*_: Any) -> None: ...

        async def send(_scene: Any, _metered: Any, first: int, last: int) -> None:
            sent.append((first, last))

        replace_for(monkeypatch, minute_reports, "asyncio", sleep=sleep)
        for name, stand_in in (("read_orders", read), ("run_orders", lambda *_: "metered"), ("send", send)):
            monkeypatch.setattr(metering, name, stand_in)
        scene: Any = SimpleNamespace(step=START)
        reports = MinuteReports(scene, START + timedelta(seconds=90), speed)
        await reports._follow_clock()
        assert sent == [(minute, minute + 1) for minute in range(15)]
        assert pauses[:2] == [0, 0], "the clock has passed them"
        assert pauses[2:] == pytest.approx([apart_s * (minute - 1.5) for minute in range(2, 15)], abs=apart_s / 3)

    async def test_comes_no_more_once_the_next_step_has_begun(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def sleep(_: float) -> None:
            await asyncio.Event().wait()

        replace_for(monkeypatch, minute_reports, "asyncio", sleep=sleep)
        scene: Any = SimpleNamespace(step=START)
        reports = MinuteReports(scene, START, 1.0)
        reports.stop()  # it was not following
        reports.start()
        task = reports._task
        assert task is not None
        await asyncio.sleep(0)
        reports.stop()
        await asyncio.wait([task], timeout=20)
        assert task.cancelled()
