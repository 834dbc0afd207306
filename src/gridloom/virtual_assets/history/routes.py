"""HTTP for the versions of schedules and the adjustments at gate closure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

import numpy as np
from msgspec import Meta

from gridloom.kernel.copying import copy_fields
from gridloom.kernel.market_time import period_start
from gridloom.kernel.permission import Permission
from gridloom.market_calendar import PERIOD_MS
from gridloom.platform.database.pool import Database, repeatable_read
from gridloom.platform.http import JSON, Page, PagedWindow, Request, ResponseBody, Stream, operation
from gridloom.platform.http.tables import points_json
from gridloom.platform.identity.store.organisations import read_author_names
from gridloom.virtual_assets import block_store
from gridloom.virtual_assets.asset_lookup import ASSET, TABLES, require_asset
from gridloom.virtual_assets.history import store as history_store
from gridloom.virtual_assets.history.store import StoredChange
from gridloom.virtual_assets.history.tables import adjustments_table, changes_by_block, history_table
from gridloom.virtual_assets.model import AdjustmentReason, Block, ScheduleVersion, VersionKind, VirtualAsset
from gridloom.virtual_assets.rules import periods_between
from gridloom.virtual_assets.schedule.views import ScheduledPower
from gridloom.virtual_assets.wire import raw_json


class AdjustmentsQuery(PagedWindow):
    """Left out: the whole life."""


class AdjustmentView(ResponseBody):
    """A quarter-hour whose accepted power (kW, all blocks together) was cut when its gate closed."""

    timestamp: datetime
    accepted_schedule: float
    adjusted_schedule: float
    reason: AdjustmentReason


class HistoryQuery(PagedWindow):
    """By when a version was accepted; `version` asks for one alone, with all its periods."""

    version: Annotated[int, Meta(ge=1, le=2_147_483_647)] | None = None


class BlockChange(ResponseBody):
    """The periods a version set on a block. Of a version with very many periods, only their number is listed."""

    block_id: UUID
    periods: int
    start: datetime
    end: datetime
    schedule: list[ScheduledPower] | None


class VersionView(ResponseBody):
    """A version of the schedule. Its author is named to its organisation and the operator."""

    version: int
    kind: VersionKind
    accepted_at: datetime
    author_kind: str
    author_id: UUID | None
    author_name: str | None
    block_id: UUID | None
    changes: list[BlockChange]


TAG = "Virtual assets"


MAX_LISTED_PERIODS = 400  # a version's periods are listed in full up to this many; alone, always


@operation(
    "GET",
    ASSET + "/adjustments",
    summary="List adjustments",
    access=Permission.READ_VIRTUAL_ASSETS,
    produces=TABLES,
    response_schema=list[AdjustmentView],
    replica_read=True,
)
async def list_adjustments(
    request: Request, organisation_id: UUID, virtual_asset_id: UUID, query: AdjustmentsQuery
) -> Page[AdjustmentView] | Stream:
    """Quarter-hours that were cut when their gates closed, in the order of time."""
    asset = await require_asset(request.db, request.caller, organisation_id, virtual_asset_id)
    start, end = query.start or asset.terms.window.start, query.end or asset.terms.window.end
    if query.start is not None and query.end is None:
        end = max(end, start + timedelta(minutes=15))
    if query.end is not None and query.start is None:
        start = min(start, end - timedelta(minutes=15))
    found = await history_store.read_adjustments(
        request.db, asset.key, *periods_between(start, end), after=query.after(int), limit=query.limit + 1
    )
    page = query.page(found, lambda adjustment: adjustment.period)
    if request.accepts != JSON:
        return adjustments_table(request.accepts, request.target, page)
    views = [
        AdjustmentView(
            timestamp=period_start(adjustment.period),
            accepted_schedule=adjustment.accepted_kw,
            adjusted_schedule=adjustment.adjusted_kw,
            reason=adjustment.reason,
        )
        for adjustment in page.items
    ]
    return Page(views, page.next_cursor)


@operation(
    "GET",
    ASSET + "/schedule-history",
    summary="List schedule versions",
    access=Permission.READ_VIRTUAL_ASSETS,
    produces=TABLES,
    response_schema=list[VersionView],
    replica_read=True,
)
async def list_schedule_history(
    request: Request, organisation_id: UUID, virtual_asset_id: UUID, query: HistoryQuery
) -> Page[VersionView] | Stream:
    """Every accepted version, the newest first: who made it, when, and which periods it set on which block.

    As a table, one row for each period that a version set. The schedule as it stood at an instant is read from the
    blocks, with `as-of`.
    """
    if query.start and query.end:
        periods_between(query.start, query.end)
    below = query.after(int) if query.version is None else query.version + 1
    async with repeatable_read(request.pool) as db:
        asset = await require_asset(db, request.caller, organisation_id, virtual_asset_id)
        if query.version is None:
            found = await history_store.read_versions(
                db, asset.key, below=below, limit=query.limit + 1, start=query.start, end=query.end
            )
            page = query.page(found, lambda version: version.version)
        else:
            found = await history_store.read_versions(db, asset.key, below=below, limit=1)
            page = Page([version for version in found if version.version == query.version])
        if request.accepts != JSON:
            return history_table(request.pool, request.accepts, request.target, asset, page)
        names = await _read_names(request, db, page.items)
        listed_periods = MAX_LISTED_PERIODS if query.version is None else None
        views = await _version_views(db, asset, page.items, names, listed_periods=listed_periods)
        return Page(views, page.next_cursor)


async def _read_names(request: Request, db: Database, versions: Sequence[ScheduleVersion]) -> dict[UUID, str]:
    """The names of authors that the caller may read: those of its organisation; the operator reads all."""
    ids = {version.author.id for version in versions if version.author.id is not None}
    within = None if request.caller.is_operator else request.caller.organisation_id
    return await read_author_names(db, ids, within=within) if ids else {}


async def _version_views(
    db: Database,
    asset: VirtualAsset,
    versions: Sequence[ScheduleVersion],
    names: dict[UUID, str],
    *,
    listed_periods: int | None,
) -> list[VersionView]:
    numbers = [version.version for version in versions]
    changes: dict[int, list[StoredChange]] = {number: [] for number in numbers}
    for change in await history_store.read_changes(db, asset.key, numbers, listed_periods):
        changes[change.version].append(change)
    blocks = await block_store.read_blocks_by_version(db, asset.key, numbers)
    return [
        copy_fields(
            VersionView,
            version,
            author_kind=version.author.kind,
            author_id=version.author.id,
            author_name=None if version.author.id is None else names.get(version.author.id),
            changes=[
                view for change in changes[version.version] for view in _block_changes(change, blocks[version.version])
            ],
        )
        for version in versions
    ]


def _block_changes(change: StoredChange, blocks: Sequence[Block]) -> list[BlockChange]:
    views = []
    for block, periods, indices in changes_by_block(change, blocks):
        schedule = None
        if change.power_kw is not None:
            times = (periods * PERIOD_MS).view("datetime64[ms]")
            schedule = raw_json(points_json(times, np.array(change.power_kw[indices]), name="power"))
        views.append(
            BlockChange(
                block_id=block.id,
                periods=len(periods),
                start=period_start(int(periods[0])),
                end=period_start(int(periods[-1]) + 1),
                schedule=schedule,
            )
        )
    return views
