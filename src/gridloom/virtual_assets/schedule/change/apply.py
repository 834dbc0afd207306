"""Changing the schedules of a virtual asset: all or nothing, one change after the other.

A change reads and writes the days it touches and the
summaries of all days; it looks into another day only where the summary cannot tell that the day stays within bounds.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from random import getrandbits
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gridloom.database.commit.single_statement import SingleStatementWrite
from gridloom.database.pool import Database
from gridloom.events.store import FEW
from gridloom.kernel.ids import BlockID
from gridloom.market_calendar import PERIODS_PER_DAY, first_period_of_utc_day
from gridloom.virtual_assets.backing.availability import AvailableFraction
from gridloom.virtual_assets.energy.imbalance_loading import (
    imbalance_from_summaries,
    load_imbalance,
    projected_imbalance,
)
from gridloom.virtual_assets.energy.projection_loading import (
    adjustments_of,
    cycle_limits_kwh,
    first_cuttable_from,
    first_cuttable_period,
    is_fully_available,
    precheck_uncut,
)
from gridloom.virtual_assets.model import Adjustment, Author, Block, LockedAsset, VersionKind, VirtualAsset
from gridloom.virtual_assets.schedule.change.context_store import ScheduleContext
from gridloom.virtual_assets.schedule.change.draft import Draft, draft_from, validate_energy
from gridloom.virtual_assets.schedule.change.notifications import emit_updated
from gridloom.virtual_assets.schedule.change.remembered import remember_change
from gridloom.virtual_assets.schedule.change.validation import validate_projected
from gridloom.virtual_assets.schedule.change.version_store import Memory, ScheduleRows, write_version
from gridloom.virtual_assets.schedule.distribution import distribute_over_blocks, group_by_lane, rated_kw
from gridloom.virtual_assets.schedule.gate_jobs import enqueue_revalidation, may_exceed_cycles
from gridloom.virtual_assets.schedule.projection.imbalance import Imbalance
from gridloom.virtual_assets.schedule.rules import (
    SchedulePoints,
    check_gate,
    check_power,
    check_schedulable,
    first_open_period,
    gate_closes_at,
)
from gridloom.virtual_assets.schedule.store import LaneChange

if TYPE_CHECKING:
    from gridloom.database.commit.single_statement import RowSink

LOCK_REQUIRED_BEFORE_GATE: Final = timedelta(minutes=30)
"""Two steps of a sandbox's clock; far more than lies between reading an asset and writing its change."""
MAX_CONTEXT_AGE_S: Final = 10.0
STEP_BITS: Final = 31
"""A change that is remembered raises the revision by a number that nobody can guess: where a fail-over loses it, the
revision that is made in its place is another. A row has room for thousands of millions of such steps."""
AuditHook = Callable[[int], Awaitable[None]]
"""What a caller notes of the version that is about to be written."""


class BlockUpdate(Struct, frozen=True):
    """What an event tells of a block: that so many of the periods from `first` to `end` were set."""

    block_id: BlockID
    first: int
    end: int
    periods: int


class ChangeMetadata(Struct, frozen=True):
    """Who changes a schedule, of one block or of all these, and who learns of it."""

    author: Author
    block: Block | None
    blocks: Sequence[Block]
    told: Sequence[BlockUpdate]
    note: AuditHook


class AcceptedChange(Struct, frozen=True):
    """A schedule that was accepted: the version it made, and where it leaves the asset."""

    version: int
    imbalance: Imbalance
    available: AvailableFraction
    draft: Draft
    expected_cuts: Sequence[Adjustment]


class LockRequired(Exception):
    """What is asked for cannot be judged at a glance: nothing was written, and the asset is to be locked first."""


async def put_schedule(
    db: RowSink,
    asset: VirtualAsset,
    block: Block,
    points: SchedulePoints,
    author: Author,
    context: ScheduleContext,
    note: AuditHook,
) -> AcceptedChange:
    """Replace exactly the periods given, or refuse and change nothing.

    `context` is to be read after the asset was locked, with the days of the points. Or it was read along with it, and
    all is written at once: then `LockRequired` or `RevisionConflict` says that it has to be locked.
    """
    check_schedulable(block)
    available = _check_gate_and_find(asset, points, context)
    if available.is_full:
        check_power(points, block.charge_kw, block.discharge_kw)
    else:
        there, places = available, points.periods - available.first
        check_power(points, block.charge_kw * there.charge[places], block.discharge_kw * there.discharge[places])
    change = {block.lane: LaneChange(points.periods, points.power_kw)}
    told = [BlockUpdate(block.id, points.first, points.last + 1, len(points.periods))]
    return await _accept_change(
        db, asset, change, ChangeMetadata(author, block, [block], told, note), available, context
    )


async def put_asset_schedule(
    db: RowSink, asset: VirtualAsset, points: SchedulePoints, author: Author, context: ScheduleContext, note: AuditHook
) -> AcceptedChange:
    """The same for all wholesale blocks together: each takes its part of every period, in one version."""
    blocks = context.blocks
    available = _check_gate_and_find(asset, points, context)
    places = points.periods - available.first
    charge_kw, discharge_kw = rated_kw(blocks, points.periods)
    there = charge_kw * available.charge[places], discharge_kw * available.discharge[places]
    check_power(points, *there, who="the asset's wholesale blocks")
    parts = distribute_over_blocks(blocks, points)
    told = [
        BlockUpdate(block.id, int(part.periods[0]), int(part.periods[-1]) + 1, len(part.periods))
        for block, part in parts.items()
    ]
    writing = ChangeMetadata(author, None, blocks, told, note)
    return await _accept_change(db, asset, group_by_lane(parts), writing, available, context)


def _check_gate_and_find(asset: VirtualAsset, points: SchedulePoints, context: ScheduleContext) -> AvailableFraction:
    """What is available from the first period on that may still be cut, if the first point's gate is open."""
    first, recalled = points.first, context.recalled
    first_open = first_open_period(context.now, asset.terms.gate_closure_s) if recalled is None else recalled.first_open
    if first < first_open:  # where the request says so is worked out only then
        check_gate(first, first_open, f"/schedule/{points.places[0]}/time")
    day_start = first_period_of_utc_day(first // PERIODS_PER_DAY)
    return context.available(asset, min(max(asset.first, day_start), first_cuttable_from(asset, first_open)))


async def _accept_change(
    db: RowSink,
    asset: VirtualAsset,
    changes: Mapping[int, LaneChange],
    writing: ChangeMetadata,
    available: AvailableFraction,
    context: ScheduleContext,
) -> AcceptedChange:
    """Write the change if the stored energy stays within bounds, and have a look asked for where something is cut."""
    draft, now = draft_from(asset, changes, context.powers, context.summaries), context.now
    if isinstance(db, SingleStatementWrite) or not isinstance(asset, LockedAsset):
        return await _accept_optimistic(db, asset, changes, draft, writing, available, context)
    if not _precheck_uncut_change(asset, draft, available, context):
        if _may_be_cut(asset, draft, available, context):
            return await _accept_cut_change(db, asset, changes, draft, writing, available, now)
        if changes and not precheck_uncut(asset, draft.after):
            await validate_energy(db, asset, draft, available)
    version = await _write_with_events(db, asset, draft, writing, changes, now)
    imbalance = await load_imbalance(db, asset, now, draft.end_kwh, writing.blocks, draft.after)
    return AcceptedChange(version, imbalance, available, draft, ())


async def _accept_optimistic(
    db: RowSink,
    asset: VirtualAsset,
    changes: Mapping[int, LaneChange],
    draft: Draft,
    writing: ChangeMetadata,
    available: AvailableFraction,
    context: ScheduleContext,
) -> AcceptedChange:
    """Write the change of an asset that nobody holds, if it goes as asked and nothing more has to be read for it.

    Whoever makes a period final waits for those who hold its asset. So near a gate, or where judging has taken long,
    the asset is to be locked before its gate is judged.
    """
    first = min(int(change.periods[0]) for change in changes.values())
    far_until = gate_closes_at(first, asset.terms.gate_closure_s) - LOCK_REQUIRED_BEFORE_GATE
    if far_until < context.now:
        raise LockRequired
    is_little = len(writing.told) <= FEW and draft.days[-1] - draft.days[0] < len(draft.days)
    if not is_little or not _precheck_uncut_change(asset, draft, available, context):
        raise LockRequired
    imbalance = imbalance_from_summaries(
        asset, context.now, draft.end_kwh, context.blocks, draft.after, draft.find_day_kw
    )
    if imbalance is None:
        raise LockRequired
    memory, recalled = None, context.recalled
    if recalled is not None:
        until = min(recalled.until, far_until)
        memory = Memory(recalled.not_before, until, context.standing, context.asked)
    elif time.monotonic() - context.read_s > MAX_CONTEXT_AGE_S:
        raise LockRequired
    step = 1 + getrandbits(STEP_BITS)
    version = await _write_with_events(db, asset, draft, writing, changes, context.now, step, memory)
    if isinstance(db, SingleStatementWrite):
        remember_change(asset, context, draft, available, step)
    return AcceptedChange(version, imbalance, available, draft, ())


async def _accept_cut_change(
    db: Database,
    asset: LockedAsset,
    changes: Mapping[int, LaneChange],
    draft: Draft,
    writing: ChangeMetadata,
    available: AvailableFraction,
    now: datetime,
) -> AcceptedChange:
    """The same where schedules may have to be cut, those that stand or those that are asked for."""
    validated = await validate_projected(db, asset, changes, available, now)
    version = await _write_with_events(db, asset, draft, writing, changes, now)
    if validated.projection.cuts:
        await enqueue_revalidation(db, asset, now)
    imbalance = projected_imbalance(asset, now, validated.first, validated.standing, validated.projection)
    cuts = adjustments_of(validated.projection, validated.first)
    return AcceptedChange(version, imbalance, available, draft, cuts)


async def _write_with_events(
    db: RowSink,
    asset: VirtualAsset,
    draft: Draft,
    writing: ChangeMetadata,
    changes: Mapping[int, LaneChange],
    now: datetime,
    step: int = 1,
    memory: Memory | None = None,
) -> int:
    """Write the next version along with the events that tell of it and what its caller notes."""
    next_version = asset.version + 1  # or none, if somebody else makes one before
    for told in writing.told:
        await emit_updated(db, asset, told.block_id, told.first, told.end, told.periods, next_version)
    await writing.note(next_version)
    version = await write_change(
        db, asset, draft, VersionKind.SCHEDULE, writing.author, writing.block, changes, now, step, memory
    )
    assert version == next_version, "the asset is as it was read"
    return version


def _precheck_uncut_change(
    asset: VirtualAsset, draft: Draft, available: AvailableFraction, context: ScheduleContext
) -> bool:
    """Whether, at a glance, the asset does all that its schedules say once they are changed; never wrongly yes.

    Cycle limits are left to `_may_be_cut`: a change is judged beside what they leave of the schedules before it.
    """
    if not supports_optimistic(asset) or context.has_reserves:
        return False
    return available.is_full and precheck_uncut(asset, draft.after, draft.starts_kwh)


def supports_optimistic(asset: VirtualAsset) -> bool:
    """Whether the asset is of those of which a glance can tell so: without cycle limits, and nothing was activated."""
    is_limited = asset.terms.daily_cycle_limit is not None or asset.terms.annual_cycle_limit is not None
    return not is_limited and asset.first_activated is None


def _may_be_cut(asset: VirtualAsset, draft: Draft, available: AvailableFraction, context: ScheduleContext) -> bool:
    """Whether what is known cannot rule out that schedules are cut, or that activations have moved the store."""
    if context.has_reserves or asset.first_activated is not None:
        return True
    if not is_fully_available(available, first_cuttable_period(asset, context.now), asset.end):
        return True
    exported_kwh = draft.after.exported_kwh
    return not precheck_uncut(asset, draft.before) or may_exceed_cycles(exported_kwh, *cycle_limits_kwh(asset.terms))


async def write_change(
    db: RowSink,
    asset: VirtualAsset,
    draft: Draft,
    kind: VersionKind,
    author: Author,
    block: Block | None,
    changes: Mapping[int, LaneChange],
    now: datetime,
    step: int = 1,
    memory: Memory | None = None,
) -> int:
    """Write the touched days, their summaries and the version, accepted now; its number."""
    return await write_version(
        db,
        asset,
        kind,
        author,
        block.id if block else None,
        rows=ScheduleRows(draft.days, draft.lanes_kw, draft.is_of_known_row),
        summaries=draft.after,
        changes=changes,
        end_kwh=draft.end_kwh,
        accepted_at=now,
        step=step,
        memory=memory,
    )
