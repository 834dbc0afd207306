"""Plans for a day: feasible, balanced, and worth something."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridloom.sandbox.simulator.market.day_ahead import DayAhead
from gridloom.sandbox.simulator.participants.planning import Store, plan_day
from gridloom.sandbox.simulator.participants.strategies import PATIENT, STRATEGIES
from gridloom.sandbox.simulator.participants.traders import _whole_block, plan_holding

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


class TestATrader:
    def test_plans_a_day_by_the_prices_that_are_known_the_day_before(self) -> None:
        day, asked = date(2026, 6, 18), list[Any]()

        def expected(*known: Any) -> np.ndarray:
            asked.append(known)
            return np.repeat([20.0, 200.0], 48)

        def seed_of(known_on: date) -> int:
            asked.append(known_on)
            return 1

        board: Any = SimpleNamespace(expected=expected, seed_of=seed_of)
        holder = next(slug for slug, one in STRATEGIES.items() if one is PATIENT)
        powers = plan_holding(board, holder, "TenneT", day, make_store(), 0.5, 0.4)
        assert asked == [(day, day - timedelta(days=1), PATIENT.weights), day - timedelta(days=1)]
        assert sum(powers[:48]) < 0 < sum(powers[48:])
        assert 0 < sum(max(power, 0) for power in powers) / 4 <= 0.4 * 20_000, "the battery's own limit counts"

    def test_schedules_the_wholesale_block_that_covers_the_day(self) -> None:
        start = datetime(2026, 6, 17, 22, tzinfo=UTC)

        def block(market: str, first_h: float, last_h: float) -> dict[str, str]:
            first, last = (start + timedelta(hours=hours) for hours in (first_h, last_h))
            return {"market": market, "start": first.isoformat(), "end": last.isoformat()}

        other = [block("OTC", 0, 24), block("WHOLESALE", 0.25, 24), block("WHOLESALE", 0, 23.75)]
        end = start + timedelta(days=1)
        assert _whole_block(other, start, end) is None
        for whole in (block("WHOLESALE", 0, 24), block("WHOLESALE", -24, 48)):
            assert _whole_block([*other, whole], start, end) == whole
