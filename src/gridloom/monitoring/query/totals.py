"""Signals over a span: sums, extremes, and for powers the energy and cycles."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import numpy as np
from msgspec import UNSET

from gridloom.database.clock import platform_now
from gridloom.database.pool import Database
from gridloom.monitoring.model import instant_of, is_power, microseconds, signal_type
from gridloom.monitoring.offload import HEAVY_POINTS, off_loop
from gridloom.monitoring.query.aggregation import MAX_CARRY_FORWARD, NO_ENERGY, Energy, Summary, energy, summarise
from gridloom.monitoring.query.read_limiter import take_turns
from gridloom.monitoring.query.series import read_in_steps
from gridloom.monitoring.query.summaries import read_spans, summarise_span
from gridloom.monitoring.views import SignalSum
from gridloom.physical_assets.store import read_parameters_at


async def sum_signals(
    db: Database,
    asset_key: int,
    signals: Mapping[str, int | None],
    start_us: int,
    end_us: int,
    *,
    turn: asyncio.Semaphore,
) -> dict[str, SignalSum]:
    capacity_kwh, now_us = 0.0, 0
    if any(is_power(name) for name in signals):
        # The last sample holds, but not into a time that has not come.
        now_us = microseconds(await platform_now(db))
        parameters = await read_parameters_at(db, asset_key, instant_of(start_us))
        capacity_kwh = parameters.energy_capacity if parameters is not None else 0.0
    ids = [signal_id for name, signal_id in signals.items() if signal_id is not None and not is_power(name)]
    totals: dict[int, Summary | None] = {}
    async for known_id, span, first_us, stop_us in take_turns(turn, read_spans(db, asset_key, ids, start_us, end_us)):
        totals[known_id] = _add_summaries(totals.get(known_id), summarise_span(span, first_us, stop_us))
    sums: dict[str, SignalSum] = {}
    for name, signal_id in signals.items():
        summary, moved = None, NO_ENERGY
        if signal_id is not None and is_power(name):
            async with turn:
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
    moved = NO_ENERGY
    async for first_us, stop_us, series in read_in_steps(
        db, asset_key, signal_id, start_us, end_us, before=MAX_CARRY_FORWARD
    ):
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
