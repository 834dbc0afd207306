"""What will happen to an asset by all that is known now: its course after the cuts to come, and what they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from gridloom.database.pool import Database
from gridloom.market_calendar import Floats
from gridloom.virtual_assets.backing.availability import Availability, load_available
from gridloom.virtual_assets.energy.activations import READ_ACTIVATED_AS_OF, Activated
from gridloom.virtual_assets.energy.projection import Projection, project
from gridloom.virtual_assets.energy.standing import load_standing, load_standing_as_of
from gridloom.virtual_assets.model import Adjustment, AssetTerms, VirtualAsset
from gridloom.virtual_assets.schedule import store as schedule_store
from gridloom.virtual_assets.schedule.gates import may_exceed_cycles
from gridloom.virtual_assets.schedule.projection.stored_energy import Course, load_course
from gridloom.virtual_assets.schedule.projection.trajectory import DaySummaries, exported_kwh, tolerance_kwh
from gridloom.virtual_assets.schedule.rules import first_open_period


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """The course of some periods as it will be, the cuts to expect in them, and what activations leave unexplained."""

    course: Course
    cuts: Sequence[Adjustment]
    unexplained_kwh: Floats
    unexplained_before_kwh: float = 0.0


def closed_until(asset: VirtualAsset, now: datetime) -> int:
    """The first period that can still be cut: its gate is open, or it closed and the look at it is under way."""
    return closed_before(asset, first_open_period(now, asset.terms.gate_closure_s))


def closed_before(asset: VirtualAsset, first_open: int) -> int:
    """The same where it is known which gate is the first that is open."""
    closed = first_open
    if asset.first_misfit is not None:
        closed = min(closed, asset.first_misfit)
    return min(max(closed, asset.judged_until or 0, asset.first), asset.end)


def limits_kwh(terms: AssetTerms) -> tuple[float | None, float | None]:
    """What may be exported in a market day and in a year."""
    capacity_kwh = terms.energy_capacity_kwh
    return (
        None if terms.daily_cycle_limit is None else terms.daily_cycle_limit * capacity_kwh,
        None if terms.annual_cycle_limit is None else terms.annual_cycle_limit * capacity_kwh,
    )


def is_all_there(available: Availability, first: int, end: int) -> bool:
    """Whether nothing of the asset is lost in these periods."""
    if available.is_whole or first >= end:
        return True
    part = available.between(first, end)
    return bool(min(part.charge.min(), part.discharge.min(), part.energy.min()) >= 1.0)


async def load_outlook(db: Database, asset: VirtualAsset, now: datetime, first: int, end: int) -> Outlook:
    """The periods `first` up to but not `end`, which lie within the asset's life."""
    closed = closed_until(asset, now)
    available = await load_available(db, asset, min(closed, end), end)
    if await _goes_as_scheduled(db, asset, available, end):
        course = await load_course(db, asset, first, end)
        return Outlook(course, (), np.zeros(end - first))
    start = min(first, closed)
    _, standing = await load_standing(db, asset, start, end, closed=closed, available=available)
    exported_before_kwh = (await load_course(db, asset, start, start)).exported_before_kwh
    return _outlook_of(project(standing), start, first, exported_before_kwh)


async def load_outlook_as_of(
    db: Database, asset: VirtualAsset, version: int, moment: datetime, first: int, end: int
) -> tuple[Outlook, Activated]:
    """The same by the schedules of the version that stood at a moment and the activations that were settled by then,
    and what these had exported; what is available is the present."""
    known = await READ_ACTIVATED_AS_OF.get()(db, asset.key, asset.first, end, moment)
    closed = first_open_period(moment, asset.terms.gate_closure_s)
    activated_kwh = known.changes_kwh(asset.terms.efficiency)
    standing = await load_standing_as_of(db, asset, version, closed, end, activated_kwh)
    return _outlook_of(project(standing), asset.first, first, 0.0), known.exported_from(first - asset.first)


async def _goes_as_scheduled(db: Database, asset: VirtualAsset, available: Availability, end: int) -> bool:
    """Whether, at a glance, nothing is cut and nothing was activated before `end`."""
    if asset.first_activated is not None and asset.first_activated < end:
        return False
    if not is_all_there(available, available.first, end):
        return False
    return fits_whole_asset(asset, await schedule_store.read_summaries(db, asset))


def fits_whole_asset(asset: VirtualAsset, summaries: DaySummaries, starts_kwh: Floats | None = None) -> bool:
    """Whether, by its days alone, nothing is cut of an asset of which nothing is lost; never wrongly yes.

    starts_kwh: the stored energy at the days' starts, and at the end, where it is known.
    """
    if asset.first_misfit is not None or may_exceed_cycles(summaries.exported_kwh, *limits_kwh(asset.terms)):
        return False
    capacity_kwh = asset.terms.energy_capacity_kwh
    if starts_kwh is None:
        starts_kwh = summaries.day_starts_kwh(asset.initial_kwh)
    starts_kwh, slack_kwh = starts_kwh[:-1], tolerance_kwh(capacity_kwh)
    highest_kwh = np.maximum.reduce(starts_kwh + summaries.rows_kwh[2], initial=0.0)
    lowest_kwh = np.minimum.reduce(starts_kwh + summaries.rows_kwh[1], initial=0.0)
    return bool(highest_kwh <= capacity_kwh + slack_kwh and lowest_kwh >= -slack_kwh)


def _outlook_of(projection: Projection, start: int, first: int, exported_before_kwh: float) -> Outlook:
    skipped = first - start
    total_kw = projection.total_kw
    course = Course(
        first,
        total_kw[skipped:],
        projection.energy_kwh[skipped:],
        exported_before_kwh + float(exported_kwh(total_kw[:skipped]).sum()),
    )
    unexplained_kwh = projection.unexplained_kwh
    return Outlook(
        course,
        [each for each in adjustments_of(projection, start) if each.period >= first],
        unexplained_kwh[skipped:],
        float(unexplained_kwh[:skipped].sum()),
    )


def adjustments_of(projection: Projection, first: int) -> list[Adjustment]:
    return [Adjustment(first + cut.position, cut.accepted_kw, cut.adjusted_kw, cut.reason) for cut in projection.cuts]
