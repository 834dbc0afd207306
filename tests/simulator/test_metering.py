"""What is available of a simulated battery, and what is asked of it, minute by minute."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gridloom.kernel.balancing import Direction
from gridloom.simulator.batteries.metering import CELLS, Orders, _find_available, _plan_upkeep, _stored_kwh, run_orders
from gridloom.simulator.scenario import BATTERIES
from gridloom.simulator.state import SimulatedOutage, SimulatorState

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


class TestABatteryThatIsUsed:
    @pytest.mark.parametrize("power_kw", [600.0, -600.0])
    def test_draws_more_than_it_exports_and_stores_less_than_it_imports(self, power_kw: float) -> None:
        """For an hour, half of which it stands still."""
        power = np.zeros((len(BATTERIES), 60))
        power[:, 30:] = power_kw
        efficiency = np.array([battery.efficiency for battery in BATTERIES])
        stored_kwh = -300 / efficiency if power_kw > 0 else 300 * efficiency
        assert _stored_kwh(power) == pytest.approx(stored_kwh)


class TestABatteryThatIsOff:
    @pytest.mark.parametrize("part", [0.0022, -0.0022], ids=["by what it lacks", "by what it has too much"])
    def test_comes_back_to_its_plan_in_an_idle_quarter_hour(self, part: float) -> None:
        nothing = np.zeros((len(BATTERIES), 1))
        orders = Orders(START, nothing, nothing, {}, np.full(len(BATTERIES), np.nan))
        upkeep_kw = _plan_upkeep(part * CELLS.capacity_kwh, orders)
        assert _stored_kwh(np.repeat(upkeep_kw, 15, axis=1)) == pytest.approx(part * CELLS.capacity_kwh)


NO_AFRR = {direction: np.zeros((len(BATTERIES), 1)) for direction in Direction}


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

    @pytest.mark.parametrize("power_kw", [300.0, -300.0])
    def test_owes_what_it_holds_less_in_the_end_than_was_planned(self, power_kw: float) -> None:
        """It lacks a part of its plan from the beginning and gives reserve; in the second quarter-hour it is idle."""
        scene = scene_of(49.9, {})
        power = np.zeros((len(BATTERIES), 2))
        power[:, 0] = power_kw
        planned_kwh = (
            np.array(scene.memory.energy_kwh) + _stored_kwh(np.repeat(power, 15, axis=1)) + 0.003 * CELLS.capacity_kwh
        )
        metered = run_orders(scene, Orders(START, power, np.full_like(power, 40.0), NO_AFRR, planned_kwh))
        assert metered.owed_kwh == pytest.approx(planned_kwh - metered.state.energy_kwh)
        assert (metered.signals["upkeep_power"][:, :15] == 0).all()
        assert (metered.signals["upkeep_power"][:, 15:] < 0).all(), "it charges what it lacks"

    def test_owes_what_it_owed_and_gave_where_no_plan_is_known(self) -> None:
        scene, power = scene_of(49.9, {}), np.full((len(BATTERIES), 1), 100.0)
        scene.memory.owed_kwh = [7.0] * len(BATTERIES)
        unknown = np.full(len(BATTERIES), np.nan)
        metered = run_orders(scene, Orders(START, power, np.full_like(power, 40.0), NO_AFRR, unknown))
        scheduled_kwh = np.array(scene.memory.energy_kwh) + _stored_kwh(np.repeat(power, 15, axis=1))
        assert metered.owed_kwh == pytest.approx(7.0 + scheduled_kwh - metered.state.energy_kwh)
