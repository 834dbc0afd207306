"""The time grid of a report: delivery periods of consecutive market days, and the buckets that they fall into."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor
from typing import Final

import numpy as np

from gridloom.kernel.market_time import Resolution
from gridloom.market_calendar import (
    PERIOD_S,
    Ints,
    block_period_counts,
    day_number,
    day_start,
    period_counts,
)
from gridloom.revenue.formulas import FloatArray
from gridloom.revenue.model import ReportBuckets, SecondsSpan

BLOCK: Final = "block"
PERIODS_AN_HOUR: Final = 4


@dataclass(frozen=True, slots=True)
class Grid:
    """The periods of consecutive market days, grouped into buckets and cut to the asked window."""

    numbers: Ints
    """Of the market days."""
    offsets: Ints
    """Where each day's periods start, and where the last one's end."""
    coverage: FloatArray | None
    """The part of each period that lies within the window; None where the window holds all of them."""
    group_starts: Ints
    """The first period of each bucket."""
    buckets: ReportBuckets
    shown: slice
    """The buckets of which some part lies within the window; they alone are in `buckets`."""

    @property
    def period_count(self) -> int:
        return int(self.offsets[-1])

    def bucket_sums(self, periods: FloatArray) -> FloatArray:
        """Measures by period to measures by bucket."""
        covered = periods if self.coverage is None else periods * self.coverage
        if len(self.group_starts) == self.period_count:
            return covered[:, self.shown]
        return np.add.reduceat(covered, self.group_starts, axis=1)[:, self.shown]


def grid_of(numbers: Ints, resolution: Resolution | str, window: SecondsSpan) -> Grid:
    """The grid of consecutive market days at a resolution, or by wall-clock blocks."""
    counts = period_counts(numbers)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    first_s, last_s = day_start(numbers[0]), day_start(numbers[-1] + 1)
    starts = np.arange(first_s, last_s, PERIOD_S)
    sizes = _group_sizes(numbers, counts, resolution)
    group_ends = np.cumsum(sizes)
    group_starts = group_ends - sizes
    coverage: FloatArray | None = None
    if first_s < window.start_s or window.end_s < last_s:
        covered_s = np.minimum(starts + PERIOD_S, window.end_s) - np.maximum(starts, window.start_s)
        coverage = np.clip(covered_s, 0, None) / PERIOD_S
    labels = starts[group_starts]
    ends = np.append(labels[1:], last_s)
    shown = slice(
        int(np.searchsorted(ends, window.start_s, side="right")),
        int(np.searchsorted(labels, window.end_s, side="left")),
    )
    buckets = ReportBuckets(
        labels[shown],
        np.maximum(labels[shown], window.start_s).astype(np.float64),
        np.minimum(ends[shown], window.end_s).astype(np.float64),
    )
    return Grid(numbers, offsets, coverage, group_starts, buckets, shown)


def _group_sizes(numbers: Ints, counts: Ints, resolution: Resolution | str) -> Ints:
    if resolution == Resolution.QUARTER_HOUR:
        return np.ones(int(counts.sum()), dtype=np.int64)
    if resolution == Resolution.HOUR:
        # The clock changes by whole hours, so the hours of a market day are those of UTC.
        return np.full(int(counts.sum()) // PERIODS_AN_HOUR, PERIODS_AN_HOUR, dtype=np.int64)
    if resolution == BLOCK:
        return block_period_counts(numbers).ravel()
    assert resolution == Resolution.DAY
    return counts


def days_of(window: SecondsSpan) -> Ints:
    """The numbers of the market days of which the window holds some part."""
    return np.arange(day_number(floor(window.start_s)), day_number(ceil(window.end_s) - 1) + 1)


def parts_of(numbers: Ints, day_batch_size: int) -> Iterator[Ints]:
    for first in range(0, len(numbers), day_batch_size):
        yield numbers[first : first + day_batch_size]
