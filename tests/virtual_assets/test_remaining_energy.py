"""What remains of a battery in single periods, read from one book, against a book for each period."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.capacity.test_book import battery, periods_of, promise, standings

from gridloom.capacity.availability import ENERGY
from gridloom.capacity.model import OwnSchedule
from gridloom.capacity.rules import BatteryCapacity
from gridloom.virtual_assets.backing.availability import remaining_energy_at, remaining_fraction

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
        promises = [promise(0, 10, 5_000, 12_000), promise(5, 10, 5_000, 20_000)]
        capacity = BatteryCapacity(battery(), promises, OwnSchedule.nothing())
        assert remaining_energy_at(capacity, {4, 5, 12}) == {4: 1.0, 5: 20 / 32, 12: 1.0}
