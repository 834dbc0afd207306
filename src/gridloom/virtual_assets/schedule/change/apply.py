"""Changing the schedules of a virtual asset, all or nothing, under the lock of its row; the event and the revalidation
job that follow."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeVar
from uuid import UUID

from msgspec import Struct

from gridloom.kernel.ids import BlockID
from gridloom.kernel.market_time import period_start
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import NotFound
from gridloom.market_calendar import PERIODS_PER_DAY, first_period_of_utc_day, format_period
from gridloom.platform.database.pool import Database
from gridloom.platform.events.outbox import record_event
from gridloom.platform.http import Request
from gridloom.platform.identity.authorization import authorize_organisation
from gridloom.platform.jobs import enqueue
from gridloom.virtual_assets.asset_lookup import MAX_LOCK_S, asset_lock
from gridloom.virtual_assets.backing.availability import AvailableFraction
from gridloom.virtual_assets.energy.imbalance import Imbalance
from gridloom.virtual_assets.model import (
    Adjustment,
    Author,
    Block,
    LockedAsset,
    LockedAssetKey,
    VersionKind,
    VirtualAsset,
)
from gridloom.virtual_assets.rules import first_open_period
from gridloom.virtual_assets.schedule.change.draft import Draft, draft_from
from gridloom.virtual_assets.schedule.change.store import ScheduleContext, lock_with_context, write_version
from gridloom.virtual_assets.schedule.change.validation import validate_change
from gridloom.virtual_assets.schedule.points import (
    NewSchedule,
    SchedulePoints,
    distribute_over_blocks,
    group_by_lane,
    rated_kw,
    touched_days,
)
from gridloom.virtual_assets.schedule.projection_loading import (
    adjustments_of,
    first_cuttable_from,
    load_imbalance,
    projected_imbalance,
)
from gridloom.virtual_assets.schedule.rules import check_gate, check_power, check_schedulable
from gridloom.virtual_assets.schedule.store import LaneChange
from gridloom.virtual_assets.store import cached_asset, read_asset

A = TypeVar("A")
Accept = Callable[[LockedAsset, ScheduleContext], Awaitable[A]]
"""Validates a change of the asset against its context, and writes it."""


class BlockUpdate(Struct, frozen=True):
    """The data of a `schedule.updated` event: `periods` of the periods [first, end) of a block were set."""

    block_id: BlockID
    first: int
    end: int
    periods: int


class ChangeMetadata(Struct, frozen=True):
    """The author of a change, the block it addresses (None: all wholesale blocks), and its events."""

    author: Author
    block: Block | None
    updates: Sequence[BlockUpdate]


class AcceptedChange(Struct, frozen=True):
    """A change that was written: its version, the imbalance that follows, and the cuts to expect."""

    version: int
    imbalance: Imbalance
    available: AvailableFraction
    draft: Draft
    expected_cuts: Sequence[Adjustment]


async def change_schedule(
    request: Request, organisation_id: UUID, asset_id: UUID, body: NewSchedule, accept: Accept[A]
) -> A:
    """Lock the asset, and validate and write the change in the same transaction."""
    async with asset_lock(asset_id):
        db = await request.begin()
        owner = await authorize_organisation(db, request.caller, organisation_id)
        known = cached_asset(asset_id) or await read_asset(db, owner, asset_id)
        days = () if known is None else _add_last_day(touched_days(body, known), known)
        found = None if known is None else await lock_with_context(db, owner, known, days)
        if found is None:
            raise NotFound(f"The organisation has no virtual asset {asset_id}.")
        request.set_commit_deadline(MAX_LOCK_S)
        return await accept(*found)


def _add_last_day(days: Sequence[int], asset: VirtualAsset) -> Sequence[int]:
    """The schedule of the last day shows whether an imbalance can still be repaired."""
    last = asset.days[-1]
    return days if not days or days[-1] == last else [*days, last]


async def put_schedule(
    db: Database,
    asset: LockedAsset,
    block: Block,
    points: SchedulePoints,
    author: Author,
    context: ScheduleContext,
) -> AcceptedChange:
    """Replace exactly the given periods of a block, or refuse and change nothing; the context has their days."""
    check_schedulable(block)
    available = _check_gate_and_find_available(asset, points, context)
    if available.is_full:
        check_power(points, block.charge_kw, block.discharge_kw)
    else:
        indices = points.periods - available.first
        charge, discharge = available.charge[indices], available.discharge[indices]
        check_power(points, block.charge_kw * charge, block.discharge_kw * discharge)
    changes = {block.lane: LaneChange(points.periods, points.power_kw)}
    updates = [BlockUpdate(block.id, points.first, points.last + 1, len(points.periods))]
    metadata = ChangeMetadata(author, block, updates)
    return await _accept_change(db, asset, changes, metadata, available, context)


async def put_asset_schedule(
    db: Database,
    asset: LockedAsset,
    points: SchedulePoints,
    author: Author,
    context: ScheduleContext,
) -> AcceptedChange:
    """The same for all wholesale blocks together: each takes its part of every period, in one version."""
    blocks = context.blocks
    available = _check_gate_and_find_available(asset, points, context)
    indices = points.periods - available.first
    charge_kw, discharge_kw = rated_kw(blocks, points.periods)
    available_kw = charge_kw * available.charge[indices], discharge_kw * available.discharge[indices]
    check_power(points, *available_kw, who="the asset's wholesale blocks")
    parts = distribute_over_blocks(blocks, points)
    updates = [
        BlockUpdate(block.id, int(part.periods[0]), int(part.periods[-1]) + 1, len(part.periods))
        for block, part in parts.items()
    ]
    metadata = ChangeMetadata(author, None, updates)
    return await _accept_change(db, asset, group_by_lane(parts), metadata, available, context)


def _check_gate_and_find_available(
    asset: VirtualAsset, points: SchedulePoints, context: ScheduleContext
) -> AvailableFraction:
    """The available fraction from the first period on that may still be cut, if the first point's gate is open."""
    first, first_open = points.first, first_open_period(context.now, asset.terms.gate_closure_s)
    if first < first_open:
        check_gate(first, first_open, f"/schedule/{points.indices[0]}/time")
    day_start = first_period_of_utc_day(first // PERIODS_PER_DAY)
    return context.available(asset, min(max(asset.first, day_start), first_cuttable_from(asset, first_open)))


async def _accept_change(
    db: Database,
    asset: LockedAsset,
    changes: Mapping[int, LaneChange],
    metadata: ChangeMetadata,
    available: AvailableFraction,
    context: ScheduleContext,
) -> AcceptedChange:
    draft, now = draft_from(asset, changes, context.powers, context.summaries), context.now
    validated = await validate_change(db, asset, draft, available, context)
    version = await _write_with_events(db, asset, draft, metadata, now)
    if validated is None:
        imbalance = await load_imbalance(db, asset, now, draft.end_kwh, context.blocks, draft.after, draft.find_day_kw)
        return AcceptedChange(version, imbalance, available, draft, ())
    if validated.projection.cuts:
        await enqueue_revalidation(db, asset, now)
    imbalance = projected_imbalance(asset, now, validated.first, validated.inputs, validated.projection)
    cuts = adjustments_of(validated.projection, validated.first)
    return AcceptedChange(version, imbalance, available, draft, cuts)


async def _write_with_events(
    db: Database, asset: LockedAsset, draft: Draft, metadata: ChangeMetadata, now: datetime
) -> int:
    """Write the next version, whose number is the answer, and record its events."""
    next_version = asset.version + 1
    for update in metadata.updates:
        await emit_updated(db, asset, update.block_id, update.first, update.end, update.periods, next_version)
    block_id = metadata.block.id if metadata.block else None
    return await write_version(db, asset, draft, VersionKind.SCHEDULE, metadata.author, block_id, now)


READ = Permission.READ_VIRTUAL_ASSETS


async def emit_updated(
    db: Database, asset: VirtualAsset, block_id: UUID, first: int, end: int, periods: int, version: int
) -> None:
    """`periods` of the periods [first, end) were set."""
    await record_event(
        db,
        type="schedule.updated",
        organisation_id=asset.organisation_id,
        subject=f"virtual-assets/{asset.id}",
        permission=READ,
        asset_key=asset.key,
        data={
            "blockID": block_id,
            "start": format_period(first),
            "end": format_period(end),
            "periods": periods,
            "version": version,
        },
    )


CLOSE_GATE: Final = "virtual-assets.close-gate"
"""Job, keyed by a virtual asset's key: revalidates the periods whose gates have closed."""


async def enqueue_revalidation(db: Database, asset: LockedAsset | LockedAssetKey, due: datetime) -> None:
    """Revalidate all gates that close from `due` on, and earlier ones that a pending job covers.

    The asset must be locked, because a running revalidation could otherwise reschedule over it.
    """
    await enqueue(db, CLOSE_GATE, key=str(asset.key), due=due, clock="platform", keep_earlier_due=True)


async def reschedule_revalidation(db: Database, asset: LockedAsset, period: int) -> None:
    """For the revalidation itself: the next one is due when the gate of this period closes."""
    due = period_start(period) - timedelta(seconds=asset.terms.gate_closure_s)
    await enqueue(db, CLOSE_GATE, key=str(asset.key), due=due, clock="platform")
