"""Series cut into buckets, and what flowed: whole columns at a time, gaps left as gaps.

A bucket without points has no value. Where a value is taken to hold until the next one comes (time-weighted averages,
energy), it holds for 15 minutes at most: a silence is a silence, not a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final, assert_never

import numpy as np
from numpy.typing import NDArray

from gridloom.kernel.resolution import Resolution
from gridloom.monitoring.codec import Times, Values
from gridloom.monitoring.market_days import day_numbers, day_starts
from gridloom.monitoring.model import EMPTY, HOUR_US, MINUTE_US, SignalSeries

MAX_CARRY_FORWARD: Final = timedelta(minutes=15)
_HOLD_US = 15 * MINUTE_US


class Aggregation(StrEnum):
    """What a bucket says of its points."""

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


def _make_fixed_buckets(width_us: int) -> TimeBuckets:
    return TimeBuckets(lambda times: times // width_us, lambda numbers: numbers * width_us)


BUCKETS: Final[dict[Resolution, TimeBuckets]] = {
    Resolution.MINUTE: _make_fixed_buckets(MINUTE_US),
    Resolution.QUARTER_HOUR: _make_fixed_buckets(15 * MINUTE_US),
    # The market's clock is whole hours from UTC, so its hours are UTC's.
    Resolution.HOUR: _make_fixed_buckets(HOUR_US),
    Resolution.DAY: TimeBuckets(day_numbers, day_starts),
}


def aggregate(
    series: SignalSeries, resolution: Resolution, aggregation: Aggregation, start_us: int, end_us: int
) -> SignalSeries:
    """The series in buckets, each named by its start. Points before `start_us` only hold on into the span.

    The first and the last bucket see only their part of [start, end).
    """
    if resolution is Resolution.RAW:
        return series.between(start_us, end_us)
    buckets = BUCKETS[resolution]
    if aggregation is Aggregation.TIME_WEIGHTED_AVG:
        return _time_weighted(series, buckets, start_us, end_us)
    inside = series.between(start_us, end_us)
    if not len(inside):
        return EMPTY
    numbers = buckets.number(inside.times)
    starts = np.concatenate(([0], np.flatnonzero(numbers[1:] != numbers[:-1]) + 1))
    return SignalSeries(buckets.start(numbers[starts]), _reduce_values(inside.values, starts, aggregation))


def _reduce_values(values: Values, starts: NDArray[np.intp], aggregation: Aggregation) -> Values:
    ends = np.append(starts[1:], len(values))
    match aggregation:
        case Aggregation.AVG:
            return _average_values(values, starts, ends)
        case Aggregation.MIN:
            return np.minimum.reduceat(values, starts)
        case Aggregation.MAX:
            return np.maximum.reduceat(values, starts)
        case Aggregation.FIRST:
            return values[starts]
        case Aggregation.LAST:
            lasts: Values = values[ends - 1]
            return lasts
        case Aggregation.SUM:
            with np.errstate(over="ignore", invalid="ignore"):
                return np.add.reduceat(values, starts)
        case Aggregation.COUNT:
            return (ends - starts).astype(np.float64)
        case Aggregation.TIME_WEIGHTED_AVG:
            raise AssertionError("held values are cut by bucket first")
        case _:
            assert_never(aggregation)


def _average_values(values: Values, starts: NDArray[np.intp], ends: NDArray[np.intp]) -> Values:
    """An average lies within its points: neither rounding nor the overflow of a sum may carry it out."""
    counts = ends - starts
    means: Values
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.add.reduceat(values, starts) / counts
    if not np.isfinite(means).all():
        means = np.add.reduceat(values / np.repeat(counts, counts), starts)
    # Rounding is off by count · ε at most, and the average lies spread / count within: only where the spread is below
    # count² · ε, and so every value as near to the average, can it be carried out.
    firsts = values[starts]
    tolerance = 2 * np.finfo(np.float64).eps * float(counts.max()) ** 2
    is_near = np.abs(means - firsts) <= tolerance * np.abs(firsts)
    if is_near.any():
        chosen = values[np.repeat(is_near, counts)]
        near_starts = np.cumsum(counts[is_near]) - counts[is_near]
        lowest, highest = (way.reduceat(chosen, near_starts) for way in (np.minimum, np.maximum))
        means[is_near] = np.minimum(np.maximum(means[is_near], lowest), highest)
    return means


@dataclass(frozen=True, slots=True)
class StepSpans:
    """Values with the span over which each holds."""

    starts: Times
    ends: Times
    values: Values

    @property
    def durations(self) -> Times:
        return self.ends - self.starts


def carry_forward(series: SignalSeries, start_us: int, end_us: int) -> StepSpans:
    """Each value until the next, for 15 minutes at most, within [start, end)."""
    if not len(series):
        return StepSpans(series.times, series.times, series.values)
    ends = np.append(series.times[1:], np.iinfo(np.int64).max)
    ends = np.minimum(np.minimum(ends, series.times + _HOLD_US), end_us)
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
    """What a power moved, in kWh; positive power discharges."""

    charged_kwh: float
    discharged_kwh: float

    @property
    def net_kwh(self) -> float:
        return self.discharged_kwh - self.charged_kwh

    def __add__(self, other: Energy) -> Energy:
        return Energy(self.charged_kwh + other.charged_kwh, self.discharged_kwh + other.discharged_kwh)


NO_ENERGY: Final = Energy(0.0, 0.0)


def energy(power_kw: SignalSeries, start_us: int, end_us: int) -> Energy:
    """Σ power · time, charging and discharging apart; each sample holds until the next."""
    held = carry_forward(power_kw, start_us, end_us)
    hours = held.durations / HOUR_US
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
        return Summary(
            self.count + other.count,
            self.total + other.total,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
        )


def summarise(series: SignalSeries) -> Summary | None:
    if not len(series):
        return None
    values = series.values
    with np.errstate(over="ignore"):
        return Summary(len(values), float(values.sum()), float(values.min()), float(values.max()))
