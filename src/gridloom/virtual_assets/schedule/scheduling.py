"""Changing the schedules of a virtual asset: all or nothing, one change after the other.

A change reads and writes the days it touches and the
summaries of all days; it looks into another day only where the summary cannot tell that the day stays within bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from gridloom.database.pool import Database
from gridloom.market_calendar import PERIODS_PER_DAY, Floats, Ints, days_of, first_period
from gridloom.virtual_assets.backing.availability import Availability, load_available
from gridloom.virtual_assets.energy.mending import projected_imbalance, scheduled_imbalance
from gridloom.virtual_assets.energy.outlook import (
    adjustments_of,
    closed_until,
    fits_whole_asset,
    is_all_there,
    limits_kwh,
)
from gridloom.virtual_assets.model import Adjustment, Author, Block, LockedAsset, VersionKind, VirtualAsset
from gridloom.virtual_assets.schedule import store as schedule_store
from gridloom.virtual_assets.schedule.gates import look_again, may_exceed_cycles
from gridloom.virtual_assets.schedule.imbalance import Imbalance
from gridloom.virtual_assets.schedule.judgement import judge_projected
from gridloom.virtual_assets.schedule.notifications import tell_updated
from gridloom.virtual_assets.schedule.rules import (
    Points,
    check_gate,
    check_power,
    check_takes_schedule,
    energy_out_of_bounds,
    first_open_period,
)
from gridloom.virtual_assets.schedule.spreading import by_lane, rated_kw, spread_over
from gridloom.virtual_assets.schedule.store import DayRows, LaneChange
from gridloom.virtual_assets.schedule.trajectory import (
    DaySummaries,
    energy_changes_kwh,
    first_excess,
    suspicious_days,
    tolerance_kwh,
)

DAYS_LOOKED_AT_TOGETHER = 16


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A change that is not written yet: the days it touches, with all lanes as they would be."""

    days: Ints
    lanes_kw: Mapping[int, Floats]
    before_kw: Floats
    after_kw: Floats
    before: DaySummaries
    after: DaySummaries

    def lane_kw(self, lane: int, first: int, end: int) -> Floats | None:
        """A changed lane over these periods; None where they reach into days that the change does not touch."""
        rows = self._rows_of(days_of(first, end))
        if rows is None:
            return None
        offset = first - first_period(first // PERIODS_PER_DAY)
        return self.lanes_kw[lane][rows].ravel()[offset : offset + end - first]

    def total_kw(self, first: int, end: int) -> Floats | None:
        """All lanes together over these periods; None where they reach into days that the change does not touch."""
        rows = self._rows_of(days_of(first, end))
        if rows is None:
            return None
        offset = first - first_period(first // PERIODS_PER_DAY)
        return self.after_kw[rows].ravel()[offset : offset + end - first]

    def _rows_of(self, days: range) -> slice | None:
        row = int(np.searchsorted(self.days, days.start))
        rows = slice(row, row + len(days))
        return rows if np.array_equal(self.days[rows], np.arange(days.start, days.stop)) else None

    def end_kwh(self, asset: VirtualAsset) -> float:
        return float(self.after.day_starts_kwh(asset.initial_kwh)[-1])


@dataclass(frozen=True, slots=True)
class Accepted:
    """A schedule that was accepted: the version it made, and where it leaves the asset."""

    version: int
    accepted_at: datetime
    imbalance: Imbalance
    available: Availability
    draft: Draft
    expected_cuts: Sequence[Adjustment]


async def put_schedule(
    db: Database, asset: LockedAsset, block: Block, points: Points, author: Author, now: datetime
) -> Accepted:
    """Replace exactly the periods given, or refuse and change nothing.

    `now` is to be read from the platform's clock after the asset was locked.
    """
    check_takes_schedule(block)
    available = await _check_gate_and_load(db, asset, points, now)
    places = points.periods - available.first
    check_power(points, block.charge_kw * available.charge[places], block.discharge_kw * available.discharge[places])
    change = {block.lane: LaneChange(points.periods, points.power_kw)}
    accepted = await _accept_change(db, asset, change, [block], block, available, author, now)
    await tell_updated(db, asset, block.id, points.first, points.last + 1, len(points.periods), accepted.version)
    return accepted


async def put_asset_schedule(
    db: Database, asset: LockedAsset, blocks: Sequence[Block], points: Points, author: Author, now: datetime
) -> Accepted:
    """The same for all wholesale blocks together: each takes its part of every period, in one version."""
    available = await _check_gate_and_load(db, asset, points, now)
    places = points.periods - available.first
    charge_kw, discharge_kw = rated_kw(blocks, points.periods)
    there = charge_kw * available.charge[places], discharge_kw * available.discharge[places]
    check_power(points, *there, who="the asset's wholesale blocks")
    parts = spread_over(blocks, points)
    accepted = await _accept_change(db, asset, by_lane(parts), blocks, None, available, author, now)
    for block, part in parts.items():
        first, end = int(part.periods[0]), int(part.periods[-1]) + 1
        await tell_updated(db, asset, block.id, first, end, len(part.periods), accepted.version)
    return accepted


async def _check_gate_and_load(db: Database, asset: LockedAsset, points: Points, now: datetime) -> Availability:
    """What is available from the first period on that may still be cut, if the first point's gate is open."""
    check_gate(points.first, first_open_period(now, asset.terms.gate_closure_s), f"/schedule/{points.places[0]}/time")
    day_start = first_period(points.first // PERIODS_PER_DAY)
    return await load_available(db, asset, min(max(asset.first, day_start), closed_until(asset, now)), asset.end)


async def _accept_change(
    db: Database,
    asset: LockedAsset,
    changes: Mapping[int, LaneChange],
    blocks: Sequence[Block],
    block: Block | None,
    available: Availability,
    author: Author,
    now: datetime,
) -> Accepted:
    """Write the change if the stored energy stays within bounds, and have a look asked for where something is cut."""
    draft = await draft_change(db, asset, changes)
    if not _may_be_cut(asset, draft, available, now):
        if changes:
            await check_energy(db, asset, draft, available)
        version, accepted_at = await write_change(db, asset, draft, VersionKind.SCHEDULE, author, block, changes)
        imbalance = await scheduled_imbalance(db, asset, now, draft.end_kwh(asset), blocks, draft.after)
        return Accepted(version, accepted_at, imbalance, available, draft, ())
    judged = await judge_projected(db, asset, changes, available, now)
    version, accepted_at = await write_change(db, asset, draft, VersionKind.SCHEDULE, author, block, changes)
    if judged.projection.cuts:
        await look_again(db, asset, now)
    imbalance = projected_imbalance(asset, now, judged.first, judged.standing, judged.projection)
    cuts = adjustments_of(judged.projection, judged.first)
    return Accepted(version, accepted_at, imbalance, available, draft, cuts)


def _may_be_cut(asset: VirtualAsset, draft: Draft, available: Availability, now: datetime) -> bool:
    """Whether what is known cannot rule out that schedules are cut, or that activations have moved the store."""
    if asset.has_reserves or asset.first_activated is not None:
        return True
    if not is_all_there(available, closed_until(asset, now), asset.end):
        return True
    exported_kwh = draft.after.exported_kwh
    return not fits_whole_asset(asset, draft.before) or may_exceed_cycles(exported_kwh, *limits_kwh(asset.terms))


async def draft_change(db: Database, asset: VirtualAsset, changes: Mapping[int, LaneChange]) -> Draft:
    """Lay the changes over what stands."""
    touched = [change.periods // PERIODS_PER_DAY for change in changes.values()]
    days = np.unique(np.concatenate(touched)) if touched else np.zeros(0, dtype=np.int64)
    powers, before = await schedule_store.read_days_and_summaries(db, asset, days.tolist())
    lanes = {lane for known in powers.values() for lane in known} | set(changes)
    rows_kw = {lane: schedule_store.whole_days(powers, lane, days) for lane in lanes}
    before_kw = np.sum(list(rows_kw.values()), axis=0) if rows_kw else np.zeros((0, PERIODS_PER_DAY))
    for lane, change in changes.items():
        rows = np.searchsorted(days, change.periods // PERIODS_PER_DAY)
        rows_kw[lane][rows, change.periods % PERIODS_PER_DAY] = change.power_kw
    after_kw = np.sum(list(rows_kw.values()), axis=0) if rows_kw else before_kw
    after = before.with_days(days - asset.first_day, DaySummaries.of(after_kw, asset.terms.efficiency))
    return Draft(days, {lane: rows_kw[lane] for lane in changes}, before_kw, after_kw, before, after)


async def check_energy(db: Database, asset: VirtualAsset, draft: Draft, available: Availability) -> bool:
    """Refuse a change that moves the stored energy out of bounds in any period until the end of life.

    Answers whether it stays out of bounds, where lost capacity has left it, on a day that the change touches: what was
    scheduled there instead may have to be cut as well.
    """
    slack_kwh = tolerance_kwh(asset.terms.energy_capacity_kwh)
    first_day, first_place = int(draft.days[0]), int(draft.days[0]) - asset.first_day
    capacity_kwh = np.full((len(asset.days) - first_place, PERIODS_PER_DAY), np.inf)
    available = available.between(max(available.first, first_period(first_day)), available.end)
    offset = available.first - first_period(first_day)
    flat = capacity_kwh.ravel()
    flat[offset : offset + len(available.energy)] = available.energy * asset.terms.energy_capacity_kwh
    suspects = suspicious_days(
        draft.before, draft.after, asset.initial_kwh, _take_from(capacity_kwh.min(axis=1), first_place), slack_kwh
    )
    suspects[:first_place] = False
    suspects[draft.days - asset.first_day] = True
    places = np.flatnonzero(suspects)
    before_kwh = draft.before.day_starts_kwh(asset.initial_kwh)
    after_kwh = draft.after.day_starts_kwh(asset.initial_kwh)
    touched = {int(day) - asset.first_day: row for row, day in enumerate(draft.days.tolist())}
    remains_outside = False
    # Touched days are at hand, and a change of a whole year is judged at once; others are fetched a few at a time.
    for group in _group_days(places, touched):
        strangers = [place + asset.first_day for place in group.tolist() if place not in touched]
        powers = await schedule_store.read_days(db, asset.key, strangers) if strangers else {}
        old_kw = np.empty((len(group), PERIODS_PER_DAY))
        new_kw = np.empty((len(group), PERIODS_PER_DAY))
        for row, place in enumerate(group.tolist()):
            if place in touched:
                old_kw[row], new_kw[row] = draft.before_kw[touched[place]], draft.after_kw[touched[place]]
            else:
                lanes = powers.get(place + asset.first_day, {})
                old_kw[row] = new_kw[row] = np.sum(list(lanes.values()), axis=0) if lanes else 0.0
        energy_kwh = _energies_kwh(asset, after_kwh[group], new_kw).ravel()
        there_kwh = capacity_kwh[group - first_place].ravel()
        excess = first_excess(_energies_kwh(asset, before_kwh[group], old_kw).ravel(), energy_kwh, there_kwh, slack_kwh)
        if excess is not None:
            place, slot = divmod(excess.position, PERIODS_PER_DAY)
            period = first_period(int(group[place]) + asset.first_day) + slot
            raise energy_out_of_bounds(
                asset, period, excess, float(capacity_kwh[int(group[place]) - first_place, slot])
            )
        remains_outside |= bool(((energy_kwh > there_kwh + slack_kwh) | (energy_kwh < -slack_kwh)).any())
    return remains_outside


def _take_from(values: Floats, place: int) -> Floats:
    return np.concatenate([np.full(place, np.inf), values])


def _energies_kwh(asset: VirtualAsset, starts_kwh: Floats, power_kw: Floats) -> Floats:
    """The stored energy at the end of each period of whole days."""
    return np.asarray(starts_kwh[:, None] + np.cumsum(energy_changes_kwh(power_kw, asset.terms.efficiency), axis=1))


def _group_days(places: Ints, touched: Mapping[int, int]) -> list[Ints]:
    """The days in the order of time, cut so that each group holds few that have to be fetched."""
    fetched = np.array([place not in touched for place in places.tolist()], dtype=bool)
    cuts = np.flatnonzero(np.diff(np.cumsum(fetched) // DAYS_LOOKED_AT_TOGETHER)) + 1
    return [group for group in np.split(places, cuts) if len(group)]


async def write_change(
    db: Database,
    asset: LockedAsset,
    draft: Draft,
    kind: VersionKind,
    author: Author,
    block: Block | None,
    changes: Mapping[int, LaneChange],
) -> tuple[int, datetime]:
    """Write the touched days, their summaries and the version; its number and when it was accepted."""
    return await schedule_store.write_version(
        db,
        asset,
        kind,
        author,
        block.id if block else None,
        rows=DayRows(draft.days, draft.lanes_kw),
        summaries=draft.after,
        changes=changes,
        end_kwh=draft.end_kwh(asset),
    )
