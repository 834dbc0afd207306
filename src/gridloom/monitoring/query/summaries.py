"""Whole market days by the summaries of their blocks, so that a year of days is read without decoding one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from gridloom.database.pool import Database
from gridloom.kernel.resolution import Resolution
from gridloom.monitoring import segments, store
from gridloom.monitoring.codec import Values
from gridloom.monitoring.market_days import (
    day_number,
    day_numbers,
    day_start,
    day_starts,
    market_date,
    market_day_number,
)
from gridloom.monitoring.model import EMPTY, SUMMARY, SignalSeries
from gridloom.monitoring.offload import HEAVY_BYTES, off_loop
from gridloom.monitoring.query.aggregation import Aggregation, Summary, aggregate, summarise
from gridloom.monitoring.query.series import assemble, next_day_with_points, read

_DAY_BATCH_SIZE = 400
SIGNAL_BATCH_SIZE = 32
"""What segments hold of all signals is unpacked once for so many of them."""


class SignalSpan(NamedTuple):
    """A signal in a window: the summaries of whole days by the day's number, and the points of the other days."""

    days: NDArray[np.int64]
    summaries: NDArray[np.void]
    series: SignalSeries


async def read_spans(
    db: Database, asset_key: int, wanted_ids: Sequence[int], start_us: int, end_us: int
) -> AsyncIterator[tuple[int, SignalSpan, int, int]]:
    """Signal after signal, each with what a window holds of it; a long span takes several windows."""
    is_long = start_us < end_us and day_number(end_us - 1) - day_number(start_us) >= _DAY_BATCH_SIZE
    at_once = 1 if is_long else SIGNAL_BATCH_SIZE
    for place in range(0, len(wanted_ids), at_once):
        some, first_us = wanted_ids[place : place + at_once], start_us
        while first_us < end_us:
            stop_us = min(end_us, day_start(day_number(first_us) + _DAY_BATCH_SIZE))
            spans = await _read_days(db, asset_key, some, first_us, stop_us)
            for signal_id in some:
                yield signal_id, spans[signal_id], first_us, stop_us
            first_us = stop_us
            if is_long and not len(spans[some[0]].days) and not len(spans[some[0]].series):
                first_us = await next_day_with_points(db, asset_key, some[0], stop_us, end_us)


def aggregate_days(span: SignalSpan, aggregation: Aggregation, first_us: int, stop_us: int) -> SignalSeries:
    """A window in market days, by every aggregation but the one weighted by time."""
    whole = SignalSeries(day_starts(span.days), _pick_values(span.summaries, aggregation))
    if not len(span.series):
        return whole
    cut = aggregate(span.series, Resolution.DAY, aggregation, first_us, stop_us)
    return segments.merge_last_wins((whole, cut))


def summarise_span(span: SignalSpan, first_us: int, stop_us: int) -> Summary | None:
    """A window as a whole; None where it has no points."""
    rest = summarise(span.series.between(first_us, stop_us))
    if not len(span.days):
        return rest
    days = span.summaries
    whole = Summary(
        int(days["points"].sum()), float(days["total"].sum()), float(days["lowest"].min()), float(days["highest"].max())
    )
    return whole if rest is None else whole + rest


async def _read_days(
    db: Database, asset_key: int, wanted_ids: Sequence[int], start_us: int, stop_us: int
) -> dict[int, SignalSpan]:
    first, last = day_number(start_us), day_number(stop_us - 1)
    partial = {first} if day_start(first) < start_us else set()
    if day_start(last + 1) > stop_us:
        partial.add(last)
    found = await store.read_bodies(
        db, asset_key, wanted_ids, market_date(first), market_date(last), store.BlockPart.SUMMARIES,
        partial=[market_date(day) for day in sorted(partial)],
    )  # fmt: skip
    exact = partial | {market_day_number(segment.day) for segment in found.segments}
    is_heavy = found.packed_bytes > HEAVY_BYTES // 4
    spans = await off_loop(is_heavy, _make_spans, found, wanted_ids, range(first, last + 1), exact)
    if all(np.isfinite(span.summaries["total"]).all() for span in spans.values()):
        return spans
    # Sums that overflow tell no average.
    points = await read(db, asset_key, wanted_ids, start_us, stop_us)
    none = np.empty(0, np.int64), np.empty(0, SUMMARY)
    return {signal_id: SignalSpan(*none, series) for signal_id, series in points.items()}


def _make_spans(
    found: store.StoredBodies, wanted_ids: Sequence[int], days: range, exact: Iterable[int]
) -> dict[int, SignalSpan]:
    """Of the `exact` days the points, of the others the summaries."""
    exact_days = np.array(sorted(exact), np.int64)
    by_id = {signal_id: np.zeros(len(days), SUMMARY.newbyteorder("=")) for signal_id in wanted_ids}
    for block in found.blocks:
        first, last = market_day_number(block.first_day), market_day_number(block.last_day)
        inside = slice(max(0, first - days.start), max(0, last + 1 - days.start))
        for place, packed in zip(block.places, block.summaries, strict=True):
            part = np.frombuffer(packed, SUMMARY)[max(0, days.start - first) : days.stop - first]
            np.copyto(by_id[block.signal_ids[place]][inside], part, where=part["points"] > 0)
    points = dict(assemble(found, frozenset(wanted_ids)))
    spans = {}
    for signal_id, summaries in by_id.items():
        summaries["points"][exact_days - days.start] = 0
        held = np.flatnonzero(summaries["points"])
        series = points.get(signal_id, EMPTY)
        if len(series):
            chosen = np.isin(day_numbers(series.times), exact_days)
            series = SignalSeries(series.times[chosen], series.values[chosen])
        spans[signal_id] = SignalSpan(held + days.start, summaries[held], series)
    return spans


def _pick_values(summaries: NDArray[np.void], aggregation: Aggregation) -> Values:
    match aggregation:
        case Aggregation.AVG:
            means: Values = np.clip(summaries["total"] / summaries["points"], summaries["lowest"], summaries["highest"])
            return means
        case Aggregation.COUNT:
            counts: Values = summaries["points"].astype(np.float64)
            return counts
        case Aggregation.MIN | Aggregation.MAX | Aggregation.FIRST | Aggregation.LAST | Aggregation.SUM:
            picked: Values = summaries[_FIELDS[aggregation]]
            return picked
        case Aggregation.TIME_WEIGHTED_AVG:
            raise AssertionError("a weight needs the points")
        case _:
            assert_never(aggregation)


_FIELDS = {
    Aggregation.MIN: "lowest",
    Aggregation.MAX: "highest",
    Aggregation.FIRST: "first",
    Aggregation.LAST: "last",
    Aggregation.SUM: "total",
}
