"""HTTP for what follows from the schedules of a virtual asset: energy, operational series, adjustments, history."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import numpy as np

from gridloom.database.pool import Database, snapshot
from gridloom.edge import JSON, Call, Content, Page, Stream, operation
from gridloom.edge.tabular import points_json
from gridloom.edge.wire import parameter_refused
from gridloom.virtual_assets import history_store, store
from gridloom.virtual_assets.activations import Activations
from gridloom.virtual_assets.availability import load_available
from gridloom.virtual_assets.block_routes import TABLES
from gridloom.virtual_assets.grid import Floats, period_number, period_start
from gridloom.virtual_assets.history_store import StoredChange
from gridloom.virtual_assets.history_tables import adjustments_table, changes_by_block, history_table
from gridloom.virtual_assets.model import Block, ScheduleVersion, VirtualAsset
from gridloom.virtual_assets.operational import CATEGORIES, Circumstances, operational_series
from gridloom.virtual_assets.routes import ASSETS, TAG, known_asset
from gridloom.virtual_assets.standing import load_course
from gridloom.virtual_assets.streaming import STREAMED_FROM_PERIODS, streamed_data, streamed_points, table
from gridloom.virtual_assets.views import period_times
from gridloom.virtual_assets.windows import asked_periods, periods_between
from gridloom.virtual_assets.wire import (
    AdjustmentsQuery,
    AdjustmentView,
    BlockChange,
    CategoryMetaData,
    HistoryQuery,
    LatestStateOfEnergy,
    OperationalQuery,
    OperationalView,
    StateOfCharge,
    StateOfEnergy,
    VersionView,
    WindowQuery,
    already_json,
)

ASSET = ASSETS + "/{virtualAssetID}"
LISTED_PERIODS = 400  # a version's periods are listed in full up to this many; alone, always


@operation(
    "GET",
    ASSET + "/state-of-charge",
    summary="Read the state of charge",
    tag=TAG,
    access="Read:virtual-assets",
    produces=TABLES,
    answers=list[StateOfCharge],
)
async def get_state_of_charge(
    call: Call, organisation_id: UUID, virtual_asset_id: UUID, query: WindowQuery
) -> Content | Stream:
    """At the start of each quarter-hour, in percent of the rated energy capacity, from all schedules together."""
    async with snapshot(call.pool) as db:
        asset = await known_asset(db, call.caller, organisation_id, virtual_asset_id)
        first, end = asset.clip(*asked_periods(query.start, query.end, await store.platform_now(db)))
        course = await load_course(db, asset, first, end)
    percentages = 100 * course.energy_kwh[:-1] / asset.terms.energy_capacity_kwh
    return _series(call, first, "stateOfChargePercentage", percentages)


@operation(
    "GET",
    ASSET + "/state-of-energy/latest",
    summary="Read the stored energy now",
    tag=TAG,
    access="Read:virtual-assets",
)
async def get_latest_state_of_energy(call: Call, organisation_id: UUID, virtual_asset_id: UUID) -> LatestStateOfEnergy:
    """At this moment of the platform's clock; before the asset's life as it starts, after it as it ended."""
    async with snapshot(call.pool) as db:
        asset = await known_asset(db, call.caller, organisation_id, virtual_asset_id)
        now = await store.platform_now(db)
        moment = min(max(now, asset.terms.window.start), asset.terms.window.end)
        period = min(period_number(moment), asset.end - 1)
        course = await load_course(db, asset, period, period + 1)
    passed = (moment - period_start(period)) / timedelta(minutes=15)
    energy_kwh = float(course.energy_kwh[0] + passed * (course.energy_kwh[1] - course.energy_kwh[0]))
    return LatestStateOfEnergy(
        time=moment.replace(microsecond=moment.microsecond // 1000 * 1000),
        energy=energy_kwh,
        state_of_charge_percentage=100 * energy_kwh / asset.terms.energy_capacity_kwh,
    )


@operation(
    "GET",
    ASSET + "/state-of-energy/projected",
    summary="Read the stored energy to come",
    tag=TAG,
    access="Read:virtual-assets",
    produces=TABLES,
    answers=list[StateOfEnergy],
)
async def get_projected_state_of_energy(
    call: Call, organisation_id: UUID, virtual_asset_id: UUID, query: WindowQuery
) -> Content | Stream:
    """At the start of each quarter-hour, in kWh; left out, `start` is now and `end` the end of the asset's life."""
    async with snapshot(call.pool) as db:
        asset = await known_asset(db, call.caller, organisation_id, virtual_asset_id)
        start = query.start or await store.platform_now(db)
        end_of_life = max(asset.terms.window.end, start + timedelta(minutes=15))
        first, end = asset.clip(*periods_between(start, query.end or end_of_life))
        course = await load_course(db, asset, first, end)
    return _series(call, first, "energy", course.energy_kwh[:-1])


@operation(
    "GET",
    ASSET + "/operational",
    summary="Read operational series",
    tag=TAG,
    access="Read:virtual-assets",
    produces=TABLES,
    answers=OperationalView,
)
async def get_operational(call: Call, organisation_id: UUID, virtual_asset_id: UUID, query: OperationalQuery) -> Stream:
    """Quarter-hour series of what the asset is rated for, has available, can deliver and has cycled."""
    names = tuple(CATEGORIES) if query.categories is None else tuple(dict.fromkeys(query.categories))
    unknown = [name for name in names if name not in CATEGORIES]
    if unknown:
        raise parameter_refused(
            "query", "categories", f"{', '.join(unknown)} unknown; there are {', '.join(CATEGORIES)}"
        )
    async with snapshot(call.pool) as db:
        asset = await known_asset(db, call.caller, organisation_id, virtual_asset_id)
        first, end = asset.clip(*asked_periods(query.start, query.end, await store.platform_now(db)))
        course = await load_course(db, asset, first, end)
        available = await load_available(db, asset, first, end)
        activated = await call.resources[Activations].read(db, asset.key, first, end)
    series = operational_series(Circumstances(asset.terms, course, available, activated), names)
    if call.accepts != JSON:
        return table(call.accepts, first, series, "operational")
    meta_data = [
        CategoryMetaData(
            data_point_name=name,
            unit=CATEGORIES[name].unit,
            resolution="15-minute",
            description=CATEGORIES[name].description,
        )
        for name in names
    ]
    return streamed_data(meta_data, first, series)


@operation(
    "GET",
    ASSET + "/adjustments",
    summary="List adjustments",
    tag=TAG,
    access="Read:virtual-assets",
    produces=TABLES,
    answers=list[AdjustmentView],
)
async def list_adjustments(
    call: Call, organisation_id: UUID, virtual_asset_id: UUID, query: AdjustmentsQuery
) -> Page[AdjustmentView] | Stream:
    """Quarter-hours that were cut when their gates closed, in the order of time."""
    asset = await known_asset(call.db, call.caller, organisation_id, virtual_asset_id)
    start, end = query.start or asset.terms.window.start, query.end or asset.terms.window.end
    if query.start is not None and query.end is None:
        end = max(end, start + timedelta(minutes=15))
    if query.end is not None and query.start is None:
        start = min(start, end - timedelta(minutes=15))
    found = await history_store.read_adjustments(
        call.db, asset.key, *periods_between(start, end), after=query.after(int), limit=query.limit + 1
    )
    page = query.page(found, lambda adjustment: adjustment.period)
    if call.accepts != JSON:
        return adjustments_table(call.accepts, call.target, page)
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
    tag=TAG,
    access="Read:virtual-assets",
    produces=TABLES,
    answers=list[VersionView],
)
async def list_schedule_history(
    call: Call, organisation_id: UUID, virtual_asset_id: UUID, query: HistoryQuery
) -> Page[VersionView] | Stream:
    """Every accepted version, the newest first: who made it, when, and which periods it set on which block.

    As a table, one row for each period that a version set. The schedule as it stood at a moment is read from the
    blocks, with `as-of`.
    """
    if query.start and query.end:
        periods_between(query.start, query.end)
    below = query.after(int) if query.version is None else query.version + 1
    async with snapshot(call.pool) as db:
        asset = await known_asset(db, call.caller, organisation_id, virtual_asset_id)
        if query.version is not None:
            found = await history_store.read_versions(db, asset.key, below=below, limit=1)
            alone = Page([version for version in found if version.version == query.version])
            if call.accepts != JSON:
                return history_table(call.pool, call.accepts, call.target, asset, alone)
            return Page(await _version_views(db, asset, alone.items, listed_periods=None))
        found = await history_store.read_versions(
            db, asset.key, below=below, limit=query.limit + 1, start=query.start, end=query.end
        )
        page = query.page(found, lambda version: version.version)
        if call.accepts != JSON:
            return history_table(call.pool, call.accepts, call.target, asset, page)
        return Page(await _version_views(db, asset, page.items, listed_periods=LISTED_PERIODS), page.next_cursor)


async def _version_views(
    db: Database, asset: VirtualAsset, versions: Sequence[ScheduleVersion], *, listed_periods: int | None
) -> list[VersionView]:
    numbers = [version.version for version in versions]
    changes: dict[int, list[StoredChange]] = {number: [] for number in numbers}
    for change in await history_store.read_changes(db, asset.key, numbers, listed_periods):
        changes[change.version].append(change)
    blocks = await store.read_blocks_by_version(db, asset.key, numbers)
    return [
        VersionView(
            version=version.version,
            kind=version.kind,
            accepted_at=version.accepted_at,
            author_kind=version.author.kind,
            author_id=version.author.id,
            block_id=version.block_id,
            changes=[
                view for change in changes[version.version] for view in _block_changes(change, blocks[version.version])
            ],
        )
        for version in versions
    ]


def _block_changes(change: StoredChange, blocks: Sequence[Block]) -> list[BlockChange]:
    views = []
    for block, periods, places in changes_by_block(change, blocks):
        schedule = None
        if change.power_kw is not None:
            times = (periods * 900_000).view("datetime64[ms]")
            schedule = already_json(points_json(times, np.array(change.power_kw[places]), name="power"))
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


def _series(call: Call, first: int, name: str, values: Floats) -> Content | Stream:
    """One series, as JSON points or as a table."""
    if call.accepts != JSON:
        return table(call.accepts, first, {name: values}, "energy")
    if len(values) > STREAMED_FROM_PERIODS:
        return streamed_points(first, values, name)
    return Content(points_json(period_times(first, first + len(values)), values, name=name), JSON)
