"""Plans for a day: feasible, balanced, and worth something."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridloom.sandbox.simulator.market.day_ahead import DayAhead
from gridloom.sandbox.simulator.participants.planning import Store, plan_day

pytestmark = pytest.mark.pure


def make_store(power_kw: float = 10_000, hours: float = 2, periods: int = 96, efficiency: float = 0.94) -> Store:
    flat = np.full(periods, power_kw)
    return Store(flat, flat, power_kw * hours, efficiency, efficiency)


def course_of(store: Store, power_kw: np.ndarray, start: float) -> np.ndarray:
    stored = np.maximum(-power_kw, 0) * store.charge_efficiency - np.maximum(power_kw, 0) / store.discharge_efficiency
    return start * store.energy_kwh + np.cumsum(stored) / 4


class TestAPlan:
    @settings(max_examples=30)
    @given(st.integers(1, 1000), st.sampled_from([1.0, 2.0, 4.0]), st.floats(0.85, 1.0))
    def test_stays_within_power_and_store_and_ends_where_it_should(self, seed: int, hours: float, efficiency: float):
        store = make_store(hours=hours, efficiency=efficiency)
        plan = plan_day(store, DayAhead(seed).quarter_hours(date(2026, 11, 12)))
        course = course_of(store, plan.power_kw, 0.5)
        assert (np.abs(plan.power_kw) <= store.charge_kw + 1e-6).all()
        assert course.min() >= 0
        assert course.max() <= store.energy_kwh
        assert course[-1] == pytest.approx(0.5 * store.energy_kwh, abs=0.1)
        assert plan.value_eur >= 0

    @pytest.mark.parametrize("periods", [92, 96, 100])
    def test_has_as_many_periods_as_the_day(self, periods: int):
        assert len(plan_day(make_store(periods=periods), np.full(periods, 80.0)).power_kw) == periods

    @pytest.mark.parametrize("start", [0.1, 0.9])
    def test_has_what_reserves_need_as_soon_as_it_can_from_wherever_it_begins(self, start: float):
        """After a day on which much was called; customers wait until then."""
        needed = np.full(96, 8_000.0)
        store = replace(make_store(), stored_kwh=needed, free_kwh=needed)
        plan = plan_day(store, DayAhead(1).quarter_hours(date(2026, 11, 12)), start=start, delivers=np.arange(96) < 8)
        course = course_of(store, plan.power_kw, start)
        assert (np.abs(plan.power_kw) <= store.charge_kw + 1e-6).all()
        assert ((course[8:] >= 8_000 - 0.1) & (course[8:] <= 12_000 + 0.1)).all()
        assert course[-1] == pytest.approx(0.5 * store.energy_kwh, abs=0.1)
