"""Energy that a battery moved in market days and years, as cycles against their limits."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

import numpy as np

from gridloom.capacity.availability import ENERGY
from gridloom.capacity.store import load_availability
from gridloom.delivery.dispatch.reading import load_dispatch
from gridloom.delivery.inputs.store import PhysicalParameters, read_parameters
from gridloom.delivery.performance import store
from gridloom.delivery.performance.measured import Measurements
from gridloom.delivery.performance.performance import Performance, load_measurements
from gridloom.delivery.performance.recording import read_recorded
from gridloom.kernel.market_time import market_day_of, market_days_in, period_start
from gridloom.kernel.units import QUARTER_HOUR_H
from gridloom.kernel.window import Window
from gridloom.market_calendar import Floats, market_day_periods, market_year_periods
from gridloom.platform.database.pool import Database

MAX_RECORDED_DAYS: Final = 14
"""Recorded by one job; days that none has recorded are read from the versions of dispatch."""


@dataclass(frozen=True, slots=True)
class EnergyUse:
    """Of the periods [first, end) of a market day or year: kWh at the grid. A cycle is one energy capacity discharged.

    `cycle_limit` is the battery's own, None where it has none.
    """

    first: int
    end: int
    charged_kwh: float
    discharged_kwh: float
    cycles: float
    cycle_limit: float | None

    @property
    def throughput_kwh(self) -> float:
        return self.charged_kwh + self.discharged_kwh


@dataclass(frozen=True, slots=True)
class EnergyUses:
    """By market day and by year, in the order of time."""

    days: list[EnergyUse]
    years: list[EnergyUse]


async def load_energy_use(
    db: Database, asset_key: int, performance: Performance, end: int, as_of: datetime | None
) -> EnergyUses:
    """Of the market days and years that the performance's periods before `end` lie in.

    Days and years count from their own start. What was measured counts as measured, all else as dispatched.
    """
    first = performance.dispatch.first
    if first >= end:
        return EnergyUses([], [])
    year_first = _find_year_first(first)
    earlier_kw = await _load_earlier_kw(db, asset_key, year_first, first, as_of)
    count = end - first
    window_kw = performance.measured.active_kw.over(performance.dispatch.power_kw)[:count]
    power_kw = np.concatenate([earlier_kw, window_kw])
    window = Window(period_start(year_first), period_start(end))
    rated_kwh = (await load_availability(db, [asset_key], window))[asset_key].rated[:, ENERGY]
    parameters = await read_parameters(db, [asset_key], period_start(end))
    return await asyncio.to_thread(_sum_uses, first, end, year_first, power_kw, rated_kwh, parameters)


def _sum_uses(
    first: int,
    end: int,
    year_first: int,
    power_kw: Floats,
    rated_kwh: Floats,
    parameters: Sequence[PhysicalParameters],
) -> EnergyUses:
    """Of power and rated energy from the start of the year on."""

    def sum_up(low: int, high: int, name: str) -> EnergyUse:
        here = slice(low - year_first, high - year_first)
        energy_kwh = QUARTER_HOUR_H * power_kw[here]
        discharged_kwh, charged_kwh = np.maximum(energy_kwh, 0.0), np.maximum(-energy_kwh, 0.0)
        cycles = np.zeros_like(energy_kwh)
        np.divide(discharged_kwh, rated_kwh[here], out=cycles, where=rated_kwh[here] > 0)
        limit = _find_limit(parameters, period_start(high - 1), name)
        return EnergyUse(low, high, float(charged_kwh.sum()), float(discharged_kwh.sum()), float(cycles.sum()), limit)

    days = [market_day_periods(day) for day in market_days_in(Window(period_start(first), period_start(end)))]
    years = [(_find_year_first(low), high) for low, high in _group_by_year(days)]
    return EnergyUses(
        [sum_up(low, min(high, end), "daily_cycle_limit") for low, high in days],
        [sum_up(low, min(high, end), "annual_cycle_limit") for low, high in years],
    )


def _find_year_first(period: int) -> int:
    """The first period of the calendar year of market time in which a period lies."""
    return market_year_periods(market_day_of(period_start(period)).year)[0]


def _group_by_year(days: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Of consecutive days, the periods of each year."""
    years: dict[int, tuple[int, int]] = {}
    for low, high in days:
        year_first = _find_year_first(low)
        years[year_first] = years.get(year_first, (low, high))[0], high
    return list(years.values())


def _find_limit(parameters: Sequence[PhysicalParameters], instant: datetime, name: str) -> float | None:
    """In force at an instant."""
    valid = [one for one in parameters if one.valid_from <= instant]
    limit: float | None = getattr(valid[-1], name) if valid else None
    return limit


async def _load_earlier_kw(db: Database, asset_key: int, year_first: int, first: int, as_of: datetime | None) -> Floats:
    """From the start of the year to `first`: what was recorded as measured, on the last day what telemetry says."""
    day_first = market_day_periods(market_day_of(period_start(first)))[0]
    dispatched_kw = await _load_dispatched_kw(db, asset_key, year_first, first, as_of)
    measured = []
    if year_first < day_first:
        days = list(market_days_in(Window(period_start(year_first), period_start(day_first))))
        measured.append(await read_recorded(db, asset_key, year_first, day_first, days, as_of))
    if day_first < first:
        measured.append(await load_measurements(db, asset_key, day_first, first, as_of))
    return count_power(measured, dispatched_kw)


def count_power(measured: Sequence[Measurements], dispatched_kw: Floats) -> Floats:
    if not measured:
        return dispatched_kw
    mean = np.concatenate([np.nan_to_num(one.active_kw.mean) for one in measured])
    share = np.concatenate([one.active_kw.share for one in measured])
    return np.asarray(dispatched_kw + share * (mean - dispatched_kw))


# --- dispatched days --------------------------------------------------------------------------------------------------


async def _load_dispatched_kw(db: Database, asset_key: int, first: int, end: int, as_of: datetime | None) -> Floats:
    """From the days that were recorded; the others from the versions of dispatch, interval by interval."""
    power_kw = np.zeros(end - first)
    is_known = np.zeros(end - first, dtype=bool)
    for day, recorded_kw in (await store.read_dispatched_days(db, asset_key, first, end)).items():
        low, high = market_day_periods(day)
        # Before its end, a day was planned in another way.
        if low < first or high > end or (as_of is not None and period_start(high) > as_of):
            continue
        power_kw[low - first : high - first] = recorded_kw
        is_known[low - first : high - first] = True
    edges = np.flatnonzero(np.diff(np.concatenate([[True], is_known, [True]]))).tolist()
    for low, high in zip(edges[::2], edges[1::2], strict=True):
        dispatch = await load_dispatch(db, asset_key, first + low, first + high, as_of)
        power_kw[low:high] = dispatch.power_kw
    return power_kw


async def load_exported_kwh(db: Database, asset_key: int, period: int) -> tuple[float, float]:
    """Energy that a battery was dispatched to export in the market day and in the year of a period, before it."""
    year_first, day_first = _find_year_first(period), market_day_periods(market_day_of(period_start(period)))[0]
    power_kw = await _load_dispatched_kw(db, asset_key, year_first, period, None)
    exported_kwh = QUARTER_HOUR_H * np.maximum(power_kw, 0.0)
    return float(exported_kwh[day_first - year_first :].sum()), float(exported_kwh.sum())


async def record_dispatched_days(db: Database, keys: Sequence[int], today: date) -> None:
    """Record the days before today that are not recorded yet, at most MAX_RECORDED_DAYS of them; their dispatch is
    final."""
    last = await store.read_last_dispatched_days(db, keys)
    for key in keys:
        since = max(last.get(key, date.min) + timedelta(days=1), today - timedelta(days=MAX_RECORDED_DAYS))
        if since >= today:
            continue
        first, end = market_day_periods(since)[0], market_day_periods(today)[0]
        dispatch = await load_dispatch(db, key, first, end)
        power_kw = dispatch.power_kw
        days = [since + timedelta(days=number) for number in range((today - since).days)]
        spans = [market_day_periods(day) for day in days]
        await store.add_dispatched_days(
            db, key, days, [power_kw[low - first : high - first].tolist() for low, high in spans]
        )
