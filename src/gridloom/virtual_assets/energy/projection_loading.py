"""What will happen to an asset by all that is known now: its course after the cuts to come, and what they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from gridloom.database.pool import Database
from gridloom.market_calendar import Floats
from gridloom.virtual_assets.backing.availability import AvailableFraction, load_available
from gridloom.virtual_assets.energy.activations import READ_ACTIVATED_AS_OF, ActivatedEnergy
from gridloom.virtual_assets.energy.projection import Projection, project
from gridloom.virtual_assets.energy.projection_input import load_projection_input, load_projection_input_as_of
from gridloom.virtual_assets.model import Adjustment, AssetTerms, VirtualAsset
from gridloom.virtual_assets.schedule import store as schedule_store
from gridloom.virtual_assets.schedule.gate_jobs import may_exceed_cycles
from gridloom.virtual_assets.schedule.projection.energy_trajectory import EnergyTrajectory, load_trajectory
from gridloom.virtual_assets.schedule.projection.trajectory import DaySummaries, exported_kwh, tolerance_kwh
from gridloom.virtual_assets.schedule.rules import first_open_period


@dataclass(frozen=True, slots=True, eq=False)
class AssetProjection:
    """The course of some periods as it will be, the cuts to expect in them, and what activations leave unexplained."""

    trajectory: EnergyTrajectory
    cuts: Sequence[Adjustment]
    unexplained_kwh: Floats
    unexplained_before_kwh: float = 0.0


def first_cuttable_period(asset: VirtualAsset, now: datetime) -> int:
    """The first period that can still be cut: its gate is open, or it closed and the look at it is under way."""
    return first_cuttable_from(asset, first_open_period(now, asset.terms.gate_closure_s))


def first_cuttable_from(asset: VirtualAsset, first_open: int) -> int:
    """The same where it is known which gate is the first that is open."""
    closed = first_open
    if asset.first_misfit is not None:
        closed = min(closed, asset.first_misfit)
    return min(max(closed, asset.judged_until or 0, asset.first), asset.end)


def cycle_limits_kwh(terms: AssetTerms) -> tuple[float | None, float | None]:
    """What may be exported in a market day and in a year."""
    capacity_kwh = terms.energy_capacity_kwh
    return (
        None if terms.daily_cycle_limit is None else terms.daily_cycle_limit * capacity_kwh,
        None if terms.annual_cycle_limit is None else terms.annual_cycle_limit * capacity_kwh,
    )


def is_fully_available(available: AvailableFraction, first: int, end: int) -> bool:
    """Whether nothing of the asset is lost in these periods."""
    if available.is_full or first >= end:
        return True
    part = available.between(first, end)
    return bool(min(part.charge.min(), part.discharge.min(), part.energy.min()) >= 1.0)


async def load_projection(db: Database, asset: VirtualAsset, now: datetime, first: int, end: int) -> AssetProjection:
    """The periods `first` up to but not `end`, which lie within the asset's life."""
    closed = first_cuttable_period(asset, now)
    available = await load_available(db, asset, min(closed, end), end)
    if await _precheck_follows_schedule(db, asset, available, end):
        trajectory = await load_trajectory(db, asset, first, end)
        return AssetProjection(trajectory, (), np.zeros(end - first))
    start = min(first, closed)
    _, inputs = await load_projection_input(db, asset, start, end, closed=closed, available=available)
    exported_before_kwh = (await load_trajectory(db, asset, start, start)).exported_before_kwh
    return _projection_of(project(inputs), start, first, exported_before_kwh)


async def load_projection_as_of(
    db: Database, asset: VirtualAsset, version: int, moment: datetime, first: int, end: int
) -> tuple[AssetProjection, ActivatedEnergy]:
    """The same by the schedules of the version that stood at a moment and the activations that were settled by then,
    and what these had exported; what is available is the present."""
    known = await READ_ACTIVATED_AS_OF.get()(db, asset.key, asset.first, end, moment)
    closed = first_open_period(moment, asset.terms.gate_closure_s)
    activated_kwh = known.changes_kwh(asset.terms.efficiency)
    inputs = await load_projection_input_as_of(db, asset, version, closed, end, activated_kwh)
    return _projection_of(project(inputs), asset.first, first, 0.0), known.exported_from(first - asset.first)


async def _precheck_follows_schedule(db: Database, asset: VirtualAsset, available: AvailableFraction, end: int) -> bool:
    """Whether, at a glance, nothing is cut and nothing was activated before `end`."""
    if asset.first_activated is not None and asset.first_activated < end:
        return False
    if not is_fully_available(available, available.first, end):
        return False
    return precheck_uncut(asset, await schedule_store.read_summaries(db, asset))


def precheck_uncut(asset: VirtualAsset, summaries: DaySummaries, starts_kwh: Floats | None = None) -> bool:
    """Whether, by its days alone, nothing is cut of an asset of which nothing is lost; never wrongly yes.

    starts_kwh: the stored energy at the days' starts, and at the end, where it is known.
    """
    if asset.first_misfit is not None or may_exceed_cycles(summaries.exported_kwh, *cycle_limits_kwh(asset.terms)):
        return False
    capacity_kwh = asset.terms.energy_capacity_kwh
    if starts_kwh is None:
        starts_kwh = summaries.day_starts_kwh(asset.initial_kwh)
    starts_kwh, slack_kwh = starts_kwh[:-1], tolerance_kwh(capacity_kwh)
    highest_kwh = np.maximum.reduce(starts_kwh + summaries.rows_kwh[2], initial=0.0)
    lowest_kwh = np.minimum.reduce(starts_kwh + summaries.rows_kwh[1], initial=0.0)
    return bool(highest_kwh <= capacity_kwh + slack_kwh and lowest_kwh >= -slack_kwh)


def _projection_of(projection: Projection, start: int, first: int, exported_before_kwh: float) -> AssetProjection:
    skipped = first - start
    total_kw = projection.total_kw
    trajectory = EnergyTrajectory(
        first,
        total_kw[skipped:],
        projection.energy_kwh[skipped:],
        exported_before_kwh + float(exported_kwh(total_kw[:skipped]).sum()),
    )
    unexplained_kwh = projection.unexplained_kwh
    return AssetProjection(
        trajectory,
        [each for each in adjustments_of(projection, start) if each.period >= first],
        unexplained_kwh[skipped:],
        float(unexplained_kwh[:skipped].sum()),
    )


def adjustments_of(projection: Projection, first: int) -> list[Adjustment]:
    return [Adjustment(first + cut.position, cut.accepted_kw, cut.adjusted_kw, cut.reason) for cut in projection.cuts]
