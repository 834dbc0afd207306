"""Measured against dispatched power of batteries, over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from uuid import UUID

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, UnsetType

from gridloom.delivery.performance.energy_use import EnergyUse, load_energy_use
from gridloom.delivery.performance.performance import Performance, load_performance
from gridloom.delivery.wire import TABLES, AsOfWindowQuery, stream_periods, stream_points
from gridloom.kernel.dependency import Dependency
from gridloom.kernel.market_time import period_number, period_number_from, period_start
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Forbidden
from gridloom.kernel.units import QUARTER_HOUR_H
from gridloom.kernel.window import Window
from gridloom.market_calendar import Floats
from gridloom.physical_assets.window_query import requested_window
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database, repeatable_read
from gridloom.platform.http import JSON, Request, ResponseBody, Stream, operation
from gridloom.platform.identity.authorization import PHYSICAL_ASSET, AuthorizedAsset, authorize_asset
from gridloom.settlements.as_of import MEASURED, AsOfTooEarly, check_as_of

TAG = "Delivery"
READ = Permission.READ_MONITORING

Flags = npt.NDArray[np.bool_]

READ_EARNED_PER_MW: Dependency[Callable[[Database, int, Window, datetime | None], Awaitable[float | None]]] = (
    Dependency("what a battery earns per MW")
)
"""From a battery's key and a window: EUR per MW of mean rated power, None without any."""


class PerformancePoint(ResponseBody):
    """One quarter-hour. What was not measured of it counts as dispatched; what is to come has no deviation."""

    time: datetime
    dispatched_power: float
    planned_state_of_charge_percentage: float
    measured_share: float
    measured_power: float | UnsetType = UNSET
    reserve_response: float | UnsetType = UNSET
    power_deviation: float | UnsetType = UNSET
    energy_deviation: float | UnsetType = UNSET
    measured_state_of_charge_percentage: float | UnsetType = UNSET
    state_of_charge_drift: float | UnsetType = UNSET
    availability_delivered: float | UnsetType = UNSET


class PerformanceSummary(ResponseBody):
    """Over all quarter-hours that were planned and have passed; what was not measured counts as dispatched."""

    measured_periods: int
    assumed_energy: float
    asked_energy: float
    delivered_energy: float
    energy_deviation: float
    charged_energy: float
    discharged_energy: float
    measured_share: float | UnsetType = UNSET
    measured_energy_share: float | UnsetType = UNSET
    earned_per_mw: float | UnsetType = UNSET
    availability_delivered: float | UnsetType = UNSET
    state_of_charge_drift: float | UnsetType = UNSET


class BatteryEnergyUse(ResponseBody):
    """Of a market day or a calendar year from its start to the end of the window or now: measured, else dispatched."""

    start: datetime
    end: datetime
    charged_energy: float
    discharged_energy: float
    throughput: float
    cycles: float
    cycle_limit: float | UnsetType = UNSET


class DeliveryPerformance(ResponseBody):
    """A battery's measured power against its dispatch."""

    physical_asset_id: UUID
    start: datetime
    end: datetime
    summary: PerformanceSummary
    days: list[BatteryEnergyUse]
    years: list[BatteryEnergyUse]
    performance: list[PerformancePoint]


@operation(
    "GET",
    PHYSICAL_ASSET + "/performance",
    summary="Read what was delivered of what was asked",
    access=READ,
    produces=TABLES,
    response_schema=DeliveryPerformance,
    problems=(AsOfTooEarly,),
    replica_read=True,
    columns=20,
)
async def read_performance(request: Request, physical_asset_id: UUID, query: AsOfWindowQuery) -> Stream:
    """Telemetry (`active_power`, `reserve_power`, `state_of_charge`) against the dispatch, for each quarter-hour that
    was planned.

    A sample holds until the next, at most five minutes or three times the day's median step, whichever is longer, and
    never past its quarter-hour. The rest of a quarter-hour counts as dispatched.
    """
    async with repeatable_read(request.pool) as db:
        reach = await authorize_asset(db, request.caller, physical_asset_id, READ)
        window = await requested_window(db, query)
        first, end = period_number(window.start), period_number_from(window.end)
        await check_as_of(db, query.as_of, MEASURED)
        performance = await load_performance(db, reach.key, first, end, query.as_of)
        current = period_number(query.as_of or await platform_now(db))
        is_json = request.accepts == JSON
        uses = await load_energy_use(db, reach.key, performance, min(end, current), query.as_of) if is_json else None
        earned = await _read_earned_per_mw(db, request, reach, window, query.as_of) if is_json else UNSET
    columns, summary = await asyncio.to_thread(_summarise_performance, performance, current, earned)
    if uses is None:
        planned = performance.dispatch.is_planned
        kept = {name: column[planned] for name, column in columns.items()}
        return stream_periods(
            request.accepts, first, kept, f"performance-{physical_asset_id}", np.flatnonzero(planned) + first
        )
    answer = DeliveryPerformance(
        physical_asset_id=physical_asset_id,
        start=window.start,
        end=window.end,
        summary=summary,
        days=[_view_energy_use(one) for one in uses.days],
        years=[_view_energy_use(one) for one in uses.years],
        performance=[],
    )
    return Stream(stream_points(answer, first, columns, np.flatnonzero(performance.dispatch.is_planned)), JSON)


async def _read_earned_per_mw(
    db: Database, request: Request, asset: AuthorizedAsset, window: Window, as_of: datetime | None
) -> float | UnsetType:
    """Unset for callers that may not read the battery's revenue, and where it has no rated power."""
    try:
        await authorize_asset(db, request.caller, request.path_values["physical_asset_id"], Permission.READ_REVENUE)
    except Forbidden:
        return UNSET
    earned = await READ_EARNED_PER_MW.get()(db, asset.key, window, as_of)
    return UNSET if earned is None else round(earned, 2)


def _view_energy_use(use: EnergyUse) -> BatteryEnergyUse:
    return BatteryEnergyUse(
        start=period_start(use.first),
        end=period_start(use.end),
        charged_energy=round(use.charged_kwh, 6),
        discharged_energy=round(use.discharged_kwh, 6),
        throughput=round(use.throughput_kwh, 6),
        cycles=round(use.cycles, 6),
        cycle_limit=UNSET if use.cycle_limit is None else use.cycle_limit,
    )


def _summarise_performance(
    performance: Performance, current: int, earned_per_mw: float | UnsetType
) -> tuple[dict[str, Floats], PerformanceSummary]:
    counts = find_counted(performance, current)
    return performance_columns(performance, counts), sum_up(performance, counts, earned_per_mw)


def find_counted(performance: Performance, current: int) -> Flags:
    """Where the battery was to do something and that has passed, or some of it was measured already."""
    dispatch = performance.dispatch
    has_passed = np.arange(dispatch.first, dispatch.first + len(dispatch.is_planned)) < current
    return np.asarray(dispatch.is_planned & (has_passed | (performance.measured_share > 0)))


def performance_columns(performance: Performance, counts: Flags) -> dict[str, Floats]:
    columns = {
        "dispatchedPower": performance.dispatch.power_kw,
        "plannedStateOfChargePercentage": performance.dispatch.state_of_charge_percentage,
        "measuredShare": performance.measured_share,
        "measuredPower": performance.measured_kw,
        "reserveResponse": performance.reserve_response_kw,
        "powerDeviation": np.where(counts, performance.deviation_kw, np.nan),
        "energyDeviation": np.where(counts, performance.deviation_kwh, np.nan),
        "measuredStateOfChargePercentage": performance.measured_soc,
        "stateOfChargeDrift": performance.soc_drift,
        "availabilityDelivered": np.where(counts, performance.delivered_part, np.nan),
    }
    return {name: np.round(column, 6) for name, column in columns.items()}


def sum_up(performance: Performance, counts: Flags, earned_per_mw: float | UnsetType) -> PerformanceSummary:
    asked_kw = performance.dispatch.power_kw[counts]
    delivered_kw = np.clip(performance.counted_kw[counts] * np.sign(asked_kw), 0.0, np.abs(asked_kw))
    asked_kwh = QUARTER_HOUR_H * float(np.abs(asked_kw).sum())
    delivered_kwh = QUARTER_HOUR_H * float(delivered_kw.sum())
    moved_kwh = QUARTER_HOUR_H * performance.measured.active_kw.over(performance.dispatch.power_kw)[counts]
    assumed_kwh = float(performance.assumed_kwh[counts].sum())
    drift = performance.soc_drift[performance.dispatch.is_planned & ~np.isnan(performance.soc_drift)]
    return PerformanceSummary(
        measured_periods=int((performance.measured_share[counts] > 0).sum()),
        measured_share=round(float(performance.measured_share[counts].mean()), 6) if counts.any() else UNSET,
        assumed_energy=round(assumed_kwh, 6),
        charged_energy=round(float(np.maximum(-moved_kwh, 0.0).sum()), 6),
        discharged_energy=round(float(np.maximum(moved_kwh, 0.0).sum()), 6),
        measured_energy_share=round(1.0 - assumed_kwh / asked_kwh, 6) if asked_kwh > 0 else UNSET,
        earned_per_mw=earned_per_mw,
        asked_energy=round(asked_kwh, 6),
        delivered_energy=round(delivered_kwh, 6),
        energy_deviation=round(float(performance.deviation_kwh[counts].sum()), 6) + 0.0,
        availability_delivered=round(delivered_kwh / asked_kwh, 6) if asked_kwh > 0 else UNSET,
        state_of_charge_drift=round(float(drift[-1]), 6) if len(drift) else UNSET,
    )
