"""Series made of blocks and the segments laid over them, by points and by the summaries of whole days."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from gridloom.kernel.problem import BadRequest
from gridloom.market_calendar import market_date, market_day_number
from gridloom.monitoring import segments
from gridloom.monitoring.compaction_rules import BUSY_POINTS, BUSY_SEGMENTS, Compact, Merge, plan
from gridloom.monitoring.ingest.ingest import _arrange_allowed, _number_names
from gridloom.monitoring.model import (
    DAY_US,
    EMPTY,
    HOUR_US,
    MAX_SIGNALS,
    SUMMARY,
    Points,
    SignalSeries,
    day_start,
    microseconds,
)
from gridloom.monitoring.query import series as series_module
from gridloom.monitoring.query import summaries
from gridloom.monitoring.query.aggregation import Aggregation
from gridloom.monitoring.query.series import (
    read_in_steps,
)
from gridloom.monitoring.query.stream import PointsCursor, _pack_columns, read_cursor
from gridloom.monitoring.query.summaries import SignalSpan, aggregate_days
from gridloom.monitoring.segments import SegmentColumns
from gridloom.monitoring.store import bodies, heads
from gridloom.monitoring.store.bodies import StoredSegment
from gridloom.monitoring.store.heads import Head, HeadCache

pytestmark = pytest.mark.pure

DAYS = [date(2026, 3, day) for day in (28, 29, 30, 31)]
"""The second has 23 hours."""
NUMBERS = [market_day_number(day) for day in DAYS]
STARTS = [day_start(number) for number in NUMBERS]


def made_of(points: dict[int, float]) -> SignalSeries:
    return SignalSeries(np.array(list(points), np.int64), np.array(list(points.values())))


def stored_segment(day: date, sequence: int, signals: dict[int, SignalSeries]) -> StoredSegment:
    columns = SegmentColumns(
        np.array(list(signals)),
        np.array([len(one) for one in signals.values()]),
        np.concatenate([one.times for one in signals.values()]),
        np.concatenate([one.values for one in signals.values()]),
    )
    return StoredSegment(day, sequence, segments.encode(columns))


class TestALongRead:
    """A hundred points a day, but for twenty days without any."""

    async def read(
        self, monkeypatch: pytest.MonkeyPatch, start: float, end: float, **options: Any
    ) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        """The spans that are given, and those that are read for them, in days after the first."""

        def in_days(*times_us: int) -> tuple[float, ...]:
            return tuple((time_us - first_us) / DAY_US for time_us in times_us)

        first_us, read = day_start(NUMBERS[0] - 100), []

        async def read_points(_: Any, key: int, ids: Sequence[int], start_us: int, end_us: int) -> Any:
            assert (key, ids) == (5, (7,))
            read.append(in_days(start_us, end_us))
            times = np.arange(start_us - start_us % (DAY_US // 100), end_us, DAY_US // 100)
            times = times[(times >= start_us) & ((times < first_us + 30 * DAY_US) | (times >= first_us + 50 * DAY_US))]
            return {7: SignalSeries(times, np.zeros(len(times)))}

        async def next_day(_: Any, key: int, signal_id: int, day: date) -> date | None:
            assert (key, signal_id) == (5, 7)
            number = market_day_number(day)
            return day if number >= NUMBERS[0] - 50 else market_date(NUMBERS[0] - 50)

        monkeypatch.setattr(series_module, "read", read_points)
        monkeypatch.setattr(bodies, "next_day", next_day)
        found: list[Any] = []
        database: Any = None
        span = first_us + int(start * DAY_US), first_us + int(end * DAY_US)
        steps = read_in_steps(database, 5, 7, *span, **options)
        async for start_us, stop_us, _ in steps:
            found.append(in_days(start_us, stop_us))
        return found, read  # type: ignore[return-value]

    async def test_goes_on_by_whole_days_in_growing_steps_and_over_days_without_points(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found, read = await self.read(monkeypatch, 0.5, 95.0)
        assert found == [(0.5, 7.0), (7.0, 35.0), (35.0, 95.0)]
        assert read == found
        monkeypatch.setattr(series_module, "_MAX_DAY_BATCH_SIZE", 8)
        found, read = await self.read(monkeypatch, 0.5, 60.25, before_us=DAY_US // 4)
        assert found == [(0.5, 7.0), (7.0, 15.0), (15.0, 23.0), (23.0, 31.0), (31.0, 39.0), (50.0, 58.0), (58.0, 60.25)]
        assert read == [(start - 0.25, stop) for start, stop in found]


class TestDaysThatAreRead:
    async def test_are_a_window_of_so_many_for_some_signals_at_a_time_or_for_one_where_they_are_many(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(summaries, "_DAY_BATCH_SIZE", 2)
        monkeypatch.setattr(summaries, "SIGNAL_BATCH_SIZE", 2)
        nothing = SignalSpan(np.empty(0, np.int64), np.empty(0, SUMMARY), EMPTY)

        async def read_days(_: Any, __: int, ids: Sequence[int], start_us: int, stop_us: int) -> Any:
            read.append((list(ids), start_us, stop_us))
            return dict.fromkeys(ids, nothing if is_empty else nothing._replace(days=np.array([1])))

        async def next_day(_: Any, __: int, ___: int, from_us: int, end_us: int) -> int:
            return end_us

        monkeypatch.setattr(summaries, "_read_days", read_days)
        monkeypatch.setattr(summaries, "next_day_with_points", next_day)
        read: list[Any] = []
        is_empty, database = False, Any
        start_us = STARTS[0] + HOUR_US

        async def spans(ids: Sequence[int], end_us: int) -> list[tuple[int, int, int]]:
            read.clear()
            return [
                (one, first_us, stop_us)
                async for one, _, first_us, stop_us in summaries.read_spans(database, 5, ids, start_us, end_us)  # type: ignore[arg-type]
            ]

        assert await spans([1, 2, 3], STARTS[2]) == [(one, start_us, STARTS[2]) for one in (1, 2, 3)]
        assert [ids for ids, _, _ in read] == [[1, 2], [3]]
        long = [(start_us, STARTS[2]), (STARTS[2], STARTS[2] + 1)]
        assert await spans([1, 2], STARTS[2] + 1) == [(one, *window) for one in (1, 2) for window in long]
        assert [ids for ids, _, _ in read] == [[1], [1], [2], [2]]
        is_empty = True
        assert await spans([1], STARTS[2] + 1) == [(1, *long[0])], "the rest has no points"
        assert await spans([1], start_us) == []


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


class TestSegments:
    def test_are_columns_of_the_wanted_signals_in_a_stream(self) -> None:
        at = microseconds(datetime(2026, 3, 28, 1, 2, 3, 4000, tzinfo=UTC))
        segment = stored_segment(DAYS[0], 1, {2: made_of({at: 1.5, at + 1000: 2.0}), 6: made_of({at: 3.0})})
        names = {2: "active_power", 6: "frequency"}
        columns = {"time": ["2026-03-28T01:02:03.004Z", "2026-03-28T01:02:03.005Z"], "value": [1.5, 2.0]}
        only = _pack_columns(segment, names, frozenset({"active_power", "cycles"}))
        assert only is not None
        assert json.loads(only) == {"active_power": columns}
        both = _pack_columns(segment, names, None)
        assert both is not None
        assert list(json.loads(both)) == ["active_power", "frequency"]
        assert _pack_columns(segment, names, frozenset({"cycles"})) is None


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


class TestTheNamesOfABatch:
    def test_get_the_next_numbers_as_long_as_there_are_any(self) -> None:
        """Of four names one has no point, and needs no number."""
        batch = Points(
            ("c", "a", "x", "b"), np.array([3, 0, 1, 0]), np.array([1, 1, 1, 2]), np.array([4.0, 1.0, 2.0, 3.0])
        )
        ids, new = _number_names(batch, {"a": 0})
        assert (ids.tolist(), new) == ([1, 0, -1, 2], {"c": 1, "b": 2})
        known = {"a": 0, "b": 1, "c": 2, "x": 3}
        assert _number_names(batch, known)[0].tolist() == [2, 0, 3, 1]
        full = {"a": 0, **{f"s{number}": number for number in range(1, MAX_SIGNALS - 1)}}
        ids, new = _number_names(batch, full)
        assert (ids.tolist(), new) == ([MAX_SIGNALS - 1, 0, -1, -1], {"c": MAX_SIGNALS - 1})
        columns, refused = _arrange_allowed(batch, ids)
        assert (columns.signal_ids.tolist(), columns.counts.tolist()) == ([0, MAX_SIGNALS - 1], [1, 2])
        assert (columns.values.tolist(), refused) == ([2.0, 1.0, 3.0], 1)
        nothing, all_refused = _arrange_allowed(batch, np.full(4, -1))
        assert (len(nothing), all_refused) == (0, 4)


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
