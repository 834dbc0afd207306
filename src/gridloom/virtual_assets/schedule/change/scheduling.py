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

from gridloom.database.committing.at_once import AtOnce
from gridloom.database.pool import Database
from gridloom.events.store import FEW
from gridloom.kernel.ids import BlockID
from gridloom.market_calendar import PERIODS_PER_DAY, first_period
from gridloom.virtual_assets.backing.availability import Availability
from gridloom.virtual_assets.energy.mending import imbalance_at_a_glance, projected_imbalance, scheduled_imbalance
from gridloom.virtual_assets.energy.outlook import (
    adjustments_of,
    closed_before,
    closed_until,
    fits_whole_asset,
    is_all_there,
    limits_kwh,
)
from gridloom.virtual_assets.model import Adjustment, Author, Block, LockedAsset, VersionKind, VirtualAsset
from gridloom.virtual_assets.schedule.change.drafting import Draft, check_energy, draft_over
from gridloom.virtual_assets.schedule.change.ground_store import Ground
from gridloom.virtual_assets.schedule.change.judgement import judge_projected
from gridloom.virtual_assets.schedule.change.notifications import tell_updated
from gridloom.virtual_assets.schedule.change.remembered import remember_change
from gridloom.virtual_assets.schedule.change.version_store import DayRows, Memory, write_version
from gridloom.virtual_assets.schedule.gates import look_again, may_exceed_cycles
from gridloom.virtual_assets.schedule.projection.imbalance import Imbalance
from gridloom.virtual_assets.schedule.rules import (
    Points,
    check_gate,
    check_power,
    check_takes_schedule,
    closing_of,
    first_open_period,
)
from gridloom.virtual_assets.schedule.spreading import by_lane, rated_kw, spread_over
from gridloom.virtual_assets.schedule.store import LaneChange

if TYPE_CHECKING:
    from gridloom.database.committing.at_once import WriteOnly

NEAR_GATE: Final = timedelta(minutes=30)
"""Two steps of a sandbox's clock; far more than lies between reading an asset and writing its change."""
GLANCE_AT_MOST_S: Final = 10.0
STEP_BITS: Final = 31
"""A change that is remembered raises the revision by a number that nobody can guess: where a fail-over loses it, the
revision that is made in its place is another. A row has room for thousands of millions of such steps."""
Note = Callable[[int], Awaitable[None]]
"""What a caller notes of the version that is about to be written."""


class Told(Struct, frozen=True):
    """What an event tells of a block: that so many of the periods from `first` to `end` were set."""

    block_id: BlockID
    first: int
    end: int
    periods: int


class Writing(Struct, frozen=True):
    """Who changes a schedule, of one block or of all these, and who learns of it."""

    author: Author
    block: Block | None
    blocks: Sequence[Block]
    told: Sequence[Told]
    note: Note


class Accepted(Struct, frozen=True):
    """A schedule that was accepted: the version it made, and where it leaves the asset."""

    version: int
    imbalance: Imbalance
    available: Availability
    draft: Draft
    expected_cuts: Sequence[Adjustment]


class NeedsLock(Exception):
    """What is asked for cannot be judged at a glance: nothing was written, and the asset is to be locked first."""


async def put_schedule(
    db: WriteOnly, asset: VirtualAsset, block: Block, points: Points, author: Author, ground: Ground, note: Note
) -> Accepted:
    """Replace exactly the periods given, or refuse and change nothing.

    `ground` is to be read after the asset was locked, with the days of the points. Or it was read along with it, and
    all is written at once: then `NeedsLock` or `ChangedSince` says that it has to be locked.
    """
    check_takes_schedule(block)
    available = _check_gate_and_find(asset, points, ground)
    if available.is_whole:
        check_power(points, block.charge_kw, block.discharge_kw)
    else:
        there, places = available, points.periods - available.first
        check_power(points, block.charge_kw * there.charge[places], block.discharge_kw * there.discharge[places])
    change = {block.lane: LaneChange(points.periods, points.power_kw)}
    told = [Told(block.id, points.first, points.last + 1, len(points.periods))]
    return await _accept_change(db, asset, change, Writing(author, block, [block], told, note), available, ground)


async def put_asset_schedule(
    db: WriteOnly, asset: VirtualAsset, points: Points, author: Author, ground: Ground, note: Note
) -> Accepted:
    """The same for all wholesale blocks together: each takes its part of every period, in one version."""
    blocks = ground.blocks
    available = _check_gate_and_find(asset, points, ground)
    places = points.periods - available.first
    charge_kw, discharge_kw = rated_kw(blocks, points.periods)
    there = charge_kw * available.charge[places], discharge_kw * available.discharge[places]
    check_power(points, *there, who="the asset's wholesale blocks")
    parts = spread_over(blocks, points)
    told = [
        Told(block.id, int(part.periods[0]), int(part.periods[-1]) + 1, len(part.periods))
        for block, part in parts.items()
    ]
    writing = Writing(author, None, blocks, told, note)
    return await _accept_change(db, asset, by_lane(parts), writing, available, ground)


def _check_gate_and_find(asset: VirtualAsset, points: Points, ground: Ground) -> Availability:
    """What is available from the first period on that may still be cut, if the first point's gate is open."""
    first, recalled = points.first, ground.recalled
    first_open = first_open_period(ground.now, asset.terms.gate_closure_s) if recalled is None else recalled.first_open
    if first < first_open:  # where the request says so is worked out only then
        check_gate(first, first_open, f"/schedule/{points.places[0]}/time")
    day_start = first_period(first // PERIODS_PER_DAY)
    return ground.available(asset, min(max(asset.first, day_start), closed_before(asset, first_open)))


async def _accept_change(
    db: WriteOnly,
    asset: VirtualAsset,
    changes: Mapping[int, LaneChange],
    writing: Writing,
    available: Availability,
    ground: Ground,
) -> Accepted:
    """Write the change if the stored energy stays within bounds, and have a look asked for where something is cut."""
    draft, now = draft_over(asset, changes, ground.powers, ground.summaries), ground.now
    if isinstance(db, AtOnce) or not isinstance(asset, LockedAsset):
        return await _accept_at_a_glance(db, asset, changes, draft, writing, available, ground)
    if not _goes_as_asked(asset, draft, available, ground):
        if _may_be_cut(asset, draft, available, ground):
            return await _accept_cut_change(db, asset, changes, draft, writing, available, now)
        if changes and not fits_whole_asset(asset, draft.after):
            await check_energy(db, asset, draft, available)
    version = await _write_told(db, asset, draft, writing, changes, now)
    imbalance = await scheduled_imbalance(db, asset, now, draft.end_kwh, writing.blocks, draft.after)
    return Accepted(version, imbalance, available, draft, ())


async def _accept_at_a_glance(
    db: WriteOnly,
    asset: VirtualAsset,
    changes: Mapping[int, LaneChange],
    draft: Draft,
    writing: Writing,
    available: Availability,
    ground: Ground,
) -> Accepted:
    """Write the change of an asset that nobody holds, if it goes as asked and nothing more has to be read for it.

    Whoever makes a period final waits for those who hold its asset. So near a gate, or where judging has taken long,
    the asset is to be locked before its gate is judged.
    """
    first = min(int(change.periods[0]) for change in changes.values())
    far_until = closing_of(first, asset.terms.gate_closure_s) - NEAR_GATE
    if far_until < ground.now:
        raise NeedsLock
    is_little = len(writing.told) <= FEW and draft.days[-1] - draft.days[0] < len(draft.days)
    if not is_little or not _goes_as_asked(asset, draft, available, ground):
        raise NeedsLock
    imbalance = imbalance_at_a_glance(asset, ground.now, draft.end_kwh, ground.blocks, draft.after, draft.find_day_kw)
    if imbalance is None:
        raise NeedsLock
    memory, recalled = None, ground.recalled
    if recalled is not None:
        until = min(recalled.until, far_until)
        memory = Memory(recalled.not_before, until, ground.standing, ground.asked)
    elif time.monotonic() - ground.read_s > GLANCE_AT_MOST_S:
        raise NeedsLock
    step = 1 + getrandbits(STEP_BITS)
    version = await _write_told(db, asset, draft, writing, changes, ground.now, step, memory)
    if isinstance(db, AtOnce):
        remember_change(asset, ground, draft, available, step)
    return Accepted(version, imbalance, available, draft, ())


async def _accept_cut_change(
    db: Database,
    asset: LockedAsset,
    changes: Mapping[int, LaneChange],
    draft: Draft,
    writing: Writing,
    available: Availability,
    now: datetime,
) -> Accepted:
    """The same where schedules may have to be cut, those that stand or those that are asked for."""
    judged = await judge_projected(db, asset, changes, available, now)
    version = await _write_told(db, asset, draft, writing, changes, now)
    if judged.projection.cuts:
        await look_again(db, asset, now)
    imbalance = projected_imbalance(asset, now, judged.first, judged.standing, judged.projection)
    cuts = adjustments_of(judged.projection, judged.first)
    return Accepted(version, imbalance, available, draft, cuts)


async def _write_told(
    db: WriteOnly,
    asset: VirtualAsset,
    draft: Draft,
    writing: Writing,
    changes: Mapping[int, LaneChange],
    now: datetime,
    step: int = 1,
    memory: Memory | None = None,
) -> int:
    """Write the next version along with the events that tell of it and what its caller notes."""
    next_version = asset.version + 1  # or none, if somebody else makes one before
    for told in writing.told:
        await tell_updated(db, asset, told.block_id, told.first, told.end, told.periods, next_version)
    await writing.note(next_version)
    version = await write_change(
        db, asset, draft, VersionKind.SCHEDULE, writing.author, writing.block, changes, now, step, memory
    )
    assert version == next_version, "the asset is as it was read"
    return version


def _goes_as_asked(asset: VirtualAsset, draft: Draft, available: Availability, ground: Ground) -> bool:
    """Whether, at a glance, the asset does all that its schedules say once they are changed; never wrongly yes.

    Cycle limits are left to `_may_be_cut`: a change is judged beside what they leave of the schedules before it.
    """
    if not may_go_as_asked(asset) or ground.has_reserves:
        return False
    return available.is_whole and fits_whole_asset(asset, draft.after, draft.starts_kwh)


def may_go_as_asked(asset: VirtualAsset) -> bool:
    """Whether the asset is of those of which a glance can tell so: without cycle limits, and nothing was activated."""
    is_limited = asset.terms.daily_cycle_limit is not None or asset.terms.annual_cycle_limit is not None
    return not is_limited and asset.first_activated is None


def _may_be_cut(asset: VirtualAsset, draft: Draft, available: Availability, ground: Ground) -> bool:
    """Whether what is known cannot rule out that schedules are cut, or that activations have moved the store."""
    if ground.has_reserves or asset.first_activated is not None:
        return True
    if not is_all_there(available, closed_until(asset, ground.now), asset.end):
        return True
    exported_kwh = draft.after.exported_kwh
    return not fits_whole_asset(asset, draft.before) or may_exceed_cycles(exported_kwh, *limits_kwh(asset.terms))


async def write_change(
    db: WriteOnly,
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
        rows=DayRows(draft.days, draft.lanes_kw, draft.is_of_known_row),
        summaries=draft.after,
        changes=changes,
        end_kwh=draft.end_kwh,
        accepted_at=now,
        step=step,
        memory=memory,
    )
