"""Open positions of virtual assets and the performance of batteries over HTTP."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Annotated
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import UNSET, Meta, UnsetType

from gridloom.database.clock import platform_now
from gridloom.database.pool import repeatable_read
from gridloom.delivery.performance.performance import Performance, load_performance
from gridloom.delivery.positions.position import Position, load_position
from gridloom.edge import ARROW, CSV, JSON, PARQUET, Content, Request, ResponseBody, Stream, operation
from gridloom.edge.fields import to_json
from gridloom.identity.authorization import authorize_asset
from gridloom.kernel.market_time import period_number, period_number_from, period_start
from gridloom.kernel.permission import Permission
from gridloom.kernel.units import QUARTER_HOUR_H
from gridloom.market_calendar import PERIOD_S, Floats
from gridloom.physical_assets.window_query import WindowQuery, requested_window
from gridloom.settlements.as_of import MEASURED, PRICES, AsOf, AsOfTooEarly, check_as_of
from gridloom.tables import TIME, stream_table
from gridloom.virtual_assets.asset_lookup import ASSET, require_asset
from gridloom.virtual_assets.asset_lookup import TAG as VIRTUAL_TAG
from gridloom.virtual_assets.rules import requested_periods

TABLES = (JSON, CSV, ARROW, PARQUET)
MEASURE = Permission.READ_MONITORING
TAG = "Delivery"

Flags = npt.NDArray[np.bool_]

Energy = Annotated[float, Meta(description="MWh")]


class KnownWindowQuery(WindowQuery, kw_only=True):
    as_of: AsOf = None


class PositionPoint(ResponseBody):
    """One quarter-hour. `open` = sold − bought + activated − delivered."""

    time: datetime
    bought: Annotated[float, Meta(description="MWh traded in")]
    sold: Annotated[float, Meta(description="MWh traded out")]
    scheduled: Annotated[float, Meta(description="MWh as accepted; positive is export")]
    netted: Annotated[float, Meta(description="MWh that met opposite schedules of the zone; it never changes `open`")]
    activated: Annotated[float, Meta(description="MWh of settled aFRR activations; positive is export")]
    delivered: Annotated[float, Meta(description="MWh after cuts, activations included; positive is export")]
    open: Annotated[float, Meta(description="MWh; positive was sold and is not delivered")]
    imbalance_price: Annotated[float, Meta(description="EUR/MWh, where published")] | UnsetType = UNSET
    imbalance_cost: Annotated[float, Meta(description="EUR; negative is income")] | UnsetType = UNSET


@operation(
    "GET",
    ASSET + "/position",
    summary="Read the open position",
    tag=VIRTUAL_TAG,
    access=Permission.READ_VIRTUAL_ASSETS,
    produces=TABLES,
    response_schema=list[PositionPoint],
    problems=(AsOfTooEarly,),
    replica_read=True,
)
async def read_position(
    request: Request, organisation_id: UUID, virtual_asset_id: UUID, query: KnownWindowQuery
) -> Content | Stream:
    """What was traded against what the asset delivers, in each quarter-hour of its life that starts in the window.

    Cuts that are known to come count as made. An open volume costs the published imbalance price (`REBAP_DE`). As of an
    earlier moment only what was recorded until then counts, and no cut that was still to come.
    """
    async with repeatable_read(request.pool) as db:
        asset = await require_asset(db, request.caller, organisation_id, virtual_asset_id)
        first, end = asset.clip(*requested_periods(query.start, query.end, await platform_now(db)))
        await check_as_of(db, query.as_of, PRICES)
        position = await load_position(db, asset, first, end, query.as_of)
    columns = _position_columns(position)
    if request.accepts != JSON:
        return _stream_table(request.accepts, first, columns, f"position-{virtual_asset_id}")
    points = []
    for place in range(end - first):
        values = {name: float(column[place]) + 0.0 for name, column in columns.items()}
        priced = not math.isnan(values["imbalancePrice"])
        points.append(
            PositionPoint(
                time=period_start(first + place),
                bought=values["bought"],
                sold=values["sold"],
                scheduled=values["scheduled"],
                netted=values["netted"],
                activated=values["activated"],
                delivered=values["delivered"],
                open=values["open"],
                imbalance_price=values["imbalancePrice"] if priced else UNSET,
                imbalance_cost=values["imbalanceCost"] if priced else UNSET,
            )
        )
    return Content(to_json(points), JSON)


def _position_columns(position: Position) -> dict[str, Floats]:
    columns = {
        "bought": position.bought_mwh,
        "sold": position.sold_mwh,
        "scheduled": position.scheduled_mwh,
        "netted": position.netted_mwh,
        "activated": position.activated_mwh,
        "delivered": position.delivered_mwh,
        "open": position.open_mwh,
        "imbalancePrice": position.price_eur_mwh,
        "imbalanceCost": position.cost_eur,
    }
    return {name: np.round(column, 8) for name, column in columns.items()}


class PerformancePoint(ResponseBody):
    """One quarter-hour. What was not measured of it counts as dispatched; what is to come has no deviation."""

    time: datetime
    dispatched_power: Annotated[float, Meta(description="kW that the battery was to do; positive is export")]
    planned_state_of_charge_percentage: Annotated[float, Meta(description="At the start of the quarter-hour, planned")]
    measured_share: Annotated[
        float, Meta(description="The part of the quarter-hour in which `active_power` was measured, 0 to 1")
    ]
    measured_power: (
        Annotated[float, Meta(description="kW, the mean of `active_power` over what was measured")] | UnsetType
    ) = UNSET
    reserve_response: (
        Annotated[float, Meta(description="kW within it that answered FCR and aFRR (`reserve_power`), no deviation")]
        | UnsetType
    ) = UNSET
    power_deviation: (
        Annotated[float, Meta(description="kW measured, without the reserve response, less dispatched")] | UnsetType
    ) = UNSET
    energy_deviation: Annotated[float, Meta(description="kWh, likewise")] | UnsetType = UNSET
    measured_state_of_charge_percentage: (
        Annotated[float, Meta(description="At the start of the quarter-hour, measured")] | UnsetType
    ) = UNSET
    state_of_charge_drift: (
        Annotated[float, Meta(description="Measured less planned, in percentage points")] | UnsetType
    ) = UNSET
    availability_delivered: (
        Annotated[float, Meta(description="The part of what was asked that was delivered, 0 to 1")] | UnsetType
    ) = UNSET


class PerformanceSummary(ResponseBody):
    """Over all quarter-hours that were planned and have passed; what was not measured counts as dispatched."""

    measured_periods: Annotated[int, Meta(description="Quarter-hours of which anything was measured")]
    assumed_energy: Annotated[float, Meta(description="kWh, both ways added up, that count as dispatched unmeasured")]
    asked_energy: Annotated[float, Meta(description="kWh that were asked for, both ways added up")]
    delivered_energy: Annotated[float, Meta(description="kWh of them that were delivered")]
    energy_deviation: Annotated[float, Meta(description="kWh measured less dispatched")]
    measured_share: Annotated[float, Meta(description="The part of the time that was measured, 0 to 1")] | UnsetType = (
        UNSET
    )
    availability_delivered: (
        Annotated[float, Meta(description="Delivered ÷ asked, 0 to 1; left out where nothing was asked")] | UnsetType
    ) = UNSET
    state_of_charge_drift: Annotated[float, Meta(description="The latest, in percentage points")] | UnsetType = UNSET


class DeliveryPerformance(ResponseBody):
    """What was measured of a battery against what it was dispatched for."""

    physical_asset_id: UUID
    start: datetime
    end: datetime
    summary: Annotated[PerformanceSummary, Meta(description="All of it together")]
    performance: Annotated[list[PerformancePoint], Meta(description="The planned quarter-hours of the window")]


@operation(
    "GET",
    "/physical-assets/{physicalAssetID}/performance",
    summary="Read what was delivered of what was asked",
    access=MEASURE,
    produces=TABLES,
    response_schema=DeliveryPerformance,
    problems=(AsOfTooEarly,),
    replica_read=True,
)
async def read_performance(request: Request, physical_asset_id: UUID, query: KnownWindowQuery) -> Content | Stream:
    """Telemetry (`active_power`, `reserve_power`, `state_of_charge`) against the dispatch, for each quarter-hour that
    was planned.

    A sample holds until the next, at most five minutes or three times the day's median step, whichever is longer, and
    never past its quarter-hour. The rest of a quarter-hour counts as dispatched.
    """
    async with repeatable_read(request.pool) as db:
        reach = await authorize_asset(db, request.caller, physical_asset_id, MEASURE)
        window = await requested_window(db, query)
        first, end = period_number(window.start), period_number_from(window.end)
        await check_as_of(db, query.as_of, MEASURED)
        performance = await load_performance(db, reach.key, first, end, query.as_of)
        counts = _find_counted(performance, period_number(query.as_of or await platform_now(db)))
    columns = _performance_columns(performance, counts)
    if request.accepts != JSON:
        planned = performance.dispatch.is_planned
        kept = {name: column[planned] for name, column in columns.items()}
        return _stream_table(
            request.accepts, first, kept, f"performance-{physical_asset_id}", np.flatnonzero(planned) + first
        )
    answer = DeliveryPerformance(
        physical_asset_id=physical_asset_id,
        start=window.start,
        end=window.end,
        summary=_sum_up(performance, counts),
        performance=[
            _performance_point(first + place, {name: float(column[place]) + 0.0 for name, column in columns.items()})
            for place in np.flatnonzero(performance.dispatch.is_planned).tolist()
        ],
    )
    return Content(to_json(answer), JSON)


def _find_counted(performance: Performance, current: int) -> Flags:
    """Where the battery was to do something and that has passed, or some of it was measured already."""
    dispatch = performance.dispatch
    has_passed = np.arange(dispatch.first, dispatch.first + len(dispatch.is_planned)) < current
    return np.asarray(dispatch.is_planned & (has_passed | (performance.measured_share > 0)))


def _performance_columns(performance: Performance, counts: Flags) -> dict[str, Floats]:
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


def _performance_point(period: int, values: Mapping[str, float]) -> PerformancePoint:
    def known(name: str) -> float | UnsetType:
        return UNSET if math.isnan(values[name]) else values[name]

    return PerformancePoint(
        time=period_start(period),
        dispatched_power=values["dispatchedPower"],
        planned_state_of_charge_percentage=values["plannedStateOfChargePercentage"],
        measured_share=values["measuredShare"],
        measured_power=known("measuredPower"),
        reserve_response=known("reserveResponse"),
        power_deviation=known("powerDeviation"),
        energy_deviation=known("energyDeviation"),
        measured_state_of_charge_percentage=known("measuredStateOfChargePercentage"),
        state_of_charge_drift=known("stateOfChargeDrift"),
        availability_delivered=known("availabilityDelivered"),
    )


def _sum_up(performance: Performance, counts: Flags) -> PerformanceSummary:
    asked_kw = performance.dispatch.power_kw[counts]
    delivered_kw = np.clip(performance.counted_kw[counts] * np.sign(asked_kw), 0.0, np.abs(asked_kw))
    asked_kwh = QUARTER_HOUR_H * float(np.abs(asked_kw).sum())
    delivered_kwh = QUARTER_HOUR_H * float(delivered_kw.sum())
    drift = performance.soc_drift[performance.dispatch.is_planned & ~np.isnan(performance.soc_drift)]
    return PerformanceSummary(
        measured_periods=int((performance.measured_share[counts] > 0).sum()),
        measured_share=round(float(performance.measured_share[counts].mean()), 6) if counts.any() else UNSET,
        assumed_energy=round(float(performance.assumed_kwh[counts].sum()), 6),
        asked_energy=round(asked_kwh, 6),
        delivered_energy=round(delivered_kwh, 6),
        energy_deviation=round(float(performance.deviation_kwh[counts].sum()), 6) + 0.0,
        availability_delivered=round(delivered_kwh / asked_kwh, 6) if asked_kwh > 0 else UNSET,
        state_of_charge_drift=round(float(drift[-1]), 6) if len(drift) else UNSET,
    )


def _stream_table(
    media_type: str, first: int, columns: Mapping[str, Floats], file_name: str, periods: np.ndarray | None = None
) -> Stream:
    """Quarter-hours in rows; NaN is null."""
    schema = pa.schema([pa.field("time", TIME, nullable=False), *(pa.field(name, pa.float64()) for name in columns)])
    count = len(next(iter(columns.values())))
    numbers = np.arange(first, first + count) if periods is None else periods

    async def batches() -> AsyncIterator[pa.RecordBatch]:
        times = pa.array(numbers.astype(np.int64) * (PERIOD_S * 1000), pa.int64()).cast(TIME)
        values = [pa.array(column + 0.0, from_pandas=True) for column in columns.values()]
        yield pa.record_batch([times, *values], schema=schema)

    return stream_table(media_type, schema, batches(), file_name=file_name)
