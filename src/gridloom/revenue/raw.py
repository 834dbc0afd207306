"""Each fact's own period: delivery periods, blocks, contracts and delivery windows, laid on one time line.

A point carries the name of its fact's start and, like every bucket, the part of the fact that lies within the window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gridloom.kernel.market_time import Resolution
from gridloom.market_calendar import PERIOD_S, Ints
from gridloom.revenue.accruals import AUCTION_MEASURES, TOLLING_MEASURES, auction_sums, tolling_sums
from gridloom.revenue.aggregation import DaySheets, sum_over_assets
from gridloom.revenue.categories import SOURCE_OF
from gridloom.revenue.formulas import FloatArray
from gridloom.revenue.grid import BLOCK, grid_of
from gridloom.revenue.model import AuctionResult, Contribution, RatedPowerSteps, ReportBuckets, SecondsSpan, Toll
from gridloom.settlements.measures import BLOCK_SOURCES, PERIOD_SOURCES, FactSource

BoolArray: TypeAlias = NDArray[np.bool_]
Accruing: TypeAlias = tuple[Sequence[Toll], Sequence[AuctionResult], Mapping[int, RatedPowerSteps], Mapping[int, float]]
_Points: TypeAlias = tuple[ReportBuckets, dict[str, FloatArray]]


@dataclass(frozen=True, slots=True)
class RawSums:
    """The sums at the start of every fact."""

    labels_s: Ints
    sums: dict[str, FloatArray]
    spans: dict[FactSource, ReportBuckets]
    """The time of each source's facts at every start, a delivery period where it has none."""
    present: dict[FactSource, BoolArray]
    """Which sources have a fact there."""


_NO_VALUE: Final = frozenset({"fcr_capacity_mw"})
"""Measures that are missing, not 0, where their source has no fact."""


def raw_sums(
    days: Ints,
    window: SecondsSpan,
    sheets: DaySheets,
    starts: Mapping[FactSource, Ints],
    contributions: Sequence[Contribution],
    sources: frozenset[FactSource],
    accruing: Accruing,
) -> RawSums:
    """All facts within the window; `starts` are those of aggregated sources."""
    found: dict[FactSource, _Points] = {}
    for source in sources:
        if source in PERIOD_SOURCES or source in BLOCK_SOURCES:
            found[source] = _stored_points(days, window, sheets, starts[source], contributions, source)
    tolls, results, ratings, weights = accruing
    if FactSource.TOLLING in sources:
        groups = _tolls_by_start(tolls)
        spans = [
            _make_one_bucket(SecondsSpan(group[0].span.start_s, max(toll.span.end_s for toll in group)), window)
            for group in groups
        ]
        own = [tolling_sums(group, ratings, weights, span) for group, span in zip(groups, spans, strict=True)]
        found[FactSource.TOLLING] = _span_points(spans, own, TOLLING_MEASURES)
    if FactSource.AUCTION in sources:
        spans = [_make_one_bucket(result.span, window) for result in results]
        own = [auction_sums([result], ratings, weights, span) for result, span in zip(results, spans, strict=True)]
        found[FactSource.AUCTION] = _span_points(spans, own, AUCTION_MEASURES)
    return _on_one_line(found)


def _stored_points(
    days: Ints,
    window: SecondsSpan,
    sheets: DaySheets,
    starts: Ints,
    contributions: Sequence[Contribution],
    source: FactSource,
) -> _Points:
    grid = grid_of(days, BLOCK if source in BLOCK_SOURCES else Resolution.QUARTER_HOUR, window)
    there = np.isin(grid.buckets.labels_s, starts)
    sums = sum_over_assets(grid, sheets, contributions, (source,))
    own = {name: values[there] for name, values in sums.items() if SOURCE_OF[name] is source}
    buckets = grid.buckets
    return ReportBuckets(buckets.labels_s[there], buckets.starts_s[there], buckets.ends_s[there]), own


def _tolls_by_start(tolls: Sequence[Toll]) -> list[list[Toll]]:
    """An asset's tolls that start together are one point, and their prices one price."""
    groups: dict[tuple[int, int], list[Toll]] = {}
    for toll in tolls:
        groups.setdefault((toll.asset_key, int(toll.span.start_s)), []).append(toll)
    return list(groups.values())


def _make_one_bucket(span: SecondsSpan, window: SecondsSpan) -> ReportBuckets:
    start_s, end_s = max(span.start_s, window.start_s), min(span.end_s, window.end_s)
    return ReportBuckets(np.array([int(span.start_s)]), np.array([start_s]), np.array([end_s]))


def _span_points(
    spans: Sequence[ReportBuckets], parts: Sequence[Mapping[str, FloatArray]], measures: Sequence[str]
) -> _Points:
    buckets = ReportBuckets(
        np.array([span.labels_s[0] for span in spans], dtype=np.int64),
        np.array([span.starts_s[0] for span in spans]),
        np.array([span.ends_s[0] for span in spans]),
    )
    return buckets, {name: np.array([sums[name][0] for sums in parts]) for name in measures}


def _on_one_line(found: Mapping[FactSource, _Points]) -> RawSums:
    labels = np.unique(np.concatenate([own.labels_s for own, _ in found.values()]).astype(np.int64))
    line = RawSums(labels, {}, {}, {})
    for source, (own, sums) in found.items():
        indices = np.searchsorted(labels, own.labels_s)
        there = line.present[source] = np.zeros(len(labels), dtype=np.bool_)
        there[indices] = True
        starts_s = labels.astype(np.float64)
        starts_s[indices] = own.starts_s
        ends_s = starts_s + np.where(there, 0.0, PERIOD_S)
        np.maximum.at(ends_s, indices, own.ends_s)
        line.spans[source] = ReportBuckets(labels, starts_s, ends_s)
        for name, values in sums.items():
            line.sums[name] = np.where(there, 0.0, np.nan) if name in _NO_VALUE else np.zeros(len(labels))
            np.add.at(line.sums[name], indices, values)
    return line
