"""Whole market days by the summaries of their blocks, so that a year of days is read without decoding one; and signals
over a span: sums, extremes, and for powers the energy and cycles."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from gridloom.kernel.market_time import Resolution
from gridloom.market_calendar import market_date, market_day_number
from gridloom.monitoring import segments
from gridloom.monitoring.codec import Values
from gridloom.monitoring.model import (
    EMPTY,
    MAX_CARRY_FORWARD_US,
    SUMMARY,
    SignalSeries,
    day_number,
    day_numbers,
    day_start,
    day_starts,
    instant_of,
    is_power,
    microseconds,
    signal_type,
)
from gridloom.monitoring.offload import HEAVY_BYTES, HEAVY_POINTS, hold_for_each, off_loop
from gridloom.monitoring.query.aggregation import Aggregation, Energy, Summary, aggregate, energy, summarise
from gridloom.monitoring.query.series import assemble, next_day_with_points, read, read_in_steps
from gridloom.monitoring.store import bodies
from gridloom.monitoring.views import SignalSum
from gridloom.physical_assets.store import read_parameters_at
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database

_DAY_BATCH_SIZE = 400
SIGNAL_BATCH_SIZE = 32
"""Segments are unpacked once for so many signals."""


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
    for first in range(0, len(wanted_ids), at_once):
        some, first_us = wanted_ids[first : first + at_once], start_us
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
    times, order = segments.merge_times((whole.times, cut.times))
    values = np.concatenate((whole.values, cut.values))
    return SignalSeries(times, values if order is None else values[order])


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
    found = await bodies.read_bodies(
        db, asset_key, wanted_ids, market_date(first), market_date(last), bodies.BlockPart.SUMMARIES,
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
    found: bodies.StoredBodies, wanted_ids: Sequence[int], days: range, exact: Iterable[int]
) -> dict[int, SignalSpan]:
    """Of the `exact` days the points, of the others the summaries."""
    exact_days = np.array(sorted(exact), np.int64)
    by_id = {signal_id: np.zeros(len(days), SUMMARY.newbyteorder("=")) for signal_id in wanted_ids}
    for block in found.blocks:
        first, last = market_day_number(block.first_day), market_day_number(block.last_day)
        inside = slice(max(0, first - days.start), max(0, last + 1 - days.start))
        for index, packed in zip(block.indices, block.summaries, strict=True):
            part = np.frombuffer(packed, SUMMARY)[max(0, days.start - first) : days.stop - first]
            np.copyto(by_id[block.signal_ids[index]][inside], part, where=part["points"] > 0)
    points = dict(assemble(found, day_start(days.start), day_start(days.stop), wanted_ids))
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
    values: Values = summaries[_FIELDS[aggregation]].astype(np.float64)
    if aggregation is Aggregation.AVG:
        lowest: Values = summaries["lowest"]
        highest: Values = summaries["highest"]
        values = np.clip(values / summaries["points"], lowest, highest)
    return values


_FIELDS = {
    Aggregation.AVG: "total",
    Aggregation.MIN: "lowest",
    Aggregation.MAX: "highest",
    Aggregation.FIRST: "first",
    Aggregation.LAST: "last",
    Aggregation.SUM: "total",
    Aggregation.COUNT: "points",
}


async def sum_signals(
    db: Database,
    asset_key: int,
    signals: Mapping[str, int | None],
    start_us: int,
    end_us: int,
    *,
    semaphore: asyncio.Semaphore,
) -> dict[str, SignalSum]:
    capacity_kwh, now_us = 0.0, 0
    if any(is_power(name) for name in signals):
        # The last sample holds, but not into a time that has not come.
        now_us = microseconds(await platform_now(db))
        parameters = await read_parameters_at(db, asset_key, instant_of(start_us))
        capacity_kwh = parameters.energy_capacity if parameters is not None else 0.0
    ids = [signal_id for name, signal_id in signals.items() if signal_id is not None and not is_power(name)]
    totals: dict[int, Summary | None] = {}
    async for known_id, span, first_us, stop_us in hold_for_each(
        semaphore, read_spans(db, asset_key, ids, start_us, end_us)
    ):
        totals[known_id] = _add_summaries(totals.get(known_id), summarise_span(span, first_us, stop_us))
    sums: dict[str, SignalSum] = {}
    for name, signal_id in signals.items():
        summary, moved = None, Energy()
        if signal_id is not None and is_power(name):
            async with semaphore:
                summary, moved = await _sum_power(db, asset_key, signal_id, start_us, end_us, now_us)
        elif signal_id is not None:
            summary = totals.get(signal_id)
        sums[name] = _view_sum(name, summary, moved, capacity_kwh)
    return sums


def _add_summaries(one: Summary | None, other: Summary | None) -> Summary | None:
    return other if one is None else one if other is None else one + other


async def _sum_power(
    db: Database, asset_key: int, signal_id: int, start_us: int, end_us: int, now_us: int
) -> tuple[Summary | None, Energy]:
    whole: Summary | None = None
    moved = Energy()
    steps = read_in_steps(db, asset_key, signal_id, start_us, end_us, before_us=MAX_CARRY_FORWARD_US)
    async for first_us, stop_us, series in steps:
        heavy = len(series) > HEAVY_POINTS
        whole = _add_summaries(whole, await off_loop(heavy, summarise, series.between(first_us, stop_us)))
        moved += await off_loop(heavy, energy, series, first_us, min(stop_us, now_us))
    return whole, moved


def _view_sum(name: str, summary: Summary | None, moved: Energy, capacity_kwh: float) -> SignalSum:
    view = SignalSum(
        unit=signal_type(name).unit,
        count=summary.count if summary else 0,
        sum=_keep_finite(summary.total) if summary else None,
        min=summary.lowest if summary else None,
        max=summary.highest if summary else None,
        mean=_keep_finite(summary.mean) if summary else None,
    )
    if is_power(name):
        view.energy_charged = moved.charged_kwh
        view.energy_discharged = moved.discharged_kwh
        view.energy_net = moved.net_kwh
        view.cycles = moved.discharged_kwh / capacity_kwh if capacity_kwh > 0 else UNSET
    return view


def _keep_finite(number: float) -> float | None:
    """A sum that is beyond all numbers is none."""
    return number if np.isfinite(number) else None
