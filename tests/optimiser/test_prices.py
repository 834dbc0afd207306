"""Published prices of any length, on the grid of quarter-hours."""

from __future__ import annotations

import numpy as np
import pytest

from gridloom.optimiser.prices import spread_over_quarters

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
    @pytest.mark.parametrize("turn", [1, -1])
    def test_are_the_shorter_ones_where_two_hold_at_once(self, turn: int) -> None:
        assert spread(*[(0, 4, 5.0), (1, 2, 7.0)][::turn]) == [5.0, 7.0, 5.0, 5.0]
