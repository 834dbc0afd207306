"""The drift of a zone goes to market: placed at noon for the next market day, traded when prices are published."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import Final

import numpy as np

from gridloom.delivery import plan_store
from gridloom.delivery.dispatch.store import read_asset_ids
from gridloom.delivery.failures.store import read_failures
from gridloom.delivery.inputs.loading import load_zone
from gridloom.delivery.performance.energy_use import record_dispatched_days
from gridloom.delivery.planning.distribution import energy_changes_kwh
from gridloom.delivery.planning.drift import (
    GAIN_DAYS,
    NoonDrift,
    mean_gain_kwh,
    place_drift_kw,
    split_drift_kwh,
)
from gridloom.delivery.planning.model import ZoneInput, ZonePlan
from gridloom.delivery.runs import store
from gridloom.delivery.runs.finalisation import PLATFORM_ID
from gridloom.delivery.runs.store import PlacedDrift
from gridloom.kernel.dependency import Dependency
from gridloom.kernel.market_time import MARKET_ZONE, market_day_of, market_day_window, period_number
from gridloom.kernel.units import KW_PER_MW, QUARTER_HOUR_H
from gridloom.kernel.window import Window
from gridloom.market_calendar import Floats, market_day_periods
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.platform.jobs import JobRun, enqueue, job
from gridloom.reference_prices.model import PublishedPrice
from gridloom.reference_prices.store import read_period_prices
from gridloom.settlements.model import WHOLESALE_TRADES, Origin, WholesaleTrade
from gridloom.settlements.recording import Recorder, record_settlements

PLACE_DRIFT_JOB: Final = "delivery.place-drift"
"""Keyed by a delivery zone, at 12:00 market time of each day."""
TRADE_DRIFT_JOB: Final = "delivery.trade-drift"
"""Keyed by a market day, for all zones, when its day-ahead prices are published."""
DAY_AHEAD_SERIES: Final = "DAY_AHEAD_DE_LU"
MAX_PRICE_DELAY: Final = timedelta(days=14)
"""Prices published or corrected later change no drift trade."""

READ_PRICE_FORECAST: Dependency[Callable[[Database, date], Awaitable[Floats | None]]] = Dependency(
    "day-ahead price forecasts"
)
"""From a delivery day: the median price of each of its quarter-hours, None where none is published."""


def next_noon(now: datetime) -> datetime:
    """The next 12:00 of market time after now."""
    local = now.astimezone(MARKET_ZONE)
    day = local.date() if local.time() < time(12) else local.date() + timedelta(days=1)
    return datetime.combine(day, time(12), MARKET_ZONE)


async def enqueue_placement(db: Database, zone: str, now: datetime) -> None:
    """For a zone that has a plan; a placement that is due earlier stays."""
    await enqueue(db, PLACE_DRIFT_JOB, key=zone, due=next_noon(now), clock="platform", keep_earlier_due=True)


@job(PLACE_DRIFT_JOB, clock="platform")
async def place_zone_drift(run: JobRun) -> None:
    """Place what the next market day will end with, by the plan as it is at noon."""
    now = await platform_now(run.db)
    state = await plan_store.lock_zone(run.db, run.key)
    plan = state.plan
    first, today = period_number(now), market_day_of(now)
    if plan is None or not plan.first <= first < plan.end:
        return
    await record_dispatched_days(run.db, plan.battery_keys.tolist(), today)
    tomorrow = today + timedelta(days=1)
    day_first, day_end = market_day_periods(tomorrow)
    zone = (await load_zone(run.db, run.key, first, day_end)).zone
    if not zone.limits.backs_virtual_asset.any():
        return  # the next run of the zone asks for a placement again
    await enqueue(run.db, PLACE_DRIFT_JOB, key=run.key, due=next_noon(now), clock="platform")
    drift_kwh = _find_drift_kwh(zone, plan, first)
    zone_drift_kwh = float(drift_kwh.sum())
    gain_kwh = await _read_mean_gain_kwh(run.db, run.key, zone, today, zone_drift_kwh)
    placed_kwh = _find_placed_kwh(zone, zone.limits.drift_kw)
    days = (market_day_window(tomorrow).end - now) / timedelta(days=1)
    ending_kwh = zone_drift_kwh - float(placed_kwh.sum()) + gain_kwh * days
    columns = slice(day_first - first, day_end - first)
    price_eur_mwh = await READ_PRICE_FORECAST.get()(run.db, tomorrow)
    parts_kwh = split_drift_kwh(ending_kwh, zone.limits.promised_kwh[:, columns].mean(axis=1), drift_kwh)
    room_kwh, stored_kwh = _find_most_kwh(zone, plan, first)
    powers_kw = _place_all(zone, columns, np.clip(parts_kwh, -room_kwh, stored_kwh), price_eur_mwh)
    for row in np.flatnonzero(powers_kw.any(axis=1)).tolist():
        await store.add_placement(run.db, int(zone.battery_keys[row]), tomorrow, day_first, powers_kw[row], now)
    until_noon = period_number(next_noon(now)) - first
    zone.limits.drift_kw[:, columns] = powers_kw
    placed_kwh = _find_placed_kwh(zone, zone.limits.drift_kw[:, :until_noon])
    await store.put_noon(run.db, run.key, today, NoonDrift(zone_drift_kwh, float(placed_kwh.sum())))
    await _enqueue_trades_of_days(run.db, [tomorrow], now)


async def _read_mean_gain_kwh(db: Database, delivery_zone: str, zone: ZoneInput, today: date, now_kwh: float) -> float:
    """By the noons of the last days and the drift now, without what failures left in between."""
    days = [today - timedelta(days=ago) for ago in range(GAIN_DAYS, -1, -1)]
    noons = await store.read_noons(db, delivery_zone, days[0]) | {today: NoonDrift(now_kwh, 0.0)}
    firsts = [period_number(datetime.combine(day, time(12), MARKET_ZONE)) for day in days]
    failed_kwh = await _read_failed_kwh(db, zone, firsts)
    return mean_gain_kwh(
        [
            replace(noons[day], failed_kwh=since_kwh) if day in noons else None
            for day, since_kwh in zip(days, [0.0, *failed_kwh], strict=True)
        ]
    )


async def _read_failed_kwh(db: Database, zone: ZoneInput, firsts: Sequence[int]) -> list[float]:
    """The energy that failures left in the zone's batteries from each of these periods to the next."""
    limits, rows = zone.limits, {key: row for row, key in enumerate(zone.battery_keys.tolist())}
    failed_kwh = np.zeros(len(firsts) - 1)
    for one in await read_failures(db, list(rows), firsts[0], firsts[-1]):
        row = rows[one.asset_key]
        change_kwh = energy_changes_kwh(
            np.array([one.missed_kw]), limits.charge_efficiency[row, :1], limits.discharge_efficiency[row, :1]
        )
        failed_kwh[bisect_right(firsts, one.period) - 1] -= float(change_kwh[0])
    return [float(kwh) for kwh in failed_kwh]


def _find_drift_kwh(zone: ZoneInput, plan: ZonePlan, first: int) -> Floats:
    """Of each battery of the zone that backs a virtual asset, now or until the end of tomorrow."""
    column = first - plan.first
    drift_kwh = np.zeros(len(zone.battery_keys))
    _, rows, planned = np.intersect1d(zone.battery_keys, plan.battery_keys, return_indices=True)
    drift_kwh[rows] = plan.energy_kwh[planned, column] - plan.share_energy_kwh[planned, column]
    return np.where(zone.limits.backs_virtual_asset.any(axis=1), drift_kwh, 0.0)


def _find_most_kwh(zone: ZoneInput, plan: ZonePlan, first: int) -> tuple[Floats, Floats]:
    """The most that each planned battery can take in, and can give, at any time of the plan: what is placed beyond that
    is never moved, and would count as gained when the next drift is estimated."""
    count = min(plan.end, zone.end) - first
    room_kwh, stored_kwh = np.full((2, len(zone.battery_keys)), np.inf)
    _, rows, planned = np.intersect1d(zone.battery_keys, plan.battery_keys, return_indices=True)
    energy_kwh = plan.in_reach_kwh[planned, first - plan.first :][:, :count]
    room_kwh[rows] = (zone.limits.high_kwh[rows, :count] - energy_kwh).max(axis=1)
    stored_kwh[rows] = (energy_kwh - zone.limits.low_kwh[rows, :count]).max(axis=1)
    return np.maximum(room_kwh, 0.0), np.maximum(stored_kwh, 0.0)


def _find_placed_kwh(zone: ZoneInput, drift_kw: Floats) -> Floats:
    """The energy that placed drift takes out of each battery."""
    count = drift_kw.shape[1]
    limits = zone.limits
    changes_kwh = energy_changes_kwh(
        drift_kw, limits.charge_efficiency[:, :count], limits.discharge_efficiency[:, :count]
    )
    return np.asarray(-changes_kwh.sum(axis=1))


def _place_all(zone: ZoneInput, columns: slice, parts_kwh: Floats, price_eur_mwh: Floats | None) -> Floats:
    """The powers of all batteries in tomorrow's columns."""
    limits = zone.limits
    if price_eur_mwh is not None and len(price_eur_mwh) != columns.stop - columns.start:
        price_eur_mwh = None
    powers_kw = []
    for row, stored_kwh in enumerate(parts_kwh.tolist()):
        free_kw, efficiency = (
            (limits.free_discharge_kw, limits.discharge_efficiency)
            if stored_kwh > 0
            else (limits.free_charge_kw, limits.charge_efficiency)
        )
        placed_kw = place_drift_kw(
            stored_kwh, float(efficiency[row, columns].mean()), free_kw[row, columns], price_eur_mwh
        )
        powers_kw.append(placed_kw)
    return np.array(powers_kw).reshape(len(parts_kwh), columns.stop - columns.start)


# --- trades ----------------------------------------------------------------------------------------------------------


async def enqueue_trades(db: Database, prices: Sequence[PublishedPrice]) -> None:
    """Day-ahead prices were published: what is placed in their days becomes trades."""
    now = await platform_now(db)
    first, last = _tradable_days(now)
    window = Window(market_day_window(first).start, market_day_window(last).end)
    days = {market_day_of(one.start) for one in prices if one.series == DAY_AHEAD_SERIES and one.start in window}
    await _enqueue_trades_of_days(db, sorted(days), now)


def _tradable_days(now: datetime) -> tuple[date, date]:
    """The first and the last market day whose prices can still, or already, become known and change trades."""
    return market_day_of(now - MAX_PRICE_DELAY), market_day_of(now) + timedelta(days=1)


async def _enqueue_trades_of_days(db: Database, days: Sequence[date], now: datetime) -> None:
    for day in days:
        await enqueue(db, TRADE_DRIFT_JOB, key=day.isoformat(), due=now, clock="platform", keep_earlier_due=True)


@job(TRADE_DRIFT_JOB, clock="platform", limit=timedelta(minutes=5))
async def trade_placed_drift(run: JobRun) -> None:
    """A trade for each placed quarter-hour of a day whose prices are all published; the same again changes nothing."""
    if not run.key:  # a replica of an earlier release asks for all days at once
        now = await platform_now(run.db)
        first, last = _tradable_days(now)
        await _enqueue_trades_of_days(run.db, [first + timedelta(days=n) for n in range((last - first).days + 1)], now)
        return
    day = date.fromisoformat(run.key)
    prices = await read_period_prices(run.db, DAY_AHEAD_SERIES, *market_day_periods(day))
    if np.isnan(prices).any():
        return  # their publication asks again
    placements = await store.read_placements(run.db, day)
    ids = await read_asset_ids(run.db, [one.asset_key for one in placements])
    rows = [
        row for one in placements if one.asset_key in ids for row in _list_trades(one, str(ids[one.asset_key]), prices)
    ]
    if rows:
        await record_settlements(run.db, WHOLESALE_TRADES, rows, Recorder(by=PLATFORM_ID, origin=Origin.COMPUTED))


def _list_trades(placement: PlacedDrift, asset_id: str, price_eur_mwh: Floats) -> list[WholesaleTrade]:
    window = market_day_window(placement.day)
    return [
        WholesaleTrade(
            asset_id=asset_id,
            trade_id=f"drift-{placement.day.isoformat()}",
            time=window.start + timedelta(minutes=15) * index,
            side="SELL" if placement.power_kw[index] > 0 else "BUY",
            volume=round(abs(float(placement.power_kw[index])) * QUARTER_HOUR_H / KW_PER_MW, 8),
            price=round(float(price_eur_mwh[index]), 2),
            market="DAY_AHEAD",
            executed_at=placement.recorded_at,
        )
        for index in np.flatnonzero(placement.power_kw).tolist()
    ]
