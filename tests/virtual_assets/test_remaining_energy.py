"""What remains of a battery in single periods, read from one book, against a book for each period."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.capacity.test_book import battery, periods_of, promise, standings

from gridloom.capacity.availability import ENERGY
from gridloom.capacity.model import OwnSchedule
from gridloom.capacity.rules import BatteryCapacity
from gridloom.virtual_assets.backing.availability import (
    mean_available_of,
    remaining_energy_at,
    remaining_fraction,
)

pytestmark = pytest.mark.pure


class TestRemainingEnergy:
    @given(standings(), st.data())
    def test_of_many_periods_is_that_of_each_alone(self, drawn, data):
        day, capacity = drawn
        first, end = periods_of(day)
        asked = data.draw(st.sets(st.integers(first - 20, end + 19), min_size=1, max_size=8))
        alone = {period: remaining_fraction(capacity, period, period + 1) for period in asked}
        expected = {period: 1.0 if rows is None else rows[ENERGY][0] for period, rows in alone.items()}
        assert remaining_energy_at(capacity, asked) == pytest.approx(expected, rel=1e-12)

    def test_is_what_the_battery_has_over_what_is_promised_of_it(self):
        """Bids that wait for their result count for nothing."""
        waiting = replace(promise(0, 20, 20_000, 40_000), is_firm=False)
        promises = [promise(0, 10, 5_000, 12_000), waiting, promise(5, 10, 5_000, 20_000)]
        capacity = BatteryCapacity(battery(), promises, OwnSchedule.nothing())
        assert remaining_energy_at(capacity, {4, 5, 12}) == {4: 1.0, 5: 20 / 32, 12: 1.0}
        assert remaining_fraction(capacity, 0, 5) is None
        short = BatteryCapacity(battery(8_000, 4_000, 16_000), promises, OwnSchedule.nothing())
        remaining = remaining_fraction(short, 5, 7)
        assert remaining is not None
        assert remaining.tolist() == [[0.8, 0.8], [0.4, 0.4], [0.5, 0.5]]


class TestMeanAvailability:
    def test_is_that_of_shares_that_miss_a_whole(self):
        """Of three quarters, of which a third lacks half of its energy."""
        held = [promise(0, 10, 5_000, 20_000)]
        capacities = {
            1: BatteryCapacity(battery(10_000, 10_000, 10_000), held, OwnSchedule.nothing()),
            2: BatteryCapacity(battery(), held, OwnSchedule.nothing()),
        }
        found = mean_available_of([(1, 0.25), (2, 0.5)], capacities, 0, 10, rated_kw=(1000.0, 1200.0))
        assert (found.power, found.energy) == pytest.approx((1.0, 5 / 6))

    @settings(max_examples=20)
    @given(standings(), st.sampled_from([(1000.0, 1200.0), (0.0, 1200.0), (1000.0, 0.0)]))
    def test_is_the_mean_of_what_remains_in_each_period(self, drawn, rated_kw):
        """A quarter is backed by a battery that keeps five eighths of its energy for half of the day."""
        day, capacity = drawn
        first, end = periods_of(day)
        promised = promise(first, (first + end) // 2, 5_000, 32_000)
        capacities = {1: capacity, 2: BatteryCapacity(battery(), [promised], OwnSchedule.nothing())}
        of_one, of_other = (remaining_fraction(capacities[key], first, end) for key in (1, 2))
        whole = np.ones((3, end - first))
        charge, discharge, energy = 0.75 * (whole if of_one is None else of_one) + 0.25 * (
            whole if of_other is None else of_other
        )
        power = {(1000.0, 1200.0): (charge + discharge) / 2, (0.0, 1200.0): discharge, (1000.0, 0.0): charge}[rated_kw]

        found = mean_available_of([(1, 0.75), (2, 0.25)], capacities, first, end, rated_kw=rated_kw)

        assert found.power == pytest.approx(power.mean())
        assert found.energy == pytest.approx(energy.mean())
        assert found.deliverable == pytest.approx(np.minimum(power, energy).mean())
