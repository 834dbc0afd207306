"""Batteries keep the books of their energy, whatever they are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.sandbox.simulator.batteries import physics
from gridloom.sandbox.simulator.batteries.physics import AMBIENT_C, COOLING_H, HEATING_C, BatteryArray, State

pytestmark = pytest.mark.pure

CELLS = BatteryArray(
    charge_kw=np.array([1000.0, 2000.0]),
    discharge_kw=np.array([1000.0, 1500.0]),
    capacity_kwh=np.array([2000.0, 4000.0]),
    charge_efficiency=np.array([0.95, 0.9]),
    discharge_efficiency=np.array([0.95, 0.92]),
)
MINUTES = 60
asked = st.lists(st.floats(-3000, 3000), min_size=2 * 4, max_size=2 * 4).map(
    lambda powers: np.repeat(np.array(powers).reshape(2, 4), 15, axis=1)
)


def new_state(cells: BatteryArray, charge: float = 0.5) -> State:
    count = len(cells.capacity_kwh)
    return State(charge * cells.capacity_kwh, np.full(count, AMBIENT_C), np.zeros(count), np.full(count, 100.0))


class TestABattery:
    @given(asked, st.floats(0, 1))
    def test_loses_no_energy_but_what_it_says(self, powers: np.ndarray, charge: float):
        before = new_state(CELLS, charge)
        after, course = physics.run(CELLS, before, powers, np.ones((2, MINUTES)))
        stored = np.maximum(-course.power_kw, 0) * CELLS.charge_efficiency[:, None]
        taken = np.maximum(course.power_kw, 0) / CELLS.discharge_efficiency[:, None]
        expected = before.energy_kwh + (stored - taken).sum(axis=1) / 60 - course.lost_kwh
        assert after.energy_kwh == pytest.approx(expected, abs=1e-6)
        assert (course.energy_kwh >= 0).all()
        assert (course.energy_kwh <= CELLS.capacity_kwh[:, None] + 1e-9).all()

    @given(asked)
    def test_follows_what_it_is_asked_unless_it_trips(self, powers: np.ndarray):
        _, course = physics.run(CELLS, new_state(CELLS), powers, np.ones((2, MINUTES)))
        possible = np.clip(powers, -CELLS.charge_kw[:, None], CELLS.discharge_kw[:, None])
        assert course.power_kw[~course.tripped] == pytest.approx(possible[~course.tripped])

    @given(asked)
    def test_is_the_same_in_one_step_or_in_four(self, powers: np.ndarray):
        whole, _ = physics.run(CELLS, new_state(CELLS), powers, np.ones((2, MINUTES)))
        state = new_state(CELLS)
        for quarter in range(4):
            part = powers[:, quarter * 15 : quarter * 15 + 15]
            state, _ = physics.run(CELLS, state, part, np.ones((2, 15)))
        assert state.energy_kwh == pytest.approx(whole.energy_kwh, abs=1e-6)
        assert state.temperature_c == pytest.approx(whole.temperature_c, abs=1e-6)
        assert state.health_percent == pytest.approx(whole.health_percent, abs=1e-9)


class TestABatteryThatIsFullOrEmpty:
    def test_does_what_it_can_and_stands_at_its_bound(self) -> None:
        """Ten kWh cannot be discharged at 600 kW for a minute, nor five more be stored; the rest is as it was asked."""
        cells = BatteryArray(*(np.array([value] * 2) for value in (1000.0, 1000.0, 100.0, 0.8, 0.5)))
        before = State(np.array([10.0, 95.0]), np.full(2, AMBIENT_C), np.array([3.0, 4.0]), np.full(2, 90.0))
        asked = np.array([[600.0, -600.0, 300.0], [-600.0, 600.0, 0.0]])
        after, course = physics.run(cells, before, asked, np.ones((2, 3)))
        rest = physics.REST_LOSS_A_DAY * 100 / 1440
        power = np.array([[300 - 30 * rest, -600.0, 240 - 30 * rest], [-375 - 75 * rest, 600.0, 0.0]])
        assert course.power_kw == pytest.approx(power)
        assert course.tripped.tolist() == [[True, False, True], [True, False, False]]
        assert course.energy_kwh == pytest.approx(np.array([[0, 8, 0], [100, 80 - rest, 80 - 2 * rest]]), abs=1e-9)
        assert course.lost_kwh == pytest.approx([2 * rest, 3 * rest])
        assert after.energy_kwh == pytest.approx(course.energy_kwh[:, -1])
        discharged = np.array([power[0, 0] + power[0, 2], power[1, 1]]) / 60
        assert after.cycles == pytest.approx(np.array([3.0, 4.0]) + discharged / 100)
        aged = physics.CYCLE_AGEING_PERCENT * discharged / 100 + physics.CALENDAR_AGEING_PERCENT_H / 20
        assert after.health_percent == pytest.approx(90 - aged)
        warmed = (1 - np.exp(-1 / 60 / COOLING_H)) * HEATING_C * (power[:, 0] / 1000) ** 2
        assert course.temperature_c[:, 0] == pytest.approx(AMBIENT_C + warmed)
