"""Buckets by the column say what a loop over the points would say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gridloom.kernel.market_time import Resolution, market_day_of, market_day_window, period_count
from gridloom.market_calendar import market_date, market_day_number
from gridloom.monitoring.codec import PackedValues, encode_values, list_times
from gridloom.monitoring.model import (
    HOUR_US,
    MINUTE_US,
    SUMMARY,
    SignalSeries,
    day_numbers,
    day_start,
    day_starts,
    instant_of,
    microseconds,
)
from gridloom.monitoring.query.aggregation import (
    Aggregation,
    Downsampling,
    Summary,
    aggregate,
    carry_forward,
    energy,
)
from gridloom.monitoring.query.summaries import SignalSpan, summarise_span

pytestmark = pytest.mark.pure

START = microseconds(datetime(2026, 3, 28, 23, tzinfo=UTC))
END = START + 23 * HOUR_US

MINUTES = {Resolution.MINUTE: 1, Resolution.QUARTER_HOUR: 15, Resolution.HOUR: 60}
SERIES = st.dictionaries(
    st.integers(0, 23 * 60 * 4), st.integers(-1000, 1000).map(lambda number: number / 8), max_size=80
)


def series(points: dict[int, float], unit_us: int = 15_000_000) -> SignalSeries:
    ordered = sorted(points)
    times = np.array([START + unit * unit_us for unit in ordered], dtype=np.int64)
    return SignalSeries(times, np.array([points[unit] for unit in ordered], dtype=np.float64))


class TestMarketDays:
    @given(st.datetimes(datetime(2000, 1, 1), datetime(2099, 12, 31), timezones=st.just(UTC)))  # noqa: DTZ001
    def test_are_those_of_the_kernel(self, instant: datetime) -> None:
        times = np.array([microseconds(instant)], dtype=np.int64)
        day = int(day_numbers(times)[0])
        assert market_date(day) == market_day_of(instant)
        assert instant_of(day_start(day)) == market_day_window(market_date(day)).start

    @pytest.mark.parametrize("day", [date(2026, 3, 29), date(2026, 10, 25), date(2026, 7, 1)])
    def test_last_23_24_or_25_hours(self, day: date) -> None:
        starts = day_starts(np.array([market_day_number(day), market_day_number(day) + 1], dtype=np.int64))
        assert (starts[1] - starts[0]) // (15 * MINUTE_US) == period_count(day)


class TestABucket:
    @given(SERIES, st.sampled_from(list(MINUTES)), st.sampled_from(list(Aggregation)[:7]))
    def test_says_what_a_loop_says(
        self, points: dict[int, float], resolution: Resolution, aggregation: Aggregation
    ) -> None:
        found = aggregate(series(points), resolution, aggregation, START, END)
        buckets: dict[int, list[float]] = defaultdict(list)
        for unit in sorted(points):
            time = START + unit * 15_000_000
            if time < END:
                buckets[time // (MINUTES[resolution] * MINUTE_US)].append(points[unit])
        sayings: dict[Aggregation, Callable[[list[float]], float]] = {
            Aggregation.AVG: lambda values: sum(values) / len(values),
            Aggregation.MIN: min,
            Aggregation.MAX: max,
            Aggregation.FIRST: lambda values: values[0],
            Aggregation.LAST: lambda values: values[-1],
            Aggregation.SUM: sum,
            Aggregation.COUNT: len,
        }
        say = sayings[aggregation]
        assert found.times.tolist() == [number * MINUTES[resolution] * MINUTE_US for number in buckets]
        assert found.values.tolist() == pytest.approx([say(values) for values in buckets.values()])

    def test_of_huge_values_has_an_average_among_them(self) -> None:
        found = aggregate(series({0: 1.7e308, 1: 1.7e308}), Resolution.HOUR, Aggregation.AVG, START, END)
        assert found.values.tolist() == [1.7e308]

    def test_has_an_average_that_rounding_does_not_carry_out_of_its_points(self) -> None:
        """Three tenths of a kind add up to more than thrice a tenth; so do values whose last digits differ."""
        alike, nearly = [0.1] * 3, [0.53097067465677, *[0.5309706746567803] * 39]
        points = dict(enumerate(alike)) | {240 + number: value for number, value in enumerate(nearly)}
        found = aggregate(series(points), Resolution.HOUR, Aggregation.AVG, START, END)
        assert found.values[0] == 0.1
        assert min(nearly) <= found.values[1] <= max(nearly)


class TestBucketsOfTimesThatKeepAStep:
    @example(60, 0, 1, 15, Resolution.QUARTER_HOUR, Aggregation.AVG)  # as many as a bucket has, one step late
    @given(
        st.sampled_from([7, 10, 60, 300, 900, 1800]),
        st.integers(0, 1000),
        st.integers(0, 400),
        st.integers(1, 400),
        st.sampled_from(list(MINUTES)),
        st.sampled_from([Aggregation.AVG, Aggregation.SUM, Aggregation.MAX]),
    )
    def test_are_those_of_their_points_and_need_none_where_all_are_complete(
        self, step_s: int, offset_s: int, first: int, count: int, resolution: Resolution, aggregation: Aggregation
    ) -> None:
        step_us, width_us = step_s * 1_000_000, MINUTES[resolution] * MINUTE_US
        grid = range(START + offset_s * 1_000_000, START + offset_s * 1_000_000 + 800 * step_us, step_us)
        values = np.round(1000 * np.sin(np.arange(800)), 1)
        inside = grid[first : first + count]
        span = inside[0], inside[-1] + 1
        part = inside, PackedValues(encode_values(values), first, first + count)
        found = Downsampling(resolution, aggregation, *span).apply_packed([part])
        points = SignalSeries(list_times(inside), values[first : first + count])
        expected = aggregate(points, resolution, aggregation, *span)
        is_complete = width_us % step_us == 0 and grid[first] % width_us < step_us <= width_us
        is_complete = is_complete and count % (width_us // step_us) == 0 and aggregation is not Aggregation.MAX
        assert (found is not None) == is_complete
        if found is not None:
            assert found.times.tolist() == expected.times.tolist()
            assert found.values == pytest.approx(expected.values, rel=1e-12, abs=1e-9)

    @pytest.mark.parametrize("aggregation", [Aggregation.AVG, Aggregation.SUM])
    def test_of_several_parts_follow_each_other_and_are_counted_by_points_where_two_share_one(
        self, aggregation: Aggregation
    ) -> None:
        values = np.arange(120.0) ** 2
        grids = [range(START + first * MINUTE_US, START + (first + 60) * MINUTE_US, MINUTE_US) for first in (0, 75)]
        packed = [PackedValues(encode_values(values), first, first + 60) for first in (0, 60)]
        span = START, START + 3 * HOUR_US
        asked = Downsampling(Resolution.QUARTER_HOUR, aggregation, *span)
        found = asked.apply_packed(list(zip(grids, packed, strict=True)))
        points = SignalSeries(np.concatenate([list_times(grid) for grid in grids]), values)
        expected = aggregate(points, Resolution.QUARTER_HOUR, aggregation, *span)
        assert found is not None
        assert found.times.tolist() == expected.times.tolist()
        assert found.values == pytest.approx(expected.values, rel=1e-12)
        assert asked.apply_packed([(grids[0], packed[0]), (grids[0], packed[1])]) is None
        assert asked.apply_packed([(grids[0], values[:60])]) is None, "not packed"


class TestATimeWeightedAverage:
    def test_weighs_each_value_by_how_long_it_held(self) -> None:
        found = aggregate(
            series({0: 10.0, 40: 40.0}), Resolution.QUARTER_HOUR, Aggregation.TIME_WEIGHTED_AVG, START, END
        )
        assert found.values.tolist() == pytest.approx([(10.0 * 10 + 40.0 * 5) / 15, 40.0])

    def test_carries_a_value_into_the_span_but_not_over_a_silence(self) -> None:
        points = SignalSeries(np.array([START - 5 * MINUTE_US], dtype=np.int64), np.array([7.0]))
        found = aggregate(points, Resolution.MINUTE, Aggregation.TIME_WEIGHTED_AVG, START, END)
        assert found.times.tolist() == [START + minute * MINUTE_US for minute in range(10)]
        assert set(found.values.tolist()) == {7.0}

    def test_is_of_no_value_that_held_for_no_time(self) -> None:
        """One that is 15 minutes old when the span begins, and one that comes when it ends."""
        points = series({-60: 3.0, 28: 5.0})
        found = aggregate(points, Resolution.QUARTER_HOUR, Aggregation.TIME_WEIGHTED_AVG, START, START + 7 * MINUTE_US)
        assert (found.times.tolist(), found.values.tolist()) == ([], [])

    @given(SERIES, st.sampled_from([*MINUTES, Resolution.DAY]))
    def test_adds_up_to_the_integral(self, points: dict[int, float], resolution: Resolution) -> None:
        held = carry_forward(series(points), START, END)
        whole = float(np.sum(held.values * (held.ends - held.starts)))
        width = MINUTE_US
        by_minute = aggregate(series(points), Resolution.MINUTE, Aggregation.TIME_WEIGHTED_AVG, START, END)
        covered = np.zeros(len(by_minute))
        for start, end in zip(held.starts.tolist(), held.ends.tolist(), strict=True):
            covered += np.clip(np.minimum(by_minute.times + width, end) - np.maximum(by_minute.times, start), 0, None)
        assert float(np.sum(by_minute.values * covered)) == pytest.approx(whole, abs=1e-3)
        found = aggregate(series(points), resolution, Aggregation.TIME_WEIGHTED_AVG, START, END)
        assert (np.diff(found.times) > 0).all()


class TestEnergy:
    def test_counts_discharging_as_positive_power(self) -> None:
        power_kw = series({minute: 600.0 if minute < 30 else -300.0 for minute in range(60)}, MINUTE_US)
        moved = energy(power_kw, START, START + HOUR_US)
        assert (moved.discharged_kwh, moved.charged_kwh, moved.net_kwh) == pytest.approx((300.0, 150.0, 150.0))

    def test_does_not_fill_a_silence(self) -> None:
        assert energy(series({0: 1000.0}), START, END).discharged_kwh == pytest.approx(250.0)

    def test_is_the_same_however_the_span_is_cut(self) -> None:
        power_kw = series({minute: float(minute % 7 - 3) for minute in range(600)}, MINUTE_US)
        middle = START + 217 * 1_000_000
        parts = energy(power_kw, START, middle) + energy(power_kw, middle, END)
        whole = energy(power_kw, START, END)
        assert (parts.charged_kwh, parts.discharged_kwh) == pytest.approx((whole.charged_kwh, whole.discharged_kwh))


class TestASpan:
    def test_of_whole_days_and_of_points_has_the_least_the_most_and_the_sum_of_both(self) -> None:
        days = np.zeros(2, SUMMARY)
        days["points"], days["total"] = [3, 2], [60.0, -10.0]
        days["lowest"], days["highest"] = [10.0, -7.0], [30.0, -3.0]
        points = SignalSeries(np.array([5, 6]), np.array([40.0, 2.0]))
        none = SignalSeries(np.array([], np.int64), np.array([]))
        for series, expected in ((none, Summary(5, 50.0, -7.0, 30.0)), (points, Summary(7, 92.0, -7.0, 40.0))):
            assert summarise_span(SignalSpan(np.array([1, 2]), days, series), 0, 10) == expected
