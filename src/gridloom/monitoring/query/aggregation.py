"""Series cut into buckets, and what flowed: whole columns at a time, gaps left as gaps.

A bucket without points has no value. Where a value is taken to hold until the next one comes (time-weighted averages,
energy), it holds for 15 minutes at most: a silence is a silence, not a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gridloom.kernel.market_time import Resolution
from gridloom.monitoring import model
from gridloom.monitoring.codec import PackedValues, TimeGrid, Times, Values
from gridloom.monitoring.model import EMPTY, HOUR_US, MINUTE_US, SignalSeries

Indices = NDArray[np.intp]

_ROUNDING = 2 * np.finfo(np.float64).eps


class Aggregation(StrEnum):
    """The aggregate of a bucket's points."""

    AVG = "avg"
    MIN = "min"
    MAX = "max"
    FIRST = "first"
    LAST = "last"
    SUM = "sum"
    COUNT = "count"
    TIME_WEIGHTED_AVG = "time-weighted-avg"


@dataclass(frozen=True, slots=True)
class TimeBuckets:
    """A way to number the spans of time, and where each begins. Numbers follow each other without a gap."""

    number: Callable[[Times], NDArray[np.int64]]
    start: Callable[[NDArray[np.int64]], Times]
    width_us: int = 0
    """0 where it differs."""


def _make_fixed_buckets(width_us: int) -> TimeBuckets:
    return TimeBuckets(lambda times: times // width_us, lambda numbers: numbers * width_us, width_us)


BUCKETS: Final[dict[Resolution, TimeBuckets]] = {
    Resolution.MINUTE: _make_fixed_buckets(MINUTE_US),
    Resolution.QUARTER_HOUR: _make_fixed_buckets(15 * MINUTE_US),
    # The market's clock is whole hours from UTC, so its hours are UTC's.
    Resolution.HOUR: _make_fixed_buckets(HOUR_US),
    Resolution.DAY: TimeBuckets(model.day_numbers, model.day_starts),
}


def aggregate(
    series: SignalSeries, resolution: Resolution, aggregation: Aggregation, start_us: int, end_us: int
) -> SignalSeries:
    """The series in buckets, each named by its start. Points before `start_us` only hold on into the span.

    The first and the last bucket see only their part of [start, end).
    """
    if aggregation is not Aggregation.TIME_WEIGHTED_AVG:
        series = series.between(start_us, end_us)
    return Downsampling(resolution, aggregation, start_us, end_us).apply(series)


class Downsampling:
    """Aggregates one series after another; what depends on times alone is found once for those with the same array."""

    def __init__(self, resolution: Resolution, aggregation: Aggregation, start_us: int, end_us: int) -> None:
        self._buckets = None if resolution is Resolution.RAW else BUCKETS[resolution]
        self._aggregation = aggregation
        self._span = (start_us, end_us)
        self._edges: dict[int, tuple[TimeGrid, Indices, Times, int]] = {}

    def apply(self, series: SignalSeries) -> SignalSeries:
        """Of the points in [start, end); those that hold on into it may come before them."""
        if self._buckets is None or not len(series):
            return series
        if self._aggregation is Aggregation.TIME_WEIGHTED_AVG:
            return _time_weighted(series, self._buckets, *self._span)
        starts, starts_us, _ = self._find_edges(series.times, self._buckets)
        ends = np.append(starts[1:], len(series))
        with np.errstate(over="ignore", invalid="ignore"):
            return SignalSeries(starts_us, _REDUCTIONS[self._aggregation](series.values, starts, ends))

    def apply_packed(self, parts: Sequence[tuple[TimeGrid, Values | PackedValues]]) -> SignalSeries | None:
        """Averages and sums of parts that follow each other, without decoding a point; None where that takes more than
        sums of whole buckets of one size."""
        if self._buckets is None or self._aggregation not in (Aggregation.AVG, Aggregation.SUM):
            return None
        found: list[SignalSeries] = []
        for times, values in parts:
            _, starts_us, size = self._find_edges(times, self._buckets)
            summed = values.sum_rows(size) if size and isinstance(values, PackedValues) else None
            if summed is None or (found and found[-1].times[-1] >= starts_us[0]):
                return None
            divisor = summed[1] * (size if self._aggregation is Aggregation.AVG else 1)
            found.append(SignalSeries(starts_us, summed[0] / divisor))
        if len(found) == 1:
            return found[0]
        bucket_times = np.concatenate([one.times for one in found])
        return SignalSeries(bucket_times, np.concatenate([one.values for one in found]))

    def _find_edges(self, grid: TimeGrid, buckets: TimeBuckets) -> tuple[Indices, Times, int]:
        """Where buckets start among the times, and when; how many each has, 0 where that differs."""
        if id(grid) not in self._edges:
            edges = _find_step_edges(grid, buckets) if isinstance(grid, range) else _find_array_edges(grid, buckets)
            self._edges[id(grid)] = grid, *edges
        return self._edges[id(grid)][1:]


def _find_step_edges(grid: range, buckets: TimeBuckets) -> tuple[Indices, Times, int]:
    """The same by arithmetic, where buckets are complete and of so many whole steps; none where they are not."""
    width_us, size = buckets.width_us, buckets.width_us // grid.step
    if not size or size * grid.step != width_us or len(grid) % size or grid[0] % width_us >= grid.step:
        return np.empty(0, np.intp), EMPTY.times, 0
    starts_us = np.arange(grid[0] // width_us, grid[-1] // width_us + 1) * width_us
    return np.arange(0, len(grid), size), starts_us, size


def _find_array_edges(times: Times, buckets: TimeBuckets) -> tuple[Indices, Times, int]:
    """From the first and the last time of each bucket alone, where all have as many as the first one."""
    size = int(np.searchsorted(times, buckets.start(buckets.number(times[:1]) + 1))[0])
    numbers, lasts = buckets.number(times[::size]), buckets.number(times[size - 1 :: size])
    if not (len(times) % size or (numbers != lasts).any() or (numbers[1:] == numbers[:-1]).any()):
        return np.arange(0, len(times), size), buckets.start(numbers), size
    numbers = buckets.number(times)
    starts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    return starts, buckets.start(numbers[starts]), 0


def _average_values(values: Values, starts: Indices, ends: Indices) -> Values:
    """An average lies within its points: neither rounding nor the overflow of a sum may carry it out."""
    counts = ends - starts
    means: Values = np.add.reduceat(values, starts) / counts
    if not np.isfinite(means).all():
        means = np.add.reduceat(values / np.repeat(counts, counts), starts)
    # Rounding is off by count · ε at most, and the average lies spread / count within its points: only where the
    # spread, and so the distance of the first value, is below count² · ε, can rounding carry it out.
    firsts = values[starts]
    distance, magnitude = np.abs(means - firsts), np.abs(firsts)
    is_near = np.flatnonzero(distance <= _ROUNDING * int(counts.max()) ** 2 * magnitude)
    if len(is_near):
        # Where the first value is as near as rounding, it is the average.
        is_first = distance[is_near] <= _ROUNDING * counts[is_near] * magnitude[is_near]
        means[is_near[is_first]] = firsts[is_near[is_first]]
        is_near = is_near[~is_first]
    if len(is_near):
        chosen = counts[is_near]
        near_starts = np.cumsum(chosen) - chosen
        points = values[np.repeat(starts[is_near] - near_starts, chosen) + np.arange(int(chosen.sum()))]
        lowest, highest = (way.reduceat(points, near_starts) for way in (np.minimum, np.maximum))
        means[is_near] = np.minimum(np.maximum(means[is_near], lowest), highest)
    return means


_REDUCTIONS: Final[dict[Aggregation, Callable[[Values, Indices, Indices], Values]]] = {
    Aggregation.AVG: _average_values,
    Aggregation.MIN: lambda values, starts, _: np.minimum.reduceat(values, starts),
    Aggregation.MAX: lambda values, starts, _: np.maximum.reduceat(values, starts),
    Aggregation.FIRST: lambda values, starts, _: values[starts],
    Aggregation.LAST: lambda values, _, ends: values[ends - 1],
    Aggregation.SUM: lambda values, starts, _: np.add.reduceat(values, starts),
    Aggregation.COUNT: lambda _, starts, ends: (ends - starts).astype(np.float64),
}
"""The value of each bucket, from one index up to but not another. Values that hold on are cut by bucket first."""


@dataclass(frozen=True, slots=True)
class StepSpans:
    """Values with the span over which each holds."""

    starts: Times
    ends: Times
    values: Values


def carry_forward(series: SignalSeries, start_us: int, end_us: int) -> StepSpans:
    """Each value until the next, for 15 minutes at most, within [start, end)."""
    if not len(series):
        return StepSpans(series.times, series.times, series.values)
    ends = np.append(series.times[1:], np.iinfo(np.int64).max)
    ends = np.minimum(np.minimum(ends, series.times + model.MAX_CARRY_FORWARD_US), end_us)
    starts = np.maximum(series.times, start_us)
    kept = starts < ends
    return StepSpans(starts[kept], ends[kept], series.values[kept])


def _time_weighted(series: SignalSeries, buckets: TimeBuckets, start_us: int, end_us: int) -> SignalSeries:
    held = carry_forward(series, start_us, end_us)
    if not len(held.starts):
        return EMPTY
    first, last = buckets.number(held.starts), buckets.number(held.ends - 1)
    pieces = last - first + 1
    owner = np.repeat(np.arange(len(pieces)), pieces)
    number = first[owner] + np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    starts = np.maximum(held.starts[owner], buckets.start(number))
    ends = np.minimum(held.ends[owner], buckets.start(number + 1))
    changes = np.concatenate(([0], np.flatnonzero(number[1:] != number[:-1]) + 1))
    durations = (ends - starts).astype(np.float64)
    weights = durations / np.repeat(np.add.reduceat(durations, changes), np.diff(np.append(changes, len(number))))
    return SignalSeries(buckets.start(number[changes]), np.add.reduceat(held.values[owner] * weights, changes))


@dataclass(frozen=True, slots=True)
class Energy:
    """The energy that a power moved, in kWh; positive power discharges."""

    charged_kwh: float = 0.0
    discharged_kwh: float = 0.0

    @property
    def net_kwh(self) -> float:
        return self.discharged_kwh - self.charged_kwh

    def __add__(self, other: Energy) -> Energy:
        return Energy(self.charged_kwh + other.charged_kwh, self.discharged_kwh + other.discharged_kwh)


def energy(power_kw: SignalSeries, start_us: int, end_us: int) -> Energy:
    """Σ power · time, charging and discharging apart; each sample holds until the next."""
    held = carry_forward(power_kw, start_us, end_us)
    hours = (held.ends - held.starts) / HOUR_US
    return Energy(
        charged_kwh=float(np.sum(np.maximum(-held.values, 0.0) * hours)),
        discharged_kwh=float(np.sum(np.maximum(held.values, 0.0) * hours)),
    )


@dataclass(frozen=True, slots=True)
class Summary:
    """A signal over a span."""

    count: int
    total: float
    lowest: float
    highest: float

    @property
    def mean(self) -> float:
        return self.total / self.count

    def __add__(self, other: Summary) -> Summary:
        lowest, highest = min(self.lowest, other.lowest), max(self.highest, other.highest)
        return Summary(self.count + other.count, self.total + other.total, lowest, highest)


def summarise(series: SignalSeries) -> Summary | None:
    if not len(series):
        return None
    values = series.values
    with np.errstate(over="ignore"):
        return Summary(len(values), float(values.sum()), float(values.min()), float(values.max()))
