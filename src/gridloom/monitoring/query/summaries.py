"""Whole market days by what folding noted of them, so that a year of days is read without unpacking one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import NamedTuple, assert_never

import numpy as np

from gridloom.database.pool import Database
from gridloom.kernel.resolution import Resolution
from gridloom.monitoring import segments, store
from gridloom.monitoring.market_days import day_number, day_start, day_starts, market_date, market_day_number
from gridloom.monitoring.model import EMPTY, SignalSeries
from gridloom.monitoring.offload import HEAVY_BYTES, off_loop
from gridloom.monitoring.query.aggregation import Aggregation, Summary, aggregate, summarise
from gridloom.monitoring.query.series import assemble, next_day_with_points

_DAY_BATCH_SIZE = 400


SIGNAL_BATCH_SIZE = 32
"""What segments hold of all signals is unpacked once for so many of them."""


class SignalSpan(NamedTuple):
    """A signal in a window: the days that were folded, and the points of the others."""

    summaries: Sequence[store.DaySummary]
    series: SignalSeries


async def read_group(
    db: Database, asset_key: int, wanted_ids: Sequence[int], start_us: int, end_us: int
) -> dict[int, SignalSpan]:
    """Some signals in one statement; nothing where the window is too long for that."""
    if start_us >= end_us or day_number(end_us - 1) - day_number(start_us) >= _DAY_BATCH_SIZE:
        return {}
    summaries, series = await _read_days(db, asset_key, wanted_ids, start_us, end_us)
    by_id: dict[int, list[store.DaySummary]] = {}
    for summary in summaries:
        by_id.setdefault(summary.signal_id, []).append(summary)
    return {wanted: SignalSpan(by_id.get(wanted, ()), series.get(wanted, EMPTY)) for wanted in wanted_ids}


async def daily(
    db: Database,
    asset_key: int,
    wanted_id: int,
    start_us: int,
    end_us: int,
    aggregation: Aggregation,
    known: SignalSpan | None = None,
) -> AsyncIterator[SignalSeries]:
    """A signal in market days, piece by piece; every aggregation but the one weighted by time."""
    async for summaries, series, first_us, stop_us in _read_spans(db, asset_key, wanted_id, start_us, end_us, known):
        cut = aggregate(series, Resolution.DAY, aggregation, first_us, stop_us)
        if summaries:
            starts = day_starts(np.array([market_day_number(summary.day) for summary in summaries], dtype=np.int64))
            values = np.array([_pick_value(summary, aggregation) for summary in summaries], dtype=np.float64)
            order = np.argsort(starts)
            cut = segments.merge_last_wins((cut, SignalSeries(starts[order], values[order])))
        yield cut


async def total(
    db: Database, asset_key: int, wanted_id: int, start_us: int, end_us: int, known: SignalSpan | None = None
) -> Summary | None:
    """A signal over a span; None where it has no points."""
    whole: Summary | None = None
    async for summaries, series, first_us, stop_us in _read_spans(db, asset_key, wanted_id, start_us, end_us, known):
        parts = [Summary(one.points, one.total, one.lowest, one.highest) for one in summaries]
        rest = summarise(series.between(first_us, stop_us))
        for part in (*parts, *(() if rest is None else (rest,))):
            whole = part if whole is None else whole + part
    return whole


async def _read_spans(
    db: Database, asset_key: int, wanted_id: int, start_us: int, end_us: int, known: SignalSpan | None
) -> AsyncIterator[tuple[Sequence[store.DaySummary], SignalSeries, int, int]]:
    if known is not None:
        yield known.summaries, known.series, start_us, end_us
        return
    while start_us < end_us:
        stop_us = min(end_us, day_start(day_number(start_us) + _DAY_BATCH_SIZE))
        summaries, series = await _read_days(db, asset_key, (wanted_id,), start_us, stop_us)
        yield summaries, series.get(wanted_id, EMPTY), start_us, stop_us
        is_silent = not summaries and wanted_id not in series
        start_us = await next_day_with_points(db, asset_key, wanted_id, stop_us, end_us) if is_silent else stop_us


async def _read_days(
    db: Database, asset_key: int, wanted_ids: Sequence[int], start_us: int, stop_us: int
) -> tuple[Sequence[store.DaySummary], Mapping[int, SignalSeries]]:
    first, last = day_number(start_us), day_number(stop_us - 1)
    partial = {market_date(first)} if day_start(first) < start_us else set()
    if day_start(last + 1) > stop_us:
        partial.add(market_date(last))
    hot, cold, summaries = await store.summaries_between(
        db, asset_key, wanted_ids, market_date(first), market_date(last), sorted(partial)
    )
    packed_bytes = sum(len(segment.body) for segment in hot) + sum(len(chunk.body) for chunk in cold)
    return summaries, await off_loop(packed_bytes > HEAVY_BYTES // 4, assemble, hot, cold, set(wanted_ids))


def _pick_value(summary: store.DaySummary, aggregation: Aggregation) -> float:
    match aggregation:
        case Aggregation.AVG:
            return min(max(summary.total / summary.points, summary.lowest), summary.highest)
        case Aggregation.MIN:
            return summary.lowest
        case Aggregation.MAX:
            return summary.highest
        case Aggregation.FIRST:
            return summary.first_value
        case Aggregation.LAST:
            return summary.last_value
        case Aggregation.SUM:
            return summary.total
        case Aggregation.COUNT:
            return float(summary.points)
        case Aggregation.TIME_WEIGHTED_AVG:
            raise AssertionError("a weight needs the points")
        case _:
            assert_never(aggregation)
