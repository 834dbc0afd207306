"""What batteries must do, and the runs that decide it, over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from uuid import UUID

import numpy as np
import pyarrow as pa

from gridloom.database.pool import snapshot
from gridloom.delivery.dispatch import store as dispatch_store
from gridloom.delivery.dispatch.reading import StandingDispatch, load_dispatch
from gridloom.delivery.model import NOISE_KW, PartKind
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
from gridloom.delivery.zones import quarter_store
from gridloom.delivery.zones.quarters import ZoneQuarters
from gridloom.edge import ARROW, CSV, JSON, PARQUET, Answer, Call, Content, Page, Stream, operation
from gridloom.edge.answering.tabular import TIME, stream_table
from gridloom.edge.wire import parameter_refused, to_json
from gridloom.identity.reach import asset_reach
from gridloom.kernel.market_time import period_number, period_number_from, period_start
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Forbidden, NotFound
from gridloom.market_calendar import PERIOD_S
from gridloom.physical_assets.window_query import WindowQuery, asked_window

TAG = "Delivery"
READ = Permission.READ_SCHEDULES

_COLUMNS = ("power", "virtualPower", "ownPower", "fcrPower", "afrrPosPower", "afrrNegPower", "stateOfChargePercentage")
SCHEMA = pa.schema(
    [pa.field("time", TIME, nullable=False), *(pa.field(name, pa.float64(), nullable=False) for name in _COLUMNS)]
)


@operation(
    "GET",
    "/physical-assets/{physicalAssetID}/dispatch",
    summary="Read what the battery must do",
    tag=TAG,
    access=READ,
    produces=(JSON, CSV, ARROW, PARQUET),
    answers=Dispatch,
    from_replica=True,
)
async def read_dispatch(call: Call, physical_asset_id: UUID, query: DispatchQuery) -> Answer[Content | Stream]:
    """The planned quarter-hours of the window, each with its power and what that is for.

    A quarter-hour is final when the last gate of its delivery zone has closed; before that it is a plan, which reaches
    to the end of the next market day. `as-of` answers what was planned at an earlier moment. As a table, the parts of
    each kind are added up.
    """
    async with snapshot(call.pool) as db:
        reach = await asset_reach(db, call.caller, physical_asset_id, READ)
        window = await asked_window(db, query)
        first, end = period_number(window.start), period_number_from(window.end)
        dispatch = await load_dispatch(db, reach.key, first, end, query.as_of)
        ids = await dispatch_store.read_asset_ids(db, [key for _, key in dispatch.parts_kw if key])
    if call.accepts != JSON:
        table = stream_table(call.accepts, SCHEMA, _stream_batches(dispatch), file_name=f"dispatch-{physical_asset_id}")
        return Answer(table, etag=str(dispatch.version))
    body = await asyncio.to_thread(_dispatch_json, physical_asset_id, dispatch, ids)
    return Answer(Content(body, JSON), etag=str(dispatch.version))


def _dispatch_json(asset_id: UUID, dispatch: StandingDispatch, ids: Mapping[int, UUID]) -> bytes:
    places = np.flatnonzero(dispatch.is_planned).tolist()
    points: dict[int, DispatchPoint] = {}
    power_kw, charge = dispatch.power_kw, dispatch.state_of_charge_percentage
    for place in places:
        points[place] = DispatchPoint(
            time=period_start(dispatch.first + place),
            power=_round_value(power_kw[place]),
            parts=[],
            state_of_charge_percentage=_round_value(charge[place]),
        )
    for (kind, key), part_kw in sorted(
        dispatch.parts_kw.items(), key=lambda part: (list(PartKind).index(part[0][0]), part[0][1])
    ):
        for place in np.flatnonzero(np.abs(part_kw) > NOISE_KW).tolist():
            if key in ids:  # not one whose allocation was undone since
                part = DispatchPart(kind=kind, power=_round_value(part_kw[place]), virtual_asset_id=ids[key])
            else:
                part = DispatchPart(kind=kind, power=_round_value(part_kw[place]))
            points[place].parts.append(part)
    return to_json(Dispatch(physical_asset_id=asset_id, version=dispatch.version, dispatch=list(points.values())))


def _round_value(value: float) -> float:
    return round(float(value), 6) + 0.0


async def _stream_batches(dispatch: StandingDispatch) -> AsyncIterator[pa.RecordBatch]:
    planned = dispatch.is_planned
    times = (np.flatnonzero(planned) + dispatch.first) * (PERIOD_S * 1000)
    columns = (
        dispatch.power_kw,
        dispatch.sum_kw(PartKind.VIRTUAL),
        dispatch.sum_kw(PartKind.OWN),
        dispatch.sum_kw(PartKind.FCR),
        dispatch.sum_kw(PartKind.AFRR_POS),
        dispatch.sum_kw(PartKind.AFRR_NEG),
        dispatch.state_of_charge_percentage,
    )
    values = [pa.array(np.round(column[planned], 6) + 0.0) for column in columns]
    yield pa.record_batch([pa.array(times, pa.int64()).cast(TIME), *values], schema=SCHEMA)


@operation("GET", "/delivery/runs", summary="List delivery runs", tag=TAG, access=READ, from_replica=True)
async def list_delivery_runs(call: Call, query: RunsQuery) -> Page[DeliveryRun]:
    """For the platform's operator: the runs that changed something, the newest first."""
    _refuse_others(call)
    if query.start is not None and query.end is not None and query.start >= query.end:
        raise parameter_refused("query", "end", "is not after start")
    runs = await run_store.read_runs(
        call.db,
        zone=query.delivery_zone,
        start=query.start,
        end=query.end,
        before=query.after(tuple[datetime, UUID]),
        limit=query.limit + 1,
    )
    page = query.page(runs, lambda run: (run.began_at, run.id))
    return Page([_view_run(run) for run in page.items], page.next_cursor)


@operation("GET", "/delivery/runs/{runID}", summary="Read a delivery run", tag=TAG, access=READ, from_replica=True)
async def read_delivery_run(call: Call, run_id: UUID) -> DeliveryRun:
    """For the platform's operator."""
    _refuse_others(call)
    run = await run_store.read_run(call.db, run_id)
    if run is None:
        raise NotFound(f"There is no delivery run {run_id}.")
    return _view_run(run)


@operation("GET", "/delivery/zones", summary="Read what was netted and left unserved", tag=TAG, access=READ)
async def list_delivery_zones(call: Call, query: WindowQuery) -> list[DeliveryZone]:
    """For the platform's operator: zone by zone, the quarter-hours of the window that were planned."""
    _refuse_others(call)
    async with snapshot(call.pool) as db:
        window = await asked_window(db, query)
        first, end = period_number(window.start), period_number_from(window.end)
        found = await quarter_store.read_quarters(db, first, end)
        settled_until = await quarter_store.read_settled_until(db)
    return [
        DeliveryZone(
            delivery_zone=zone,
            final_until=period_start(settled_until.get(zone, first)),
            quarters=_view_quarters(quarters),
        )
        for zone, quarters in found.items()
    ]


def _view_quarters(quarters: ZoneQuarters) -> list[ZoneQuarter]:
    dispatched_kw = quarters.dispatched_kw
    return [
        ZoneQuarter(
            time=period_start(quarters.first + place),
            scheduled_export=_round_value(quarters.exported_kw[place]),
            scheduled_import=_round_value(quarters.imported_kw[place]),
            netted=_round_value(quarters.netted_kw[place]),
            dispatched=_round_value(dispatched_kw[place]),
            unserved=_round_value(quarters.unserved_kw[place]),
        )
        for place in np.flatnonzero(quarters.is_planned).tolist()
    ]


def _refuse_others(call: Call) -> None:
    if not call.caller.is_operator:
        raise Forbidden("Only the platform's operator reads delivery runs.")


def _view_run(run: run_store.Run) -> DeliveryRun:
    return DeliveryRun(
        id=run.id,
        time=run.began_at,
        zones=[run.delivery_zone],
        start=period_start(run.first_period),
        end=period_start(run.end_period),
        final_until=period_start(run.final_until),
        virtual_assets=run.virtual_assets,
        batteries=run.batteries,
        scheduled_export=run.scheduled_export_mwh,
        scheduled_import=run.scheduled_import_mwh,
        netted=run.netted_mwh,
        spread=run.spread_mwh,
        unserved=run.unserved_mwh,
        forced_periods=run.forced_periods,
        changed_dispatches=run.changed_batteries,
        method=run.method,
        solver_seconds=run.solver_s,
    )
