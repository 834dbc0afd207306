"""Dispatch of batteries and delivery runs over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from uuid import UUID

import numpy as np
import pyarrow as pa
from msgspec import UNSET

from gridloom.delivery import zone_store
from gridloom.delivery.acknowledgements.model import LatestAcknowledgement
from gridloom.delivery.acknowledgements.store import read_latest
from gridloom.delivery.dispatch import store as dispatch_store
from gridloom.delivery.dispatch.reading import DispatchSeries, load_dispatch
from gridloom.delivery.model import PartKind
from gridloom.delivery.runs import store as run_store
from gridloom.delivery.wire import (
    DeliveryRun,
    DeliveryZone,
    Dispatch,
    DispatchPart,
    DispatchPoint,
    DispatchQuery,
    RunsQuery,
    ZoneQuarter,
)
from gridloom.delivery.zone_store import ZoneTotals
from gridloom.kernel.entity_tag import entity_tag
from gridloom.kernel.market_time import period_number, period_number_from, period_start
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Forbidden, NotFound
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.market_calendar import PERIOD_S
from gridloom.physical_assets.window_query import WindowQuery, requested_window
from gridloom.platform.database.pool import repeatable_read
from gridloom.platform.http import ARROW, CSV, JSON, PARQUET, Content, Page, Request, Response, Stream, operation
from gridloom.platform.http.fields import parameter_error, to_json, view_of
from gridloom.platform.http.tables import TIME, stream_table
from gridloom.platform.identity.authorization import PHYSICAL_ASSET, authorize_asset

TAG = "Delivery"
READ = Permission.READ_SCHEDULES

_COLUMNS = (
    *("power", "virtualPower", "ownPower", "driftPower", "fcrPower", "afrrPosPower", "afrrNegPower"),
    "stateOfChargePercentage",
)
SCHEMA = pa.schema(
    [
        pa.field("time", TIME, nullable=False),
        *(pa.field(name, pa.float64(), nullable=False) for name in _COLUMNS),
        pa.field("acknowledgement", pa.string()),
    ]
)


@operation(
    "GET",
    PHYSICAL_ASSET + "/dispatch",
    summary="Read what the battery must do",
    access=READ,
    produces=(JSON, CSV, ARROW, PARQUET),
    response_schema=Dispatch,
    replica_read=True,
    columns=16,
)
async def read_dispatch(request: Request, physical_asset_id: UUID, query: DispatchQuery) -> Response[Content | Stream]:
    """The planned quarter-hours of the window, each with its power and what that is for.

    A quarter-hour is final when the last gate of its delivery zone has closed; before that it is a plan, which reaches
    to the end of the next market day. `acknowledgement` is what the site said last of a quarter-hour. `as-of` answers
    what was planned at an earlier instant. As a table, the parts of each kind are added up.
    """
    async with repeatable_read(request.pool) as db:
        reach = await authorize_asset(db, request.caller, physical_asset_id, READ)
        window = await requested_window(db, query)
        first, end = period_number(window.start), period_number_from(window.end)
        dispatch = await load_dispatch(db, reach.key, first, end, query.as_of)
        last, acknowledged = await read_latest(db, reach.key, first, end, query.as_of)
        ids = await dispatch_store.read_asset_ids(db, [key for _, key in dispatch.parts_kw if key])
    etag = entity_tag(dispatch.version, last) if last else entity_tag(dispatch.version)
    if request.accepts != JSON:
        table = stream_table(
            request.accepts, SCHEMA, stream_dispatch(dispatch, acknowledged), file_name=f"dispatch-{physical_asset_id}"
        )
        return Response(table, etag=etag)
    body = await asyncio.to_thread(dispatch_json, physical_asset_id, dispatch, ids, acknowledged)
    return Response(Content(body, JSON), etag=etag)


def dispatch_json(
    asset_id: UUID,
    dispatch: DispatchSeries,
    ids: Mapping[int, UUID],
    acknowledged: Mapping[int, LatestAcknowledgement],
) -> bytes:
    indexs = np.flatnonzero(dispatch.is_planned).tolist()
    points: dict[int, DispatchPoint] = {}
    power_kw, charge = dispatch.power_kw, dispatch.state_of_charge_percentage
    for index in indexs:
        points[index] = DispatchPoint(
            time=period_start(dispatch.first + index),
            power=_round_value(power_kw[index]),
            parts=[],
            state_of_charge_percentage=_round_value(charge[index]),
            acknowledgement=acknowledged.get(dispatch.first + index, UNSET),
        )
    for (kind, key), part_kw in sorted(
        dispatch.parts_kw.items(), key=lambda part: (list(PartKind).index(part[0][0]), part[0][1])
    ):
        for index in np.flatnonzero(np.abs(part_kw) > POWER_TOLERANCE_KW).tolist():
            if key in ids:  # not one whose allocation was undone since
                part = DispatchPart(kind=kind, power=_round_value(part_kw[index]), virtual_asset_id=ids[key])
            else:
                part = DispatchPart(kind=kind, power=_round_value(part_kw[index]))
            points[index].parts.append(part)
    return to_json(Dispatch(physical_asset_id=asset_id, version=dispatch.version, dispatch=list(points.values())))


def _round_value(value: float) -> float:
    return round(float(value), 6) + 0.0


async def stream_dispatch(
    dispatch: DispatchSeries, acknowledged: Mapping[int, LatestAcknowledgement]
) -> AsyncIterator[pa.RecordBatch]:
    planned = dispatch.is_planned
    times = (np.flatnonzero(planned) + dispatch.first) * (PERIOD_S * 1000)
    columns = (
        dispatch.power_kw,
        dispatch.sum_kw(PartKind.VIRTUAL),
        dispatch.sum_kw(PartKind.OWN),
        dispatch.sum_kw(PartKind.DRIFT),
        dispatch.sum_kw(PartKind.FCR),
        dispatch.sum_kw(PartKind.AFRR_POS),
        dispatch.sum_kw(PartKind.AFRR_NEG),
        dispatch.state_of_charge_percentage,
    )
    values = [pa.array(np.round(column[planned], 6) + 0.0) for column in columns]
    periods = (np.flatnonzero(planned) + dispatch.first).tolist()
    statuses = [acknowledged[period].status.value if period in acknowledged else None for period in periods]
    columns_of_batch = [pa.array(times, pa.int64()).cast(TIME), *values, pa.array(statuses, pa.string())]
    yield pa.record_batch(columns_of_batch, schema=SCHEMA)


@operation("GET", "/delivery/runs", summary="List delivery runs", access=READ, replica_read=True)
async def list_delivery_runs(request: Request, query: RunsQuery) -> Page[DeliveryRun]:
    """For the platform's operator: the runs that changed something, the newest first."""
    _reject_others(request)
    if query.start is not None and query.end is not None and query.start >= query.end:
        raise parameter_error("query", "end", "is not after start")
    runs = await run_store.read_runs(
        request.db,
        zone=query.delivery_zone,
        start=query.start,
        end=query.end,
        before=query.after(tuple[datetime, UUID]),
        limit=query.limit + 1,
    )
    page = query.page(runs, lambda run: (run.began_at, run.id))
    return Page([_view_run(run) for run in page.items], page.next_cursor)


@operation("GET", "/delivery/runs/{runID}", summary="Read a delivery run", access=READ, replica_read=True)
async def read_delivery_run(request: Request, run_id: UUID) -> DeliveryRun:
    """For the platform's operator."""
    _reject_others(request)
    run = await run_store.read_run(request.db, run_id)
    if run is None:
        raise NotFound(f"There is no delivery run {run_id}.")
    return _view_run(run)


@operation("GET", "/delivery/zones", summary="Read what was netted and left unserved", access=READ)
async def list_delivery_zones(request: Request, query: WindowQuery) -> list[DeliveryZone]:
    """For the platform's operator: zone by zone, the quarter-hours of the window that were planned."""
    _reject_others(request)
    async with repeatable_read(request.pool) as db:
        window = await requested_window(db, query)
        first, end = period_number(window.start), period_number_from(window.end)
        found = await zone_store.read_totals(db, first, end)
        final_until = await zone_store.read_final_until(db)
    return [
        DeliveryZone(
            delivery_zone=zone,
            final_until=period_start(final_until.get(zone, first)),
            quarters=_view_quarters(totals),
        )
        for zone, totals in found.items()
    ]


def _view_quarters(totals: ZoneTotals) -> list[ZoneQuarter]:
    dispatched_kw = totals.dispatched_kw
    return [
        ZoneQuarter(
            time=period_start(totals.first + index),
            scheduled_export=_round_value(totals.exported_kw[index]),
            scheduled_import=_round_value(totals.imported_kw[index]),
            netted=_round_value(totals.netted_kw[index]),
            dispatched=_round_value(dispatched_kw[index]),
            unserved=_round_value(totals.unserved_kw[index]),
        )
        for index in np.flatnonzero(totals.is_planned).tolist()
    ]


def _reject_others(request: Request) -> None:
    if not request.caller.is_operator:
        raise Forbidden("Only the platform's operator reads delivery runs.")


def _view_run(run: run_store.Run) -> DeliveryRun:
    return view_of(
        DeliveryRun,
        run,
        time=run.began_at,
        zones=[run.delivery_zone],
        start=period_start(run.first_period),
        end=period_start(run.end_period),
        final_until=period_start(run.final_until),
        changed_dispatches=run.changed_batteries,
        solver_seconds=run.solver_s,
    )
