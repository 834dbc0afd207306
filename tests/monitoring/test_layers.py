"""Series made of blocks and the segments laid over them, by points and by the summaries of whole days."""

from __future__ import annotations

from datetime import date
from uuid import UUID

import numpy as np
import pytest

from gridloom.kernel.problem import BadRequest
from gridloom.market_calendar import market_day_number
from gridloom.monitoring.compaction_rules import BUSY_POINTS, BUSY_SEGMENTS, Compact, Merge, plan
from gridloom.monitoring.model import (
    EMPTY,
    SUMMARY,
    SignalSeries,
    day_start,
)
from gridloom.monitoring.query.aggregation import Aggregation
from gridloom.monitoring.query.stream import PointsCursor, read_cursor
from gridloom.monitoring.query.summaries import SignalSpan, aggregate_days
from gridloom.monitoring.store import heads
from gridloom.monitoring.store.heads import Head, HeadCache

pytestmark = pytest.mark.pure

DAYS = [date(2026, 3, day) for day in (28, 29, 30, 31)]
"""The second has 23 hours."""
NUMBERS = [market_day_number(day) for day in DAYS]
STARTS = [day_start(number) for number in NUMBERS]


def made_of(points: dict[int, float]) -> SignalSeries:
    return SignalSeries(np.array(list(points), np.int64), np.array(list(points.values())))


class TestTheSpanOfASignal:
    def test_by_days_says_the_same_by_summaries_as_by_points(self) -> None:
        """The first and the third day by their summaries, the second by its points."""
        summaries = np.zeros(2, SUMMARY)
        for name, values in (
            ("points", [4, 2]),
            ("first", [1.0, 10.0]),
            ("last", [2.0, 20.0]),
            ("lowest", [-1.0, 10.0]),
            ("highest", [6.0, 20.0]),
            ("total", [10.0, 30.0]),
        ):
            summaries[name] = values
        span = SignalSpan(np.array([NUMBERS[0], NUMBERS[2]]), summaries, made_of({STARTS[1]: 7.0, STARTS[1] + 1: 9.0}))
        for aggregation, expected in (
            (Aggregation.AVG, [2.5, 8.0, 15.0]),
            (Aggregation.MIN, [-1.0, 7.0, 10.0]),
            (Aggregation.MAX, [6.0, 9.0, 20.0]),
            (Aggregation.FIRST, [1.0, 7.0, 10.0]),
            (Aggregation.LAST, [2.0, 9.0, 20.0]),
            (Aggregation.SUM, [10.0, 16.0, 30.0]),
            (Aggregation.COUNT, [4.0, 2.0, 2.0]),
        ):
            found = aggregate_days(span, aggregation, STARTS[0], STARTS[3])
            assert (found.times.tolist(), found.values.tolist()) == (STARTS[:3], expected), aggregation
            whole = aggregate_days(span._replace(series=EMPTY), aggregation, STARTS[0], STARTS[3])
            assert whole.values.tolist() == [expected[0], expected[2]]


class TestTheHeadsThatAreKept:
    def head(self, asset_key: int, sequence: int, latest: int = 1, born: int = 1) -> Head:
        return Head(asset_key, UUID(int=born), sequence, 1, b"x" * latest, None)

    def test_are_those_of_assets_that_this_process_has_written_twice_in_a_row(self) -> None:
        cache = HeadCache()
        cache.put(self.head(1, 4))
        assert cache.find(1) is None
        cache.put(self.head(1, 5))
        assert cache.find(1) == self.head(1, 5)
        cache.put(self.head(1, 7))
        assert cache.find(1) is None, "another has written the one between"
        cache.put(self.head(1, 8, born=2))
        assert cache.find(1) is None, "a telemetry that began anew"
        cache.put(self.head(1, 9, born=2))
        assert cache.find(1) is not None
        assert cache.find(2) is None
        cache.drop(1)
        assert cache.find(1) is None

    def test_are_small_and_no_more_than_so_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cache = HeadCache()
        for size, is_kept in ((heads.MAX_CACHED_LATEST, True), (heads.MAX_CACHED_LATEST + 1, False)):
            for sequence in (1, 2):
                cache.put(self.head(1, sequence, size))
            assert (cache.find(1) is not None) is is_kept
        monkeypatch.setattr(heads, "MAX_CACHED_ASSETS", 2)
        for asset_key in (1, 2, 3):
            for sequence in (1, 2):
                cache.put(self.head(asset_key, sequence))
        assert [cache.find(asset_key) is not None for asset_key in (1, 2, 3)] == [False, False, True]


class TestACursor:
    def test_is_read_as_it_was_written(self) -> None:
        for cursor in (PointsCursor(0, DAYS[0]), PointsCursor(10**18 - 1)):
            assert read_cursor(str(cursor)) == cursor
        assert PointsCursor(3, DAYS[1]) < PointsCursor(3, DAYS[2]) < PointsCursor(3) < PointsCursor(4, DAYS[0])
        for text in ("", "7", "7-2026-02-30", "-7-2026-03-28", f"{10**18}-2026-03-28", "7-2026-03-28 "):
            with pytest.raises(BadRequest) as refusal:
                read_cursor(text)
            assert refusal.value.errors[0].pointer == "header:Last-Event-ID"


class TestThePlan:
    def test_waits_below_each_of_its_limits_and_acts_at_it(self) -> None:
        few, many = [1] * (BUSY_SEGMENTS - 1), [1] * BUSY_SEGMENTS
        assert plan(range(len(few)), few, is_closed=False) is None
        assert plan(range(len(many)), many, is_closed=False) == Merge(0, BUSY_SEGMENTS - 1)
        assert plan([1, 2], [BUSY_POINTS - 2, 1], is_closed=False) is None
        assert plan([1, 2], [BUSY_POINTS - 1, 1], is_closed=False) == Compact(2)
        large = [1000] * (BUSY_SEGMENTS - 3)
        for small, expected in (
            ([900, 9, 9], Merge(BUSY_SEGMENTS - 2, BUSY_SEGMENTS - 1)),
            ([900, 9, 8], Compact(BUSY_SEGMENTS - 1)),
            ([18, 9, 9], Merge(BUSY_SEGMENTS - 3, BUSY_SEGMENTS - 1)),
        ):
            assert plan(range(BUSY_SEGMENTS), [*large, *small], is_closed=False) == expected
