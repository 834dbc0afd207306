"""A change overlaid on the accepted schedules in memory, and the validation of the stored energy that follows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from gridloom.market_calendar import PERIODS_PER_DAY, Floats, Ints, first_period_of_utc_day, utc_days_of
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets.backing.availability import AvailableFraction
from gridloom.virtual_assets.energy.trajectory import (
    DaySummaries,
    days_possibly_out_of_bounds,
    energy_changes_kwh,
    first_excess,
    tolerance_kwh,
)
from gridloom.virtual_assets.model import VirtualAsset
from gridloom.virtual_assets.schedule import store as schedule_store
from gridloom.virtual_assets.schedule.rules import energy_out_of_bounds
from gridloom.virtual_assets.schedule.store import DayPowers, LaneChange

DAY_FETCH_BATCH_SIZE = 16


class Draft(Struct, frozen=True, eq=False):
    """A change that is not written yet: the days it touches, with the changed lanes as they would be."""

    changes: Mapping[int, LaneChange]
    days: list[int]
    lanes_kw: Mapping[int, Floats]
    powers: DayPowers
    """The accepted schedules, of these days at least."""
    after_kw: Floats
    before: DaySummaries
    after: DaySummaries
    starts_kwh: Floats
    """The stored energy at the start of each day of life as it would be and, as the last value, at the end."""
    is_of_known_row: bool
    """Whether it changes one lane on one day, and that day has a row."""

    @property
    def end_kwh(self) -> float:
        """The stored energy at the end of life as it would be."""
        return float(self.starts_kwh[-1])

    def find_day_kw(self, day: int) -> Floats | None:
        """All lanes together on a day as they would be; None if its schedules were not read."""
        rows = self._rows_of(range(day, day + 1))
        if rows is not None:
            return np.asarray(self.after_kw[rows][0])
        if day not in self.powers:
            return None
        return np.asarray(_add_lanes(_find_rows(self.powers, [day], ()), 1)[0])

    def sum_before_kw(self) -> Floats:
        """All lanes together as they were."""
        return _add_lanes(_find_rows(self.powers, self.days, ()), len(self.days))

    def lane_kw(self, lane: int, first: int, end: int) -> Floats | None:
        """A changed lane over these periods; None where they reach into days that the change does not touch."""
        return self._cut_periods(self.lanes_kw[lane], first, end)

    def total_kw(self, first: int, end: int) -> Floats | None:
        """All lanes together over these periods; None where they reach into days that the change does not touch."""
        return self._cut_periods(self.after_kw, first, end)

    def _cut_periods(self, days_kw: Floats, first: int, end: int) -> Floats | None:
        rows = self._rows_of(utc_days_of(first, end))
        if rows is None:
            return None
        offset = first - first_period_of_utc_day(first // PERIODS_PER_DAY)
        return days_kw[rows].ravel()[offset : offset + end - first]

    def _rows_of(self, days: range) -> slice | None:
        row = bisect_left(self.days, days.start)
        rows = slice(row, row + len(days))
        return rows if self.days[rows] == list(days) else None


async def draft_change(db: Database, asset: VirtualAsset, changes: Mapping[int, LaneChange]) -> Draft:
    """Overlay the changes on the accepted schedules."""
    powers = await schedule_store.read_days(db, asset.key, find_days(changes))
    return draft_from(asset, changes, powers, await schedule_store.read_summaries(db, asset))


def find_days(changes: Mapping[int, LaneChange]) -> list[int]:
    """The days that are touched, in order."""
    if len(changes) == 1:
        [change] = changes.values()
        return change.days()
    touched: set[int] = set()
    return sorted(touched.union(*(change.days() for change in changes.values())))


def draft_from(
    asset: VirtualAsset, changes: Mapping[int, LaneChange], powers: DayPowers, before: DaySummaries
) -> Draft:
    """`powers` are those of the days that the changes touch, at least."""
    days = find_days(changes)
    rows_kw = _find_rows(powers, days, changes.keys())
    for lane, change in changes.items():
        _overlay_lane(rows_kw[lane], days, change)
    after_kw = _add_lanes(rows_kw, len(days))
    first_day = asset.first_day
    indices = [day - first_day for day in days]
    after = before.with_days(indices, DaySummaries.of(after_kw, asset.terms.efficiency))
    is_of_known_row = len(days) == len(changes) == 1 and changes.keys() <= powers.get(days[0], {}).keys()
    lanes_kw = {lane: rows_kw[lane] for lane in changes}
    starts_kwh = after.day_starts_kwh(asset.initial_kwh)
    return Draft(changes, days, lanes_kw, powers, after_kw, before, after, starts_kwh, is_of_known_row)


def _find_rows(powers: DayPowers, days: Sequence[int], changed: Iterable[int]) -> dict[int, Floats]:
    """The lanes that these days have, and those that are changed: for each a row of its own for each day, in order."""
    if len(days) == 1 and (known := powers.get(days[0])) is not None and known.keys() == changed:
        return {lane: lane_kw[None].copy() for lane, lane_kw in sorted(known.items())}
    lanes = {*changed, *(lane for day in days for lane in powers.get(day, ()))}
    return {lane: schedule_store.lane_days(powers, lane, days) for lane in sorted(lanes)}


def _add_lanes(rows_kw: Mapping[int, Floats], days: int) -> Floats:
    """The sum of all lanes; where there is but one, it is that."""
    first, *others = rows_kw.values() or (np.zeros((days, PERIODS_PER_DAY)),)
    if not others:
        return first
    total_kw = first + others[0]
    for lane_kw in others[1:]:
        total_kw += lane_kw
    return total_kw


def _overlay_lane(rows_kw: Floats, days: list[int], change: LaneChange) -> None:
    """Set the change's periods in whole days; those of a run lie side by side there."""
    if change.is_contiguous:
        day, slot = divmod(int(change.periods[0]), PERIODS_PER_DAY)
        start = bisect_left(days, day) * PERIODS_PER_DAY + slot
        rows_kw.reshape(-1)[start : start + len(change.periods)] = change.power_kw
        return
    rows = np.searchsorted(days, change.periods // PERIODS_PER_DAY)
    rows_kw[rows, change.periods % PERIODS_PER_DAY] = change.power_kw


async def validate_energy(db: Database, asset: VirtualAsset, draft: Draft, available: AvailableFraction) -> None:
    """Refuse a change that moves the stored energy out of bounds in any period until the end of life."""
    slack_kwh = tolerance_kwh(asset.terms.energy_capacity_kwh)
    first_day, first_place = draft.days[0], draft.days[0] - asset.first_day
    touched = {day - asset.first_day: row for row, day in enumerate(draft.days)}
    capacity_kwh = np.full((len(asset.days) - first_place, PERIODS_PER_DAY), np.inf)
    available = available.between(max(available.first, first_period_of_utc_day(first_day)), available.end)
    offset = available.first - first_period_of_utc_day(first_day)
    flat = capacity_kwh.ravel()
    flat[offset : offset + len(available.energy)] = available.energy * asset.terms.energy_capacity_kwh
    suspects = days_possibly_out_of_bounds(
        draft.before, draft.after, asset.initial_kwh, _take_from(capacity_kwh.min(axis=1), first_place), slack_kwh
    )
    suspects[:first_place] = False
    suspects[list(touched)] = True
    indices = np.flatnonzero(suspects)
    before_kwh = draft.before.day_starts_kwh(asset.initial_kwh)
    after_kwh, before_kw = draft.starts_kwh, draft.sum_before_kw()
    # Touched days are in memory, so a change of a whole year is one group; other days are fetched in batches.
    for group in _group_days(indices, touched):
        unread_days = [index + asset.first_day for index in group.tolist() if index not in touched]
        powers = await schedule_store.read_days(db, asset.key, unread_days) if unread_days else {}
        old_kw = np.empty((len(group), PERIODS_PER_DAY))
        new_kw = np.empty((len(group), PERIODS_PER_DAY))
        for row, index in enumerate(group.tolist()):
            if index in touched:
                old_kw[row], new_kw[row] = before_kw[touched[index]], draft.after_kw[touched[index]]
            else:
                lanes = powers.get(index + asset.first_day, {})
                old_kw[row] = new_kw[row] = np.sum(list(lanes.values()), axis=0) if lanes else 0.0
        energy_kwh = _energies_kwh(asset, after_kwh[group], new_kw).ravel()
        there_kwh = capacity_kwh[group - first_place].ravel()
        excess = first_excess(_energies_kwh(asset, before_kwh[group], old_kw).ravel(), energy_kwh, there_kwh, slack_kwh)
        if excess is not None:
            index, slot = divmod(excess.position, PERIODS_PER_DAY)
            period = first_period_of_utc_day(int(group[index]) + asset.first_day) + slot
            raise energy_out_of_bounds(
                asset, period, excess, float(capacity_kwh[int(group[index]) - first_place, slot])
            )


def _take_from(values: Floats, index: int) -> Floats:
    return np.concatenate([np.full(index, np.inf), values])


def _energies_kwh(asset: VirtualAsset, starts_kwh: Floats, power_kw: Floats) -> Floats:
    """The stored energy at the end of each period of whole days."""
    return np.asarray(starts_kwh[:, None] + np.cumsum(energy_changes_kwh(power_kw, asset.terms.efficiency), axis=1))


def _group_days(indices: Ints, touched: Mapping[int, int]) -> list[Ints]:
    """The days in the order of time, cut so that each group holds few that have to be fetched."""
    fetched = np.array([index not in touched for index in indices.tolist()], dtype=bool)
    cuts = np.flatnonzero(np.diff(np.cumsum(fetched) // DAY_FETCH_BATCH_SIZE)) + 1
    return [group for group in np.split(indices, cuts) if len(group)]
