"""The buckets of a report: their names, and what of them lies within the window."""

from __future__ import annotations

from datetime import date, datetime

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


class TestBuckets:
    def test_follow_the_wall_clock_on_days_that_lose_or_gain_an_hour(self) -> None:
        for day, lengths in ((SPRING, [3, 4, 4, 4, 4, 4]), (AUTUMN, [5, 4, 4, 4, 4, 4])):
            start, end = utc(day, 0), utc(day, 24)
            blocks = make_grid(start, end, BLOCK).buckets
            assert ((blocks.ends_s - blocks.starts_s) / 3600).tolist() == lengths
            assert len(make_grid(start, end, Resolution.HOUR).buckets) == sum(lengths)
            assert len(make_grid(start, end, Resolution.DAY).buckets) == 1
            assert make_grid(start, end, BLOCK).coverage is None, "nothing is cut"
