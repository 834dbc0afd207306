"""Each fact's own period: delivery periods, blocks, contracts and delivery windows, laid on one time line.

A point carries the name of its fact's start and, like every bucket, the part of the fact that lies within the window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gridloom.kernel.resolution import Resolution
from gridloom.revenue.accruals import AUCTION_MEASURES, TOLLING_MEASURES, auction_sums, tolling_sums
from gridloom.revenue.categories import SOURCE_OF
from gridloom.revenue.formulas import FloatArray
from gridloom.revenue.grid import BLOCK, grid_of
from gridloom.revenue.model import AuctionResult, Buckets, Contribution, Rating, Span, Toll
from gridloom.revenue.summing import KeptDays, sum_over_assets
from gridloom.settlements.market_days import PERIOD_S, IntArray
from gridloom.settlements.measures import BLOCK_SOURCES, PERIOD_SOURCES, Source

BoolArray: TypeAlias = NDArray[np.bool_]
Accruing: TypeAlias = tuple[Sequence[Toll], Sequence[AuctionResult], Mapping[int, Rating], Mapping[int, float]]
_Points: TypeAlias = tuple[IntArray, dict[str, FloatArray]]

_NO_VALUE: Final = frozenset({"fcr_capacity_mw"})
"""Measures that are missing, not 0, where their source has no fact."""


def raw_sums(
    days: IntArray,
    window: Span,
    kept: KeptDays,
    starts: Mapping[Source, IntArray],
    contributions: Sequence[Contribution],
    sources: frozenset[Source],
    accruing: Accruing,
) -> tuple[Buckets, dict[str, FloatArray], dict[Source, BoolArray]]:
    """The sums at the start of every fact, and which sources have a fact there; `starts` are those of kept sources."""
    found: dict[Source, _Points] = {}
    for source in sources:
        if source in PERIOD_SOURCES or source in BLOCK_SOURCES:
            found[source] = _kept_points(days, window, kept, starts[source], contributions, source)
    tolls, results, ratings, weights = accruing
    if Source.TOLLING in sources:
        found[Source.TOLLING] = _span_points(
            [(toll.span, tolling_sums([toll], ratings, weights, _one(toll.span, window))) for toll in tolls],
            TOLLING_MEASURES,
        )
    if Source.AUCTION in sources:
        found[Source.AUCTION] = _span_points(
            [(result.span, auction_sums([result], ratings, weights, _one(result.span, window))) for result in results],
            AUCTION_MEASURES,
        )
    return _on_one_line(found)


def _kept_points(
    days: IntArray,
    window: Span,
    kept: KeptDays,
    starts: IntArray,
    contributions: Sequence[Contribution],
    source: Source,
) -> _Points:
    grid = grid_of(days, BLOCK if source in BLOCK_SOURCES else Resolution.QUARTER_HOUR, window)
    there = np.isin(grid.buckets.labels_s, starts)
    sums = sum_over_assets(grid, kept, contributions, (source,))
    own = {name: values[there] for name, values in sums.items() if SOURCE_OF[name] is source}
    return grid.buckets.labels_s[there], own


def _one(span: Span, window: Span) -> Buckets:
    start_s, end_s = max(span.start_s, window.start_s), min(span.end_s, window.end_s)
    return Buckets(np.array([int(span.start_s)]), np.array([start_s]), np.array([end_s]))


def _span_points(parts: Sequence[tuple[Span, dict[str, FloatArray]]], measures: Sequence[str]) -> _Points:
    labels = np.array([int(span.start_s) for span, _ in parts], dtype=np.int64)
    return labels, {name: np.array([sums[name][0] for _, sums in parts]) for name in measures}


def _on_one_line(found: Mapping[Source, _Points]) -> tuple[Buckets, dict[str, FloatArray], dict[Source, BoolArray]]:
    labels = np.unique(np.concatenate([points[0] for points in found.values()]).astype(np.int64))
    sums: dict[str, FloatArray] = {}
    present: dict[Source, BoolArray] = {}
    for source, (own_labels, own) in found.items():
        places = np.searchsorted(labels, own_labels)
        present[source] = np.zeros(len(labels), dtype=np.bool_)
        present[source][places] = True
        for name, values in own.items():
            sums[name] = np.where(present[source], 0.0, np.nan) if name in _NO_VALUE else np.zeros(len(labels))
            np.add.at(sums[name], places, values)
    starts = labels.astype(np.float64)
    return Buckets(labels, starts, starts + PERIOD_S), sums, present
