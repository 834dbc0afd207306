"""The buckets of a report: their names, and what of them lies within the window."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import numpy as np
import pytest
from tests.revenue.reference import utc

from gridloom.kernel.market_time import Resolution
from gridloom.revenue.grid import BLOCK, Grid, days_of, grid_of
from gridloom.revenue.model import SecondsSpan

pytestmark = pytest.mark.pure

SPRING, AUTUMN = date(2026, 3, 29), date(2026, 10, 25)


def make_grid(start: datetime, end: datetime, resolution: Resolution | str) -> Grid:
    span = SecondsSpan(start.timestamp(), end.timestamp())
    return grid_of(days_of(span), resolution, span)


def hours_since(start: datetime, seconds: np.ndarray) -> list[float]:
    hours: list[float] = ((seconds - start.timestamp()) / 3600).tolist()
    return hours


class TestBuckets:
    @pytest.mark.parametrize(
        ("resolution", "hours"), [(BLOCK, 4.0), (Resolution.HOUR, 1.0), (Resolution.QUARTER_HOUR, 0.25)]
    )
    def test_are_those_between_the_edges_of_a_window_that_cuts_none(
        self, resolution: Resolution | str, hours: float
    ) -> None:
        start, end = utc(SPRING, 8), utc(SPRING, 16)
        grid = make_grid(start, end, resolution)
        edges = np.arange(0, 8 + hours, hours).tolist()
        assert hours_since(start, grid.buckets.labels_s) == edges[:-1]
        assert hours_since(start, grid.buckets.starts_s) == edges[:-1]
        assert hours_since(start, grid.buckets.ends_s) == edges[1:]
        assert grid.bucket_sums(np.ones((1, 92))).tolist() == [[4 * hours] * len(edges[1:])]

    def test_at_the_edges_have_the_part_that_lies_within_the_window_and_their_own_name(self) -> None:
        day, quarter = utc(SPRING, 8), timedelta(minutes=15)
        start, end = day + quarter / 3, day + 6 * quarter
        grid = make_grid(start, end, Resolution.HOUR)
        assert hours_since(day, grid.buckets.labels_s) == [0, 1]
        assert hours_since(day, grid.buckets.starts_s) == pytest.approx([1 / 12, 1])
        assert hours_since(day, grid.buckets.ends_s) == [1, 1.5]
        assert grid.bucket_sums(np.ones((1, 92))) == pytest.approx(np.array([[3 + 2 / 3, 2]]))

    def test_follow_the_wall_clock_on_days_that_lose_or_gain_an_hour(self) -> None:
        for day, lengths in ((SPRING, [3, 4, 4, 4, 4, 4]), (AUTUMN, [5, 4, 4, 4, 4, 4])):
            start, end = utc(day, 0), utc(day, 24)
            blocks = make_grid(start, end, BLOCK).buckets
            assert ((blocks.ends_s - blocks.starts_s) / 3600).tolist() == lengths
            assert len(make_grid(start, end, Resolution.HOUR).buckets) == sum(lengths)
            assert len(make_grid(start, end, Resolution.DAY).buckets) == 1
            assert make_grid(start, end, BLOCK).coverage is None, "nothing is cut"


class TestDays:
    def test_are_those_of_which_the_window_holds_some_part(self) -> None:
        start, end = utc(SPRING, 0), utc(AUTUMN, 0)
        day, moment = 1, timedelta(milliseconds=1)

        def count(low: datetime, high: datetime) -> int:
            return len(days_of(SecondsSpan(low.timestamp(), high.timestamp())))

        whole = (AUTUMN - SPRING).days
        assert count(start, end) == whole
        assert count(start - moment, end) == count(start, end + moment) == whole + day
        assert count(start + moment, end - moment) == whole
