"""The schedule of a physical asset over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import ParamSpec, TypeVar
from uuid import UUID

import pyarrow as pa

from gridloom.capacity.availability import availability_series
from gridloom.capacity.holding import CapacityRequest, hold_capacity
from gridloom.capacity.rules import CapacityTaken
from gridloom.capacity.store import load_battery_capacity, lock_batteries
from gridloom.kernel.entity_tag import entity_tag
from gridloom.kernel.market_time import period_number
from gridloom.kernel.permission import Permission
from gridloom.kernel.window import Window
from gridloom.physical_assets.availability.changes import enqueue_following
from gridloom.physical_assets.rules import AssetNotActive, check_active
from gridloom.physical_assets.schedule import store
from gridloom.physical_assets.schedule.model import (
    NewPhysicalSchedule,
    NewSchedulePoint,
    PhysicalSchedulePoint,
    Schedule,
)
from gridloom.physical_assets.schedule.rules import (
    PeriodStarted,
    PowerNotAvailable,
    check_available,
    check_not_started,
    own_change,
    scheduled_window,
)
from gridloom.physical_assets.window_query import WindowQuery, check_order, requested_window
from gridloom.platform.events.outbox import record_event
from gridloom.platform.http import ARROW, CSV, JSON, PARQUET, Content, Request, Response, Stream, operation
from gridloom.platform.http.fields import EARLIEST, LATEST, to_json
from gridloom.platform.http.tables import TIME, points_json, stream_table
from gridloom.platform.identity.authorization import PHYSICAL_ASSET, authorize_asset

TAG = "Physical assets"
READ = Permission.READ_SCHEDULES
UPDATE = Permission.UPDATE_SCHEDULES
MAX_INLINE_POINTS = 2_000

P = ParamSpec("P")
R = TypeVar("R")

COLUMNS = pa.schema([pa.field("time", TIME, nullable=False), pa.field("power", pa.float64(), nullable=False)])


@operation(
    "GET",
    PHYSICAL_ASSET + "/schedule",
    summary="Read the schedule",
    access=READ,
    produces=(JSON, CSV, ARROW, PARQUET),
    response_schema=Schedule,
    replica_read=True,
)
async def read_physical_asset_schedule(
    request: Request, physical_asset_id: UUID, query: WindowQuery
) -> Response[Content | Stream]:
    """The scheduled periods of the window, in order; as a table with the columns `time` and `power` where asked for."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    window = await requested_window(request.db, query)
    columns = await store.read_schedule(request.db, authorized.key, window)
    if request.accepts == JSON:
        head = Schedule(physical_asset_id=physical_asset_id, start=window.start, end=window.end, schedule=[])
        points = points_json(columns.times, columns.powers_kw, name="power")
        body = to_json(head).replace(b'"schedule":[]', b'"schedule":' + points, 1)
        return Response(Content(body, JSON), etag=entity_tag(columns.version))
    table = stream_table(request.accepts, COLUMNS, _stream_batches(columns), file_name=f"schedule-{physical_asset_id}")
    return Response(table, etag=entity_tag(columns.version))


async def _stream_batches(columns: store.ScheduleColumns) -> AsyncIterator[pa.RecordBatch]:
    times = pa.array(columns.times).cast(TIME)
    yield pa.record_batch([times, pa.array(columns.powers_kw)], schema=COLUMNS)


@operation(
    "PUT",
    PHYSICAL_ASSET + "/schedule",
    summary="Replace periods of the schedule",
    access=UPDATE,
    problems=(PowerNotAvailable, CapacityTaken, PeriodStarted, AssetNotActive),
)
async def put_physical_asset_schedule(
    request: Request, physical_asset_id: UUID, body: NewPhysicalSchedule, query: WindowQuery
) -> Response[Schedule]:
    """The owner's own use of the asset. Exactly the periods given are replaced, all of them or none, before they start.

    Power must be available in its period (422), and it and the energy that the market day's schedule swings through
    must be free of what others hold (409). With `start` and `end`, a period outside that window is refused.
    """
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, UPDATE)
    points = body.schedule
    window = await _validate_points(points, scheduled_window, points, _restrict_to_window(query))
    locked = await lock_batteries(request.db, [authorized.key])
    situation = await store.read_schedule_state(request.db, locked, authorized.key)
    request.check_if_match(entity_tag(situation.version))
    check_active(situation.status)
    check_not_started(points, situation.now)
    capacity = await load_battery_capacity(
        request.db, [authorized.key], period_number(window.start), period_number(window.end)
    )
    ratings_and_outages = capacity[authorized.key].ratings_and_outages
    series = availability_series(ratings_and_outages.ratings, ratings_and_outages.outages, window)
    await _validate_points(points, check_available, points, series)
    own = await _validate_points(points, own_change, points, situation.now)
    await hold_capacity(request.db, locked, [CapacityRequest(authorized.key, physical_asset_id, own=own)], capacity)
    version = await store.replace_periods(request.db, authorized.key, points, request.caller.id)
    await enqueue_following(request.db, locked, authorized.key)
    await record_event(
        request.db,
        type="schedule.updated",
        organisation_id=authorized.organisation_id,
        subject=f"physical-assets/{physical_asset_id}",
        permission=READ,
        asset_key=authorized.key,
        data={"start": window.start, "end": window.end, "periods": len(points)},
    )
    shown = await _validate_points(points, _sort_points, points)
    written = Schedule(physical_asset_id=physical_asset_id, start=window.start, end=window.end, schedule=shown)
    return Response(written, etag=entity_tag(version))


async def _validate_points(
    points: Sequence[NewSchedulePoint], validate: Callable[P, R], *args: P.args, **kwargs: P.kwargs
) -> R:
    """Inline or, where there are many points to validate, in a thread, so that the event loop stays free."""
    if len(points) <= MAX_INLINE_POINTS:
        return validate(*args, **kwargs)
    return await asyncio.to_thread(validate, *args, **kwargs)


def _sort_points(points: Sequence[NewSchedulePoint]) -> list[PhysicalSchedulePoint]:
    return [
        PhysicalSchedulePoint(time=point.time, power=point.power)
        for point in sorted(points, key=lambda point: point.time)
    ]


def _restrict_to_window(query: WindowQuery) -> Window | None:
    """The window that the query confines the request to; None where it names none."""
    if query.start is None and query.end is None:
        return None
    check_order(query.start, query.end)
    return Window(query.start or EARLIEST, query.end or LATEST)
