"""Published prices of any length, on the grid of quarter-hours."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest
from tests.optimiser.synthetic_prices import shaped_table

from gridloom.kernel.market_time import market_day_window
from gridloom.optimiser.prices import _build_table, spread_over_quarters

pytestmark = pytest.mark.pure

FIRST = 100


def spread(*prices: tuple[int, int, float]) -> list[float | None]:
    """Of prices that hold for quarter-hours from one to another, those of the four quarter-hours of an hour."""
    starts, ends, values = zip(*prices, strict=True)
    found = spread_over_quarters(
        [900 * (FIRST + start) for start in starts], [900 * (FIRST + end) for end in ends], values, FIRST, FIRST + 4
    )
    return [None if np.isnan(value) else float(value) for value in found]


class TestPrices:
    def test_hold_for_each_of_their_quarter_hours(self) -> None:
        assert spread((0, 2, 5.0), (3, 4, 7.0)) == [5.0, 5.0, None, 7.0]
        assert spread((-2, 1, 5.0), (3, 9, 7.0)) == [5.0, None, None, 7.0], "also where they reach in from outside"

    @pytest.mark.parametrize("turn", [1, -1])
    def test_are_the_shorter_ones_where_two_hold_at_once(self, turn: int) -> None:
        assert spread(*[(0, 4, 5.0), (1, 2, 7.0)][::turn]) == [5.0, 7.0, 5.0, 5.0]


class TestATable:
    def test_has_the_last_whole_days_without_a_gap(self) -> None:
        """Of the six days before the seventh, one lacks a quarter-hour and the last one has but an hour; a day of 23
        hours is among them."""
        days = [date(2026, 3, 26) + timedelta(days=n) for n in range(6)]
        starts_s, ends_s, prices = [], [], []
        for number, day in enumerate(days):
            window = market_day_window(day)
            first_s, end_s = int(window.start.timestamp()), int(window.end.timestamp())
            for start_s in range(first_s, first_s + 3600 if number == 5 else end_s, 900):
                if (number, start_s) != (1, first_s + 9000):
                    starts_s.append(start_s)
                    ends_s.append(start_s + 900)
                    prices.append(float(number))
        table = _build_table((starts_s, ends_s, prices), days[-1] + timedelta(days=1), 6)
        assert (table.first, table.end) == (days[2], days[5])
        assert table.quarters.mean(axis=1).tolist() == [2.0, 3.0, 4.0]

    def test_until_a_day_before_its_first_has_none(self) -> None:
        table = shaped_table(date(2026, 1, 1), 5)
        assert [len(table.until(table.first + timedelta(days=n))) for n in (-2, 0, 3, 9)] == [0, 0, 3, 5]
