"""Changing the schedules of a virtual asset, all or nothing, in one of two modes.

Optimistic: the asset and the context of the change are read without a lock, and the version is written only if the
asset still has the revision that was read. Locked: the asset's row is locked before it is read. A change runs in
optimistic mode if the summaries of its days prove that nothing is cut; otherwise, and after a conflict of revisions, it
runs in locked mode.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from msgspec import Struct

from gridloom.kernel.ids import BlockID
from gridloom.market_calendar import PERIODS_PER_DAY, first_period_of_utc_day
from gridloom.platform.database.commit.single_statement import SingleStatementWrite
from gridloom.platform.http import Request
from gridloom.platform.identity.authorization import authorize_organisation
from gridloom.virtual_assets.asset_lookup import asset_lock, require_locked_asset
from gridloom.virtual_assets.backing.availability import AvailableFraction
from gridloom.virtual_assets.energy.imbalance import Imbalance
from gridloom.virtual_assets.model import Adjustment, Author, Block, LockedAsset, VersionKind, VirtualAsset
from gridloom.virtual_assets.rules import first_open_period
from gridloom.virtual_assets.schedule.change.context_store import ScheduleContext, read_asset_and_context, read_context
from gridloom.virtual_assets.schedule.change.draft import Draft, draft_from
from gridloom.virtual_assets.schedule.change.validation import (
    LockRequired,
    supports_optimistic,
    validate_locked,
    validate_optimistic,
)
from gridloom.virtual_assets.schedule.change.version_store import RevisionConflict, write_version
from gridloom.virtual_assets.schedule.notifications import emit_updated, enqueue_revalidation
from gridloom.virtual_assets.schedule.points import (
    NewSchedule,
    ResponseWindowQuery,
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
from gridloom.virtual_assets.store import cached_asset

if TYPE_CHECKING:
    from gridloom.platform.database.commit.single_statement import RowSink

A = TypeVar("A")
Accept = Callable[["RowSink", VirtualAsset, ScheduleContext], Awaitable[A]]
"""Validates a change of the asset against its context, and writes it."""
AuditVersion = Callable[[int], Awaitable[None]]
"""Records the audit entry of the version that is about to be written."""


class BlockUpdate(Struct, frozen=True):
    """The data of a `schedule.updated` event: `periods` of the periods [first, end) of a block were set."""

    block_id: BlockID
    first: int
    end: int
    periods: int


class ChangeMetadata(Struct, frozen=True):
    """The author of a change, the block it addresses (None: all wholesale blocks), its events and its audit entry."""

    author: Author
    block: Block | None
    updates: Sequence[BlockUpdate]
    audit: AuditVersion


class AcceptedChange(Struct, frozen=True):
    """A change that was written: its version, the imbalance that follows, and the cuts to expect."""

    version: int
    imbalance: Imbalance
    available: AvailableFraction
    draft: Draft
    expected_cuts: Sequence[Adjustment]


async def change_schedule(
    request: Request,
    organisation_id: UUID,
    asset_id: UUID,
    body: NewSchedule,
    query: ResponseWindowQuery,
    accept: Accept[A],
) -> A:
    """Apply a change once, in optimistic mode where that is enough, else in locked mode.

    A response window may reach beyond the days of the change. It is read after the change, in its transaction.
    """
    async with asset_lock(asset_id):
        if query.start is None and query.end is None:
            with suppress(LockRequired, RevisionConflict):
                return await _change_optimistic(request, organisation_id, asset_id, body, accept)
            request.cancel_single_statement()
        asset = await require_locked_asset(request, organisation_id, asset_id)
        context = await read_context(request.db, asset, touched_days(body, asset))
        return await accept(request.db, asset, context)


async def _change_optimistic(
    request: Request, organisation_id: UUID, asset_id: UUID, body: NewSchedule, accept: Accept[A]
) -> A:
    """One statement reads the asset and its context, one writes the version at the revision that was read."""
    known = cached_asset(asset_id)
    if known is None or not supports_optimistic(known):
        raise LockRequired
    change = await request.begin_read_then_write()
    owner = await authorize_organisation(request.db, request.caller, organisation_id)
    found = await read_asset_and_context(request.db, owner, known, _add_last_day(touched_days(body, known), known))
    if found is None:
        raise LockRequired
    return await accept(change, *found)


def _add_last_day(days: Sequence[int], asset: VirtualAsset) -> Sequence[int]:
    """The schedule of the last day shows whether an imbalance can still be repaired."""
    last = asset.days[-1]
    return days if not days or days[-1] == last else [*days, last]


async def put_schedule(
    db: RowSink,
    asset: VirtualAsset,
    block: Block,
    points: SchedulePoints,
    author: Author,
    context: ScheduleContext,
    audit: AuditVersion,
) -> AcceptedChange:
    """Replace exactly the given periods of a block, or refuse and change nothing.

    `context` has the days of the points and was read with the asset: after it was locked, or in optimistic mode. In
    optimistic mode `LockRequired` or `RevisionConflict` says that nothing was written and the asset must be locked.
    """
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
    metadata = ChangeMetadata(author, block, updates, audit)
    return await _accept_change(db, asset, changes, metadata, available, context)


async def put_asset_schedule(
    db: RowSink,
    asset: VirtualAsset,
    points: SchedulePoints,
    author: Author,
    context: ScheduleContext,
    audit: AuditVersion,
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
    metadata = ChangeMetadata(author, None, updates, audit)
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
    db: RowSink,
    asset: VirtualAsset,
    changes: Mapping[int, LaneChange],
    metadata: ChangeMetadata,
    available: AvailableFraction,
    context: ScheduleContext,
) -> AcceptedChange:
    """Validate the change in the mode in which the asset was read, and write it."""
    draft, now = draft_from(asset, changes, context.powers, context.summaries), context.now
    if isinstance(db, SingleStatementWrite) or not isinstance(asset, LockedAsset):
        imbalance = validate_optimistic(asset, draft, len(metadata.updates), available, context)
        version = await _write_with_events(db, asset, draft, metadata, now)
        return AcceptedChange(version, imbalance, available, draft, ())
    validated = await validate_locked(db, asset, draft, available, context)
    version = await _write_with_events(db, asset, draft, metadata, now)
    if validated is None:
        imbalance = await load_imbalance(db, asset, now, draft.end_kwh, context.blocks, draft.after)
        return AcceptedChange(version, imbalance, available, draft, ())
    if validated.projection.cuts:
        await enqueue_revalidation(db, asset, now)
    imbalance = projected_imbalance(asset, now, validated.first, validated.inputs, validated.projection)
    cuts = adjustments_of(validated.projection, validated.first)
    return AcceptedChange(version, imbalance, available, draft, cuts)


async def _write_with_events(
    db: RowSink, asset: VirtualAsset, draft: Draft, metadata: ChangeMetadata, now: datetime
) -> int:
    """Write the next version together with its events and its audit entry; its number."""
    next_version = asset.version + 1  # in optimistic mode RevisionConflict if another transaction makes it first
    for update in metadata.updates:
        await emit_updated(db, asset, update.block_id, update.first, update.end, update.periods, next_version)
    await metadata.audit(next_version)
    block_id = metadata.block.id if metadata.block else None
    version = await write_version(db, asset, draft, VersionKind.SCHEDULE, metadata.author, block_id, now)
    assert version == next_version, "the revision was checked"
    return version
