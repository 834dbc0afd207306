"""HTTP for the blocks of a virtual asset and their schedules."""

from __future__ import annotations

from functools import partial
from typing import Annotated
from uuid import UUID

from gridloom.capacity.model import ReserveMinutes
from gridloom.kernel.market_time import period_number
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import NotFound
from gridloom.kernel.window import Window
from gridloom.market_calendar import Floats, utc_days_of
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database, repeatable_read
from gridloom.platform.http import BULK, JSON, Page, Request, Response, Stream, operation
from gridloom.virtual_assets import block_store
from gridloom.virtual_assets.asset_lookup import (
    ASSETS,
    MAX_ANSWERED_PERIODS,
    TABLES,
    asset_lock,
    author_of,
    etag_at,
    etag_of,
    require_asset,
    require_locked_asset,
    version_as_of,
)
from gridloom.virtual_assets.backing.availability import AvailableFraction, load_available
from gridloom.virtual_assets.blocks.carving import ScheduleInTheWay, carve_block, remove_block_with_schedule
from gridloom.virtual_assets.blocks.rules import (
    BlockOutsideAsset,
    NotAMarketProduct,
    NothingToJoin,
    NoWholesalePower,
    check_market_product,
    check_new_block,
)
from gridloom.virtual_assets.blocks.views import (
    BlockQuery,
    BlocksQuery,
    BlockView,
    NewBlock,
    ScheduledBlockView,
    block_view,
    block_view_without_series,
    capacity_kw,
    scheduled_block_view,
)
from gridloom.virtual_assets.model import Block, LockedAsset, VirtualAsset
from gridloom.virtual_assets.rules import check_window, requested_periods
from gridloom.virtual_assets.schedule.change.apply import change_schedule, put_schedule
from gridloom.virtual_assets.schedule.change.store import ScheduleContext
from gridloom.virtual_assets.schedule.points import NewSchedule, ResponseWindowQuery, points_of
from gridloom.virtual_assets.schedule.rules import (
    BlockWithoutSchedule,
    EnergyOutOfBounds,
    GateClosed,
    PowerBeyondAvailable,
    linking_repair,
)
from gridloom.virtual_assets.schedule.store import lane_power_kw, read_day_range, read_lane_as_of
from gridloom.virtual_assets.schedule.views import CAPACITY_COLUMNS, streamed_schedule
from gridloom.virtual_assets.streaming import STREAMED_FROM_PERIODS, table

TAG = "Virtual assets"
BLOCKS = ASSETS + "/{virtualAssetID}/blocks"
BLOCK = BLOCKS + "/{blockID}"


@operation("GET", BLOCKS, summary="List blocks", access=Permission.READ_VIRTUAL_ASSETS)
async def list_blocks(
    request: Request, organisation_id: UUID, virtual_asset_id: UUID, query: BlocksQuery
) -> Page[BlockView]:
    """All blocks in the order of time, each with its schedule and capacity in the window."""
    after = query.after(tuple[int, int])
    async with repeatable_read(request.pool) as db:
        asset = await require_asset(db, request.caller, organisation_id, virtual_asset_id)
        first, end = asset.clip(*requested_periods(query.start, query.end, await platform_now(db)))
        version = await version_as_of(db, asset, query.as_of)
        blocks = [
            block
            for block in await block_store.read_blocks(db, asset.key, version)
            if after is None or (block.first, block.lane) > after
        ]
        page = query.page(blocks, lambda block: (block.first, block.lane))
        available = await load_available(db, asset, first, end)
        powers = await read_day_range(db, asset.key, utc_days_of(first, end)) if version is None else {}
        views = []
        for block in page.items:
            start, stop = _clip_block(block, first, end)
            power_kw = (
                lane_power_kw(powers, block.lane, start, stop)
                if version is None
                else await read_lane_as_of(db, asset.key, block.lane, version, start, stop)
            )
            views.append(block_view(block, start, power_kw, available))
    return Page(views, page.next_cursor)


@operation(
    "POST",
    BLOCKS,
    summary="Carve out a block",
    access=Permission.UPDATE_SCHEDULES,
    status=201,
    transaction="manual",
    problems=(NoWholesalePower, ScheduleInTheWay, GateClosed, BlockOutsideAsset, NotAMarketProduct),
)
async def create_block(
    request: Request, organisation_id: UUID, virtual_asset_id: UUID, body: NewBlock
) -> Response[BlockView]:
    """Cut a block out of the wholesale blocks that cover its window.

    Each of those keeps the rest: its earliest piece keeps the id, further pieces get new ones. A new wholesale block
    takes over what of their schedules no longer fits beside it; for the other markets, whose blocks are the market's
    four-hour products, a schedule in the way is 409.
    """
    check_window(body.start, body.end)
    span = period_number(body.start), period_number(body.end)
    async with asset_lock(virtual_asset_id):
        asset = await require_locked_asset(request, organisation_id, virtual_asset_id)
        window = Window(body.start, body.end)
        check_market_product(body.market, window, body.rated_charge_power, body.rated_discharge_power)
        check_new_block(asset, span, body.rated_charge_power, body.rated_discharge_power)
        block, version = await carve_block(
            request.db,
            asset,
            span,
            body.market,
            (body.rated_charge_power, body.rated_discharge_power),
            request.resources[ReserveMinutes],
            author_of(request),
            await platform_now(request.db),
        )
    first, end = asset.clip(block.first, min(block.end, block.first + MAX_ANSWERED_PERIODS))
    power_kw, available = await _load_block_series(request.db, asset, block, first, end)
    return Response(
        block_view(block, first, power_kw, available),
        etag=etag_at(asset, version),
    )


@operation(
    "GET",
    BLOCK,
    summary="Read a block",
    access=Permission.READ_VIRTUAL_ASSETS,
    produces=TABLES,
    response_schema=BlockView,
)
async def read_block(
    request: Request, organisation_id: UUID, virtual_asset_id: UUID, block_id: UUID, query: BlockQuery
) -> Response[BlockView | Stream]:
    """The block with its schedule and capacity in the window; as a table, one row for each quarter-hour.

    `as-of` asks for the block and its schedule as they stood at that instant; capacity is always the present one.
    """
    async with repeatable_read(request.pool) as db:
        asset = await require_asset(db, request.caller, organisation_id, virtual_asset_id)
        version = await version_as_of(db, asset, query.as_of)
        block = await _require_block(db, asset, block_id, version)
        now = await platform_now(db)
        first, end = _clip_block(block, *asset.clip(*requested_periods(query.start, query.end, now)))
        power_kw, available = await _load_block_series(db, asset, block, first, end, version)
    columns = {"power": power_kw} | dict(zip(CAPACITY_COLUMNS, capacity_kw(block, first, end, available), strict=True))
    shown: BlockView | Stream
    if request.accepts != JSON:
        shown = table(request.accepts, first, columns, f"block-{block.id}")
    elif end - first > STREAMED_FROM_PERIODS:
        shown = streamed_schedule(block_view_without_series(block), first, columns)
    else:
        shown = block_view(block, first, power_kw, available)
    return Response(shown, etag=etag_of(asset))


@operation(
    "PUT",
    BLOCK,
    summary="Schedule a block",
    access=Permission.UPDATE_SCHEDULES,
    transaction="manual",
    problems=(GateClosed, BlockWithoutSchedule, PowerBeyondAvailable, EnergyOutOfBounds),
)
async def schedule_block(
    request: Request,
    organisation_id: UUID,
    virtual_asset_id: UUID,
    block_id: UUID,
    query: ResponseWindowQuery,
    body: Annotated[NewSchedule, BULK],
) -> Response[ScheduledBlockView]:
    """Replace exactly the periods given, all or nothing.

    An end state away from the target is accepted and reported as `imbalance`. The answer shows the periods from the
    first to the last one given, at most a week of them, or the window asked for with `start` and `end`.
    """
    accept = partial(_accept_schedule, request, block_id, query, body)
    return await change_schedule(request, organisation_id, virtual_asset_id, body, accept)


async def _accept_schedule(
    request: Request,
    block_id: UUID,
    query: ResponseWindowQuery,
    body: NewSchedule,
    asset: LockedAsset,
    context: ScheduleContext,
) -> Response[ScheduledBlockView]:
    block = next((block for block in context.blocks if block.id == block_id), None)
    if block is None:
        raise NotFound(f"The virtual asset has no block {block_id}.")
    request.check_if_match(etag_of(asset))
    points = await points_of(body, (block.first, block.end))
    with linking_repair(asset):
        accepted = await put_schedule(request.db, asset, block, points, author_of(request), context)
    request.audit_details.update(version=accepted.version, periods=len(points.periods))
    first, end = points.first, min(points.last + 1, points.first + MAX_ANSWERED_PERIODS)
    if query.start is not None or query.end is not None:
        first, end = _clip_block(block, *asset.clip(*requested_periods(query.start, query.end, context.now)))
    power_kw, available = accepted.draft.lane_kw(block.lane, first, end), accepted.available
    if power_kw is None or first < available.first:
        power_kw, available = await _load_block_series(request.db, asset, block, first, end)
    view = scheduled_block_view(block, first, power_kw, available, accepted.imbalance, accepted.expected_cuts)
    return Response(view, etag=etag_at(asset, accepted.version))


@operation(
    "DELETE",
    BLOCK,
    summary="Give a block back",
    access=Permission.UPDATE_SCHEDULES,
    transaction="manual",
    problems=(GateClosed, NothingToJoin),
)
async def delete_block(request: Request, organisation_id: UUID, virtual_asset_id: UUID, block_id: UUID) -> None:
    """Its power returns to the wholesale blocks beside it, and pieces that the carving had cut apart become one again.

    A wholesale block hands its schedule over with its power; the asset's power never changes.
    """
    async with asset_lock(virtual_asset_id):
        asset = await require_locked_asset(request, organisation_id, virtual_asset_id)
        block = await _require_block(request.db, asset, block_id)
        request.check_if_match(etag_of(asset))
        await remove_block_with_schedule(request.db, asset, block, author_of(request), await platform_now(request.db))


# --- shared by the routes ------------------------------------------------------------------------------------------


async def _require_block(db: Database, asset: VirtualAsset, block_id: UUID, version: int | None = None) -> Block:
    for block in await block_store.read_blocks(db, asset.key, version):
        if block.id == block_id:
            return block
    raise NotFound(f"The virtual asset has no block {block_id}{' then' if version is not None else ''}.")


def _clip_block(block: Block, first: int, end: int) -> tuple[int, int]:
    first = min(max(first, block.first), block.end)
    return first, max(first, min(end, block.end))


async def _load_block_series(
    db: Database, asset: VirtualAsset, block: Block, first: int, end: int, version: int | None = None
) -> tuple[Floats, AvailableFraction]:
    """The block's current schedule or that of a version, and the asset's available fraction."""
    available = await load_available(db, asset, first, end)
    if version is not None:
        return await read_lane_as_of(db, asset.key, block.lane, version, first, end), available
    powers = await read_day_range(db, asset.key, utc_days_of(first, end))
    return lane_power_kw(powers, block.lane, first, end), available
