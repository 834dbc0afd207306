"""The most that a battery is rated for within a window, which bounds what can be missing of it."""

from __future__ import annotations

import pytest

from gridloom.capacity.availability import Rating, maximum_rating
from gridloom.kernel.market_time import period_start
from gridloom.kernel.window import Window

pytestmark = pytest.mark.pure

RATINGS = [
    Rating(period_start(first), charge_kw, charge_kw + 1, 2 * charge_kw)
    for first, charge_kw in ((100, 10_000), (110, 15_000), (120, 5_000))
]


class TestTheGreatestRating:
    @pytest.mark.parametrize(
        ("first", "end", "charge_kw"),
        [
            (90, 100, 0),
            (90, 101, 10_000),
            (100, 110, 10_000),
            (100, 111, 15_000),
            (119, 130, 15_000),
            (120, 130, 5_000),
        ],
    )
    def test_is_that_of_any_instant_of_the_window(self, first: int, end: int, charge_kw: float) -> None:
        window = Window(period_start(first), period_start(end))
        most = (charge_kw, charge_kw + 1, 2 * charge_kw) if charge_kw else (0, 0, 0)
        assert maximum_rating(RATINGS, window) == most

    def test_is_the_most_of_each_of_its_figures_whichever_rating_has_it(self) -> None:
        unlike = [
            Rating(period_start(first), *figures)
            for first, figures in ((100, (9.0, 2.0, 3.0)), (110, (1.0, 8.0, 4.0)), (120, (2.0, 3.0, 7.0)))
        ]
        assert maximum_rating(unlike, Window(period_start(100), period_start(130))) == (9, 8, 7)
