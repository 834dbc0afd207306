"""Series made of blocks and the segments laid over them, by points and by the summaries of whole days."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from msgspec import UNSET

from gridloom.kernel.market_time import Resolution
from gridloom.kernel.problem import BadRequest
from gridloom.market_calendar import market_date, market_day_number
from gridloom.monitoring import blocks, codec, segments
from gridloom.monitoring.compaction_rules import BUSY_POINTS, BUSY_SEGMENTS, Compact, Merge, plan
from gridloom.monitoring.ingest.ingest import _arrange_allowed, _number_names
from gridloom.monitoring.model import (
    DAY_US,
    EMPTY,
    HOUR_US,
    LATEST,
    MAX_SIGNALS,
    MINUTE_US,
    SUMMARY,
    Points,
    SignalSeries,
    day_start,
    microseconds,
)
from gridloom.monitoring.query import series as series_module
from gridloom.monitoring.query import summaries
from gridloom.monitoring.query.aggregation import Aggregation, Downsampling, Energy, Summary
from gridloom.monitoring.query.latest import latest_points
from gridloom.monitoring.query.series import (
    _day_batch_size,
    assemble,
    in_batches,
    next_day_with_points,
    read_in_steps,
)
from gridloom.monitoring.query.stream import PointsCursor, _pack_columns, read_cursor
from gridloom.monitoring.query.summaries import SignalSpan, _make_spans, _view_sum, aggregate_days
from gridloom.monitoring.segments import SegmentColumns
from gridloom.monitoring.store import bodies, heads
from gridloom.monitoring.store.bodies import BlockPart, StoredBlock, StoredBodies, StoredSegment
from gridloom.monitoring.store.heads import Head, HeadCache

pytestmark = pytest.mark.pure

DAYS = [date(2026, 3, day) for day in (28, 29, 30, 31)]
"""The second has 23 hours."""
NUMBERS = [market_day_number(day) for day in DAYS]
STARTS = [day_start(number) for number in NUMBERS]


def made_of(points: dict[int, float]) -> SignalSeries:
    return SignalSeries(np.array(list(points), np.int64), np.array(list(points.values())))


def stored_block(first: date, last: date, signals: dict[int, SignalSeries], wanted: Sequence[int]) -> StoredBlock:
    """As it is read from its row: of the wanted signals alone."""
    packed = blocks.encode(first, last, signals.items())
    indices = [packed.signal_ids.index(signal_id) for signal_id in wanted]
    width = SUMMARY.itemsize * ((last - first).days + 1)
    return StoredBlock(
        first,
        last,
        packed.signal_ids,
        indices,
        packed.times,
        [packed.body[packed.starts[index] : packed.starts[index + 1]] for index in indices],
        [packed.summaries[width * index : width * (index + 1)] for index in indices],
    )


def stored_segment(day: date, sequence: int, signals: dict[int, SignalSeries]) -> StoredSegment:
    columns = SegmentColumns(
        np.array(list(signals)),
        np.array([len(one) for one in signals.values()]),
        np.concatenate([one.times for one in signals.values()]),
        np.concatenate([one.values for one in signals.values()]),
    )
    return StoredSegment(day, sequence, segments.encode(columns))


def points_of(series: SignalSeries) -> dict[int, float]:
    return dict(zip(series.times.tolist(), series.values.tolist(), strict=True))


class TestABlock:
    def test_sums_each_day_up_and_gives_each_signal_back(self) -> None:
        """Of three days the second has no points of the first signal, and the second signal has points on it alone."""
        first = made_of({STARTS[0]: 5.0, STARTS[1] - 1: -2.0, STARTS[2]: 7.0, STARTS[2] + 9: 1.0, STARTS[3] - 1: 4.0})
        second = made_of({STARTS[1]: 1.5, STARTS[2] - 1: 2.5})
        third = SignalSeries(first.times, first.values * 10)
        packed = blocks.encode(DAYS[0], DAYS[2], [(3, first), (8, second), (9, third)])
        assert (packed.signal_ids, packed.points, packed.first_us) == (
            [3, 8, 9],
            [5, 2, 5],
            [STARTS[0], STARTS[1], STARTS[0]],
        )
        summaries = np.frombuffer(packed.summaries, SUMMARY).reshape(3, 3)
        assert [[tuple(day.item()) for day in signal] for signal in summaries] == [
            [(2, 5.0, -2.0, -2.0, 5.0, 3.0), (0, 0, 0, 0, 0, 0), (3, 7.0, 4.0, 1.0, 7.0, 12.0)],
            [(0, 0, 0, 0, 0, 0), (2, 1.5, 2.5, 1.5, 2.5, 4.0), (0, 0, 0, 0, 0, 0)],
            [(2, 50.0, -20.0, -20.0, 50.0, 30.0), (0, 0, 0, 0, 0, 0), (3, 70.0, 40.0, 10.0, 70.0, 120.0)],
        ]
        found = list(blocks.unpack(stored_block(DAYS[0], DAYS[2], {3: first, 8: second, 9: third}, [9, 8, 3])))
        assert [signal_id for signal_id, _, _ in found] == [9, 8, 3]
        for (_, times, values), expected in zip(found, (third, second, first), strict=True):
            assert times.tolist() == expected.times.tolist()
            decoded = codec.PackedValues(values, 0, len(expected)).decode()
            assert decoded.tolist() == expected.values.tolist()
        assert found[0][1] is found[2][1], "times that are shared"


class TestASeries:
    def bodies(self, wanted: Sequence[int]) -> StoredBodies:
        """Two blocks of a day, and over them segments in the order in which they came."""
        noon, step = STARTS[0] + 12 * HOUR_US, MINUTE_US
        early = {number: made_of({noon + n * step: 10.0 * number + n for n in range(4)}) for number in (1, 2, 3)}
        late = {1: made_of({STARTS[1] + n * step: 90.0 + n for n in range(3)})}
        return StoredBodies(
            segments=[
                stored_segment(
                    DAYS[0], 4, {1: made_of({noon + step: 70.0, noon + 9 * step: 71.0}), 3: made_of({noon: 7.0})}
                ),
                stored_segment(DAYS[0], 5, {1: made_of({noon + step: 80.0})}),
            ],
            blocks=[
                stored_block(DAYS[0], DAYS[0], early, wanted),
                stored_block(DAYS[1], DAYS[1], late, [one for one in wanted if one == 1]),
            ],
        )

    def test_has_of_each_time_what_came_last(self) -> None:
        noon, step = STARTS[0] + 12 * HOUR_US, MINUTE_US
        found = dict(assemble(self.bodies([1, 2]), STARTS[0], STARTS[2], [2, 1, 7]))
        assert list(found) == [2, 1, 7]
        assert points_of(found[2]) == {noon + n * step: 20.0 + n for n in range(4)}
        assert points_of(found[1]) == {
            noon: 10.0,
            noon + step: 80.0,
            noon + 2 * step: 12.0,
            noon + 3 * step: 13.0,
            noon + 9 * step: 71.0,
            **{STARTS[1] + n * step: 90.0 + n for n in range(3)},
        }
        assert len(found[7]) == 0
        everything = dict(assemble(self.bodies([1, 2, 3]), STARTS[0], STARTS[2]))
        assert list(everything) == [1, 2, 3]
        assert points_of(everything[3])[noon] == 7.0

    def test_begins_with_the_start_of_its_span_and_stops_before_the_end(self) -> None:
        noon, step = STARTS[0] + 12 * HOUR_US, MINUTE_US
        found = dict(assemble(self.bodies([1, 2]), noon + step, noon + 3 * step, [1, 2]))
        assert points_of(found[1]) == {noon + step: 80.0, noon + 2 * step: 12.0}
        assert points_of(found[2]) == {noon + step: 21.0, noon + 2 * step: 22.0}
        assert list(dict(assemble(self.bodies([1, 2]), noon + 9 * step, noon + 10 * step))) == [1]
        assert list(assemble(self.bodies([1, 2]), noon + 10 * step, STARTS[1])) == []

    def test_in_buckets_is_made_of_the_same_points(self) -> None:
        span = STARTS[0] + 12 * HOUR_US, STARTS[1] + HOUR_US
        way = Downsampling(Resolution.HOUR, Aggregation.SUM, *span)
        found = dict(assemble(self.bodies([1, 2]), *span, [1, 2, 7], way))
        assert points_of(found[1]) == {span[0]: 10.0 + 80 + 12 + 13 + 71, STARTS[1]: 273.0}
        assert points_of(found[2]) == {span[0]: 86.0}
        assert len(found[7]) == 0

    def test_of_many_signals_is_read_in_groups_that_fit_into_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(series_module, "MAX_GROUP_POINTS", 100)
        compacted = {1: 49, 2: 49, 3: 99, 4: 500, 5: 10}
        assert in_batches([1, 2, 3, 4, 5, 6], 0, compacted) == [[1, 2], [3], [4], [5, 6]]
        assert in_batches([1, 2, 3, 5], 100, compacted) == [[1, 2, 3], [5]], "twice what segments hold"
        assert in_batches([6, 5], 0, {}) == [[6, 5]]
        assert in_batches([], 0, {}) == []

    def test_that_is_long_is_read_by_as_many_days_as_fit_into_memory(self) -> None:
        assert [_day_batch_size(points) for points in (0, 1440, 2000, 86_400, 200_000, 200_001)] == [
            138,
            138,
            100,
            2,
            1,
            1,
        ]


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

    async def test_begins_with_as_many_days_as_fit_where_their_points_are_known(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for points, first in ((4 * 200_000, 1.0), (4 * 100_000, 2.0), (4 * 50_000, 4.0)):
            found, _ = await self.read(monkeypatch, 0.0, 4.0, points=points)
            assert found[0] == (0.0, first)
        assert (await self.read(monkeypatch, 4.0, 4.0))[0] == []

    async def test_looks_for_the_next_day_with_points_up_to_its_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[date] = []
        answers = [None, DAYS[2], DAYS[0]]

        async def next_day(_: Any, __: int, ___: int, day: date) -> date | None:
            asked.append(day)
            return answers[len(asked) - 1]

        monkeypatch.setattr(bodies, "next_day", next_day)
        database: Any = None
        for expected in (STARTS[3], STARTS[2], STARTS[0] + HOUR_US):
            found = await next_day_with_points(database, 5, 7, STARTS[0] + HOUR_US, STARTS[3])
            assert found == expected
        assert asked == [DAYS[0]] * 3
        assert await next_day_with_points(database, 5, 7, STARTS[3], STARTS[3]) == STARTS[3]
        assert len(asked) == 3, "nothing is left"


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

    async def test_are_read_by_points_where_the_window_cuts_them(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[Any] = []

        async def read_bodies(_: Any, key: int, ids: Any, first: date, last: date, part: Any, *, partial: Any) -> Any:
            asked.append((first, last, part, partial))
            return StoredBodies()

        monkeypatch.setattr(bodies, "read_bodies", read_bodies)
        database: Any = None
        for start_us, stop_us, first, last, partial in (
            (STARTS[0], STARTS[2], DAYS[0], DAYS[1], []),
            (STARTS[0] + 1, STARTS[2], DAYS[0], DAYS[1], [DAYS[0]]),
            (STARTS[0], STARTS[2] + 1, DAYS[0], DAYS[2], [DAYS[2]]),
            (STARTS[0] + 1, STARTS[2] - 1, DAYS[0], DAYS[1], [DAYS[0], DAYS[1]]),
            (STARTS[0] + 1, STARTS[0] + 2, DAYS[0], DAYS[0], [DAYS[0]]),
        ):
            found = await summaries._read_days(database, 5, [7], start_us, stop_us)
            assert asked.pop() == (first, last, BlockPart.SUMMARIES, partial)
            assert (list(found), len(found[7].days), len(found[7].series)) == ([7], 0, 0)


class TestTheSpanOfASignal:
    def test_has_summaries_of_whole_days_and_points_of_those_that_are_cut_or_changed(self) -> None:
        hour = {day: made_of({STARTS[day]: 1.0 + day, STARTS[day] + HOUR_US: 3.0 + day}) for day in range(4)}
        joined = SignalSeries(
            *(np.concatenate([getattr(hour[day], part) for day in range(4)]) for part in ("times", "values"))
        )
        other = made_of({STARTS[1] + 5: 40.0})
        found = StoredBodies(
            segments=[stored_segment(DAYS[2], 9, {1: made_of({STARTS[2] + 7: 50.0})})],
            blocks=[stored_block(DAYS[0], DAYS[3], {1: joined, 2: other}, [1, 2])],
        )
        spans = _make_spans(found, [1, 2], range(NUMBERS[1], NUMBERS[3]), {NUMBERS[2]})
        assert spans[1].days.tolist() == [NUMBERS[1]]
        assert spans[1].summaries["total"].tolist() == [2.0 + 4.0]
        assert points_of(spans[1].series) == {STARTS[2]: 3.0, STARTS[2] + 7: 50.0, STARTS[2] + HOUR_US: 5.0}
        assert (spans[2].days.tolist(), len(spans[2].series)) == ([NUMBERS[1]], 0)
        wide = _make_spans(found, [1, 2], range(NUMBERS[0] - 1, NUMBERS[3] + 2), {NUMBERS[2]})
        assert wide[1].days.tolist() == [NUMBERS[0], NUMBERS[1], NUMBERS[3]]
        assert wide[1].summaries["last"].tolist() == [3.0, 4.0, 6.0]

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

    def test_has_an_average_that_rounding_does_not_carry_out_of_its_points(self) -> None:
        summaries = np.zeros(2, SUMMARY)
        summaries["points"], summaries["total"] = 3, [0.1 + 0.1 + 0.1, -(0.1 + 0.1 + 0.1)]
        summaries["lowest"] = summaries["highest"] = [0.1, -0.1]
        found = aggregate_days(SignalSpan(np.array(NUMBERS[:2]), summaries, EMPTY), Aggregation.AVG, 0, 1)
        assert found.values.tolist() == [0.1, -0.1]

    def test_of_a_power_says_what_was_charged_and_discharged(self) -> None:
        summary, moved = Summary(4, 10.0, -1.0, 6.0), Energy(300.0, 500.0)
        power = _view_sum("active_power", summary, moved, 1000.0)
        assert (power.unit, power.count, power.sum, power.min, power.max, power.mean) == ("kW", 4, 10.0, -1.0, 6.0, 2.5)
        assert (power.energy_charged, power.energy_discharged, power.energy_net, power.cycles) == (
            300.0,
            500.0,
            200.0,
            0.5,
        )
        assert _view_sum("active_power", summary, moved, 0.0).cycles is UNSET
        charge = _view_sum("state_of_charge", None, moved, 1000.0)
        assert (charge.unit, charge.count, charge.sum, charge.min, charge.max, charge.mean) == (
            "%",
            0,
            None,
            None,
            None,
            None,
        )
        assert (charge.energy_charged, charge.cycles) == (UNSET, UNSET)
        huge = _view_sum("temperature", Summary(2, float("inf"), 1e308, 1.5e308), moved, 0.0)
        assert (huge.sum, huge.mean, huge.max) == (None, None, 1.5e308)


class TestSegments:
    def test_have_the_last_of_equal_points_in_the_order_of_signals_and_times(self) -> None:
        """Sent by time, by signal, or in no order at all."""
        ids = np.array([7, 3])
        for codes, times, values in (
            ([0, 1, 0, 1], [1, 1, 2, 2], [10.0, 30.0, 11.0, 31.0]),
            ([1, 1, 0, 0], [1, 2, 1, 2], [30.0, 31.0, 10.0, 11.0]),
            ([0, 1, 0, 1, 0, 1], [2, 2, 1, 1, 2, 1], [9.0, 31.0, 10.0, 9.0, 11.0, 30.0]),
        ):
            points = Points(("b", "a"), np.array(codes), np.array(times), np.array(values))
            found = segments.sort_and_deduplicate(points, ids)
            assert (found.signal_ids.tolist(), found.counts.tolist()) == ([3, 7], [2, 2])
            assert (found.times.tolist(), found.values.tolist()) == ([1, 2, 1, 2], [30.0, 31.0, 10.0, 11.0])
            assert len(found) == 4

    def test_are_cut_by_market_days_and_joined_again(self) -> None:
        times = [STARTS[1] - 1, STARTS[1], STARTS[2] - 1, STARTS[2]]
        whole = SegmentColumns(
            np.array([2, 5]),
            np.array([4, 2]),
            np.array([*times, *times[1:3]]),
            np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        )
        parts = list(segments.by_day(whole))
        assert [day for day, _ in parts] == NUMBERS[:3]
        assert [(part.signal_ids.tolist(), part.counts.tolist(), part.values.tolist()) for _, part in parts] == [
            ([2], [1], [1.0]),
            ([2, 5], [2, 2], [2.0, 3.0, 5.0, 6.0]),
            ([2], [1], [4.0]),
        ]
        joined = segments.join(part for _, part in parts)
        for name in ("signal_ids", "counts", "times", "values"):
            assert getattr(joined, name).tolist() == getattr(whole, name).tolist()
        [(day, alone)] = segments.by_day(parts[1][1])
        assert (day, alone.values.tolist()) == (NUMBERS[1], [2.0, 3.0, 5.0, 6.0])
        corrected = segments.join(
            [parts[1][1], SegmentColumns(np.array([5]), np.array([1]), np.array(times[1:2]), np.array([9.0]))]
        )
        assert corrected.values.tolist() == [2.0, 3.0, 9.0, 6.0], "the later wins"

    def test_tell_their_signals_counts_and_times_without_their_values(self) -> None:
        own = {2: made_of({1: 1.0, 5: 2.0}), 6: made_of({3: 3.0})}
        shared = {2: made_of({1: 1.0, 5: 2.0}), 6: made_of({1: 3.0, 5: 4.0}), 9: made_of({1: 5.0, 5: 6.0})}
        for signals, points in ((own, 3), (shared, 6)):
            body = stored_segment(DAYS[0], 1, signals).body
            assert segments.signal_ids(body) == list(signals)
            assert segments.point_count(body) == points
            assert {one: times.tolist() for one, times in segments.decode_times(body)} == {
                one: series.times.tolist() for one, series in signals.items()
            }
            decoded = dict(segments.decode(body).series())
            assert {one: points_of(series) for one, series in decoded.items()} == {
                one: points_of(series) for one, series in signals.items()
            }
        bodies = [stored_segment(DAYS[0], 1, signals).body for signals in (own, shared)]
        assert segments.first_times(bodies, {2: 0, 6: 9, 7: 4}) == {2: 0, 6: 1, 7: 4, 9: 1}

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


class TestTheLatestPoints:
    def test_are_those_of_the_wanted_signals_that_have_any(self) -> None:
        at = microseconds(datetime(2026, 3, 28, 1, 2, 3, tzinfo=UTC))
        latest = np.array([(at, 1.0), (at + 1_000_000, 2.0)], LATEST).tobytes()
        names = {0: "active_power", 1: "frequency", 2: "cycles"}
        power = {"time": "2026-03-28T01:02:03Z", "value": 1.0}
        frequency = {"time": "2026-03-28T01:02:04Z", "value": 2.0}
        assert json.loads(latest_points(latest, names, None)) == {"active_power": power, "frequency": frequency}
        assert json.loads(latest_points(latest, names, {"frequency", "cycles"})) == {"frequency": frequency}


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
