"""The time grid of a report: delivery periods of consecutive market days, and the buckets that they fall into."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from gridloom.kernel.resolution import Resolution
from gridloom.revenue.formulas import FloatArray
from gridloom.revenue.model import Buckets, Span
from gridloom.settlements.market_days import (
    PERIOD_S,
    IntArray,
    block_period_counts,
    day_edges_s,
    day_numbers_at,
    period_counts,
)

BLOCK: Final = "block"
PERIODS_AN_HOUR: Final = 4


@dataclass(frozen=True, slots=True)
class Grid:
    """The periods of consecutive market days, grouped into buckets and cut to the asked window."""

    numbers: IntArray
    """Of the market days."""
    offsets: IntArray
    """Where each day's periods start, and where the last one's end."""
    coverage: FloatArray | None
    """The part of each period that lies within the window; None where the window holds all of them."""
    group_starts: IntArray
    """The first period of each bucket."""
    buckets: Buckets
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


def grid_of(numbers: IntArray, resolution: Resolution | str, window: Span) -> Grid:
    """The grid of consecutive market days at a resolution, or by wall-clock blocks."""
    edges = day_edges_s()
    counts = period_counts(numbers)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    first_s, last_s = int(edges[numbers[0]]), int(edges[numbers[-1] + 1])
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
    buckets = Buckets(
        labels[shown],
        np.maximum(labels[shown], window.start_s).astype(np.float64),
        np.minimum(ends[shown], window.end_s).astype(np.float64),
    )
    return Grid(numbers, offsets, coverage, group_starts, buckets, shown)


def _group_sizes(numbers: IntArray, counts: IntArray, resolution: Resolution | str) -> IntArray:
    if resolution == Resolution.QUARTER_HOUR:
        return np.ones(int(counts.sum()), dtype=np.int64)
    if resolution == Resolution.HOUR:
        # The clock changes by whole hours, so the hours of a market day are those of UTC.
        return np.full(int(counts.sum()) // PERIODS_AN_HOUR, PERIODS_AN_HOUR, dtype=np.int64)
    if resolution == BLOCK:
        return block_period_counts(numbers).ravel()
    assert resolution == Resolution.DAY
    return counts


def days_of(window: Span) -> IntArray:
    """The numbers of the market days of which the window holds some part."""
    edges = day_edges_s()
    first, last = day_numbers_at(np.array([window.start_s, np.nextafter(window.end_s, 0)]))
    assert edges[0] <= window.start_s, "the window lies within the calendar"
    return np.arange(first, last + 1)


def parts_of(numbers: IntArray, days_at_once: int) -> Iterator[IntArray]:
    for first in range(0, len(numbers), days_at_once):
        yield numbers[first : first + days_at_once]
