"""The figures of a month for an investor: energy, cycles against their limit, availability, measured share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final
from uuid import UUID

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from gridloom.capacity.availability import CHARGE, DISCHARGE, ENERGY, AvailabilitySeries
from gridloom.capacity.store import load_availability
from gridloom.delivery.inputs.store import PhysicalParameters, read_parameters
from gridloom.delivery.performance.performance import Performance
from gridloom.kernel.market_time import period_number, period_start
from gridloom.kernel.units import KW_PER_MW, QUARTER_HOUR_H
from gridloom.kernel.window import Window
from gridloom.market_calendar import PERIOD_S, Floats, Ints, market_day_numbers
from gridloom.platform.database.pool import Database
from gridloom.revenue.aggregation import rated_power_mw
from gridloom.revenue.holding_store import read_holdings, read_subject
from gridloom.revenue.model import ReportBuckets
from gridloom.revenue.store import read_ratings
from gridloom.statements.model import Month, NamedAsset
from gridloom.statements.views import AssetMonthView, StatementFigures
from gridloom.virtual_assets.backing.availability import mean_power_fraction
from gridloom.virtual_assets.model import VirtualAsset

_DIGITS: Final = 4
_LEAST_FORESIGHT_EUR: Final = 0.005


class AssetMonth(msgspec.Struct, array_like=True, frozen=True):
    """Sums over the quarter-hours of a month that count: of a battery those that were dispatched and have passed, of a
    virtual asset those of its life that have passed. Charged and discharged is all that a battery moved, reserves
    included: as measured where it was, else as dispatched."""

    days: int
    rated_mw: float
    charged_kwh: float
    discharged_kwh: float
    cycles: float
    cycle_limit: float | None
    availability: float | None
    """Of a battery delivered ÷ asked energy, of a virtual asset the mean of available ÷ rated at the gates."""
    asked_kwh: float = 0.0
    assumed_kwh: float | None = None
    """Of a battery, what of the asked energy nothing was measured of."""
    earned_eur: float | None = None
    """Of a virtual asset, on the markets; of a battery, its own lines and its part of those of virtual assets."""
    dispatched_kwh: tuple[float, float] | None = None
    measured_kwh: tuple[float, float] | None = None
    reserve_kwh: tuple[float, float] | None = None
    """Of a battery, charged and discharged: as dispatched, as measured (reserves included), and for reserves."""
    technical_availability: float | None = None
    """Of a battery, the mean of available ÷ rated, the lesser of power and energy."""
    battery_eur: Mapping[int, float] | None = None
    """Of a virtual asset, by battery, what its owner's lines come to."""
    foresight_eur: float | None = None
    """The earnings of the best day-ahead schedules of all its days, of a month that is over and has all prices."""


def sum_up_battery(
    performance: Performance,
    parameters: Sequence[PhysicalParameters],
    available: Floats,
    rated_mw: float,
    until: int,
    earned_eur: float,
) -> AssetMonth | None:
    """Over the periods before `until`; None where none was dispatched. Parameters in the order of time; `available` is
    available ÷ rated in each period."""
    dispatch = performance.dispatch
    periods = np.arange(dispatch.first, dispatch.first + len(dispatch.is_planned))
    counts = dispatch.is_planned & (periods < until)
    if not counts.any():
        return None
    counted_kw, asked_kw = performance.counted_kw[counts], dispatch.power_kw[counts]
    share, reserves = performance.measured_share[counts], performance.measured.reserve_kw
    reserve_kw = np.nan_to_num(reserves.mean[counts]) * reserves.share[counts]
    moved_kw = performance.measured.active_kw.over(dispatch.power_kw)[counts]
    delivered_kw = np.clip(counted_kw * np.sign(asked_kw), 0.0, np.abs(asked_kw))
    asked_kwh = QUARTER_HOUR_H * float(np.abs(asked_kw).sum())
    days = _find_first_of_days(periods[counts])
    return AssetMonth(
        days=len(days),
        rated_mw=rated_mw,
        charged_kwh=_sum_ways_kwh(moved_kw)[0],
        discharged_kwh=_sum_ways_kwh(moved_kw)[1],
        cycles=QUARTER_HOUR_H * float((np.maximum(moved_kw, 0.0) / dispatch.capacity_kwh[counts]).sum()),
        cycle_limit=_sum_cycle_limits(parameters, days),
        availability=QUARTER_HOUR_H * float(delivered_kw.sum()) / asked_kwh if asked_kwh > 0 else None,
        asked_kwh=asked_kwh,
        assumed_kwh=float(performance.assumed_kwh[counts].sum()),
        earned_eur=earned_eur,
        dispatched_kwh=_sum_ways_kwh(asked_kw),
        measured_kwh=_sum_ways_kwh(share * np.nan_to_num(performance.measured_kw[counts])),
        reserve_kwh=_sum_ways_kwh(reserve_kw),
        technical_availability=float(available[counts].mean()),
    )


def _sum_ways_kwh(power_kw: Floats) -> tuple[float, float]:
    """Charged and discharged."""
    return (
        QUARTER_HOUR_H * float(np.maximum(-power_kw, 0.0).sum()),
        QUARTER_HOUR_H * float(np.maximum(power_kw, 0.0).sum()),
    )


def sum_up_virtual(
    asset: VirtualAsset,
    first: int,
    until: int,
    delivered_kw: Floats,
    missing: Floats,
    earned_eur: float,
    battery_eur: Mapping[int, float],
) -> AssetMonth | None:
    """From `first`, a period of its life, to before `until`; both series begin at `first`, after cuts and by gate."""
    if first >= until:
        return None
    terms, kept_kw = asset.terms, delivered_kw[: until - first]
    days = _find_first_of_days(np.arange(first, until))
    discharged_kwh = QUARTER_HOUR_H * float(np.maximum(kept_kw, 0.0).sum())
    return AssetMonth(
        days=len(days),
        rated_mw=(terms.charge_kw + terms.discharge_kw) / 2 / KW_PER_MW,
        charged_kwh=QUARTER_HOUR_H * float(np.maximum(-kept_kw, 0.0).sum()),
        discharged_kwh=discharged_kwh,
        cycles=discharged_kwh / terms.energy_capacity_kwh,
        cycle_limit=None if terms.daily_cycle_limit is None else terms.daily_cycle_limit * len(days),
        availability=1.0 - float(missing[: until - first].mean()),
        earned_eur=earned_eur,
        battery_eur=battery_eur,
    )


def _find_first_of_days(periods: Ints) -> list[int]:
    """The first of these periods on each market day."""
    _, indices = np.unique(market_day_numbers(periods * PERIOD_S), return_index=True)
    found: list[int] = periods[indices].tolist()
    return found


def _sum_cycle_limits(parameters: Sequence[PhysicalParameters], days: Sequence[int]) -> float | None:
    """The daily limits in force at the first periods of these days; None where one day has none."""
    total = 0.0
    for first in days:
        in_force = [one for one in parameters if period_number(one.valid_from) <= first]
        limit = in_force[-1].daily_cycle_limit if in_force else None
        if limit is None:
            return None
        total += limit
    return total


async def load_battery_month(
    db: Database, key: int, performance: Performance, month: Month, until: int, earned_eur: float
) -> AssetMonth | None:
    """Over the periods before `until`; `earned_eur` by its own lines."""
    dispatch = performance.dispatch
    if not dispatch.is_planned.any():
        return None
    parameters = await read_parameters(db, [key], month.window.end)
    window = Window(period_start(dispatch.first), period_start(dispatch.first + len(dispatch.is_planned)))
    available = _find_technical_availability((await load_availability(db, [key], window))[key])
    rated_mw = await _load_rated_mw(db, [key], month)
    return sum_up_battery(performance, parameters, available, rated_mw, until, earned_eur)


def _find_technical_availability(series: AvailabilitySeries) -> Floats:
    """Available ÷ rated in each period: the lesser of power, the mean of both directions, and energy."""
    rated = series.rated[:, : ENERGY + 1]
    fractions = np.divide(series.available, rated, out=np.ones_like(rated), where=rated > 0)
    rated_kw = float(rated[:, CHARGE].max()), float(rated[:, DISCHARGE].max())
    power = mean_power_fraction(fractions[:, CHARGE], fractions[:, DISCHARGE], rated_kw)
    return np.minimum(power, fractions[:, ENERGY])


def add_battery_lines(months: Mapping[int, AssetMonth], battery_eur: Mapping[int, float]) -> dict[int, AssetMonth]:
    """The months with what each battery earns by virtual assets added to its own lines."""
    return {
        key: msgspec.structs.replace(month, earned_eur=(month.earned_eur or 0.0) + battery_eur[key])
        if key in battery_eur
        else month
        for key, month in months.items()
    }


def sum_battery_lines(months: Iterable[AssetMonth]) -> dict[int, float]:
    """By battery, what virtual assets bring it."""
    sums: dict[int, float] = {}
    for month in months:
        for key, eur in (month.battery_eur or {}).items():
            sums[key] = sums.get(key, 0.0) + eur
    return sums


async def load_organisation_mw(db: Database, organisation_id: UUID, month: Month) -> float:
    """As its reports count it: of its virtual assets and of its batteries not behind them, time-weighted."""
    subject = await read_subject(db, await read_holdings(db, organisation_id, month.window))
    return await _load_rated_mw(db, subject.rated_keys, month)


async def _load_rated_mw(db: Database, keys: Sequence[int], month: Month) -> float:
    ratings = await read_ratings(db, keys, None)
    if not ratings:
        return 0.0
    start_s, end_s = (np.array([instant.timestamp()]) for instant in (month.window.start, month.window.end))
    return float(rated_power_mw([*ratings.values()], ReportBuckets(np.arange(1), start_s, end_s))[0])


def show_figures(
    rated_mw: float, own_eur: Decimal, assets: Iterable[tuple[NamedAsset, AssetMonth]]
) -> StatementFigures:
    """own_eur: the month's lines without corrections."""
    shown = sorted(assets, key=lambda one: (one[0].is_virtual, one[0].name, one[0].id))
    batteries = [month for asset, month in shown if not asset.is_virtual]
    asked_kwh = sum(one.asked_kwh for one in batteries)
    delivered_kwh = sum(one.asked_kwh * (one.availability or 0.0) for one in batteries)
    earned_eur = sum(one.earned_eur or 0.0 for _, one in shown)
    known_eur = [one.foresight_eur for _, one in shown if one.foresight_eur is not None]
    foresight_eur = sum(known_eur) if shown and len(known_eur) == len(shown) else None
    return StatementFigures(
        rated_power=round(rated_mw, _DIGITS),
        earned=round(earned_eur, 2),
        earned_per_mw=round(earned_eur / rated_mw, 2) if rated_mw > 0 else UNSET,
        net_per_mw=round(float(own_eur) / rated_mw, 2) if rated_mw > 0 else UNSET,
        availability_delivered=_find_share(delivered_kwh, asked_kwh),
        measured_share=_find_share(asked_kwh - sum(one.assumed_kwh or 0.0 for one in batteries), asked_kwh),
        foresight=UNSET if foresight_eur is None else round(foresight_eur, 2),
        foresight_share=_find_foresight_share(earned_eur, foresight_eur),
        assets=[_show_asset(asset, month) for asset, month in shown],
    )


def _show_asset(asset: NamedAsset, month: AssetMonth) -> AssetMonthView:
    earned = month.earned_eur
    measured = UNSET if month.assumed_kwh is None else _find_share(month.asked_kwh - month.assumed_kwh, month.asked_kwh)
    technical = month.technical_availability
    return AssetMonthView(
        asset_id=asset.id,
        kind="VIRTUAL" if asset.is_virtual else "PHYSICAL",
        name=asset.name,
        delivery_zone=asset.delivery_zone,
        rated_power=round(month.rated_mw, _DIGITS),
        days=month.days,
        charged_energy=round(month.charged_kwh / KW_PER_MW, _DIGITS),
        discharged_energy=round(month.discharged_kwh / KW_PER_MW, _DIGITS),
        dispatched_charge=_show_way(month.dispatched_kwh, 0),
        dispatched_discharge=_show_way(month.dispatched_kwh, 1),
        measured_charge=_show_way(month.measured_kwh, 0),
        measured_discharge=_show_way(month.measured_kwh, 1),
        reserve_charge=_show_way(month.reserve_kwh, 0),
        reserve_discharge=_show_way(month.reserve_kwh, 1),
        technical_availability=UNSET if technical is None else round(technical, _DIGITS),
        cycles=round(month.cycles, _DIGITS),
        cycle_limit=UNSET if month.cycle_limit is None else round(month.cycle_limit, _DIGITS),
        availability_delivered=UNSET if month.availability is None else round(month.availability, _DIGITS),
        measured_share=measured,
        earned=UNSET if earned is None else round(earned, 2),
        earned_per_mw=round(earned / month.rated_mw, 2) if earned is not None and month.rated_mw > 0 else UNSET,
        foresight=UNSET if month.foresight_eur is None else round(month.foresight_eur, 2),
        foresight_share=_find_foresight_share(earned, month.foresight_eur),
    )


def _find_foresight_share(earned_eur: float | None, foresight_eur: float | None) -> float | UnsetType:
    """Above 1 where reserves or later auctions earned more than the day-ahead auction could have."""
    if earned_eur is None or foresight_eur is None or foresight_eur < _LEAST_FORESIGHT_EUR:
        return UNSET
    return round(earned_eur / foresight_eur, _DIGITS)


def _show_way(energy_kwh: tuple[float, float] | None, way: int) -> float | UnsetType:
    """MWh."""
    return UNSET if energy_kwh is None else round(energy_kwh[way] / KW_PER_MW, _DIGITS)


def _find_share(part_kwh: float, asked_kwh: float) -> float | UnsetType:
    return round(part_kwh / asked_kwh, _DIGITS) if asked_kwh > 0 else UNSET
