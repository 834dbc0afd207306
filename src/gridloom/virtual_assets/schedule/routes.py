"""HTTP for the schedule of a whole virtual asset: the power of all its wholesale blocks together."""

from __future__ import annotations

from functools import partial
from typing import Annotated
from uuid import UUID

from gridloom.kernel.permission import Permission
from gridloom.market_calendar import utc_days_of
from gridloom.physical_assets.window_query import WindowQuery
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import repeatable_read
from gridloom.platform.http import BULK, JSON, Request, Response, Stream, operation
from gridloom.virtual_assets import block_store
from gridloom.virtual_assets.asset_lookup import (
    ASSET,
    MAX_ANSWERED_PERIODS,
    TABLES,
    author_of,
    etag_at,
    etag_of,
    require_asset,
)
from gridloom.virtual_assets.backing.availability import load_available
from gridloom.virtual_assets.model import LockedAsset
from gridloom.virtual_assets.rules import requested_periods
from gridloom.virtual_assets.schedule.change.apply import change_schedule, put_asset_schedule
from gridloom.virtual_assets.schedule.change.store import ScheduleContext
from gridloom.virtual_assets.schedule.points import NewSchedule, ResponseWindowQuery, points_of
from gridloom.virtual_assets.schedule.rules import EnergyOutOfBounds, GateClosed, PowerBeyondAvailable, linking_repair
from gridloom.virtual_assets.schedule.store import read_day_range, total_power_kw
from gridloom.virtual_assets.schedule.views import (
    AssetScheduleView,
    ScheduledAssetView,
    schedule_columns,
    schedule_head,
    schedule_view,
    scheduled_asset_view,
    streamed_schedule,
)
from gridloom.virtual_assets.streaming import STREAMED_FROM_PERIODS, table

TAG = "Virtual assets"
SCHEDULE = ASSET + "/schedule"


@operation(
    "GET",
    SCHEDULE,
    summary="Read an asset's schedule",
    access=Permission.READ_VIRTUAL_ASSETS,
    produces=TABLES,
    response_schema=AssetScheduleView,
)
async def read_asset_schedule(
    request: Request, organisation_id: UUID, virtual_asset_id: UUID, query: WindowQuery
) -> Response[AssetScheduleView | Stream]:
    """The power of all its wholesale blocks together, and what they can do, in the window; as a table, one row for
    each quarter-hour."""
    async with repeatable_read(request.pool) as db:
        asset = await require_asset(db, request.caller, organisation_id, virtual_asset_id)
        first, end = asset.clip(*requested_periods(query.start, query.end, await platform_now(db)))
        blocks = await block_store.read_blocks(db, asset.key)
        available = await load_available(db, asset, first, end)
        power_kw = total_power_kw(await read_day_range(db, asset.key, utc_days_of(first, end)), first, end)
    columns = schedule_columns(blocks, first, power_kw, available)
    shown: AssetScheduleView | Stream
    if request.accepts != JSON:
        shown = table(request.accepts, first, columns, f"schedule-{asset.id}")
    elif end - first > STREAMED_FROM_PERIODS:
        shown = streamed_schedule(schedule_head(asset), first, columns)
    else:
        shown = schedule_view(asset, first, columns)
    return Response(shown, etag=etag_of(asset))


@operation(
    "PUT",
    SCHEDULE,
    summary="Schedule an asset",
    access=Permission.UPDATE_SCHEDULES,
    transaction="manual",
    problems=(GateClosed, PowerBeyondAvailable, EnergyOutOfBounds),
)
async def schedule_asset(
    request: Request,
    organisation_id: UUID,
    virtual_asset_id: UUID,
    query: ResponseWindowQuery,
    body: Annotated[NewSchedule, BULK],
) -> Response[ScheduledAssetView]:
    """Replace exactly the periods given, all or nothing, on all wholesale blocks together.

    The power of each period is spread over the blocks that cover it, in proportion of their power in its direction. The
    answer is that of a block's schedule: an end state away from the target is reported as `imbalance`.
    """
    accept = partial(_accept_schedule, request, query, body)
    return await change_schedule(request, organisation_id, virtual_asset_id, body, accept)


async def _accept_schedule(
    request: Request,
    query: ResponseWindowQuery,
    body: NewSchedule,
    asset: LockedAsset,
    context: ScheduleContext,
) -> Response[ScheduledAssetView]:
    request.check_if_match(etag_of(asset))
    points = await points_of(body, asset.periods, "asset")
    with linking_repair(asset):
        accepted = await put_asset_schedule(request.db, asset, points, author_of(request), context)
    request.audit_details.update(version=accepted.version, periods=len(points.periods))
    first, end = points.first, min(points.last + 1, points.first + MAX_ANSWERED_PERIODS)
    if query.start is not None or query.end is not None:
        first, end = asset.clip(*requested_periods(query.start, query.end, context.now))
    power_kw, available = accepted.draft.total_kw(first, end), accepted.available
    if power_kw is None or first < available.first:
        available = await load_available(request.db, asset, first, end)
        power_kw = total_power_kw(await read_day_range(request.db, asset.key, utc_days_of(first, end)), first, end)
    columns = schedule_columns(context.blocks, first, power_kw, available)
    view = scheduled_asset_view(asset, accepted.version, first, columns, accepted.imbalance, accepted.expected_cuts)
    return Response(view, etag=etag_at(asset, accepted.version))
