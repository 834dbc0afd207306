"""Projections and imbalances of assets, loaded from the database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np

from gridloom.kernel.market_time import period_start
from gridloom.kernel.units import QUARTER_HOUR_H
from gridloom.kernel.window import Window
from gridloom.market_calendar import Floats, first_period_of_utc_day, utc_days_of
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets.backing.availability import AvailableFraction, load_available, load_available_of_each
from gridloom.virtual_assets.energy.imbalance import Imbalance, imbalance_of, irreparable_kwh
from gridloom.virtual_assets.energy.projection import Projection, ProjectionInput, project
from gridloom.virtual_assets.energy.trajectory import (
    DaySummaries,
    cycle_limits_kwh,
    energy_trajectory_kwh,
    exported_kwh,
    may_exceed_cycles,
    tolerance_kwh,
)
from gridloom.virtual_assets.model import Adjustment, Block, Market, VirtualAsset
from gridloom.virtual_assets.rules import first_open_period
from gridloom.virtual_assets.schedule import store as schedule_store
from gridloom.virtual_assets.schedule.points import rated_kw
from gridloom.virtual_assets.schedule.projection_input import (
    READ_ACTIVATED_AS_OF,
    ActivatedEnergy,
    EnergyTrajectory,
    load_projection_input,
    load_projection_input_as_of,
    load_trajectory,
    trajectory_of,
)


@dataclass(frozen=True, slots=True, eq=False)
class AssetProjection:
    """The projected trajectory of some periods, their expected cuts, the unexplained energy of activations, and the
    energy that is out of reach."""

    trajectory: EnergyTrajectory
    cuts: Sequence[Adjustment]
    unexplained_kwh: Floats
    unreachable_kwh: Floats


def first_cuttable_period(asset: VirtualAsset, now: datetime) -> int:
    """The first period that can still be cut: its gate is open, or it closed and its revalidation is pending."""
    return first_cuttable_from(asset, first_open_period(now, asset.terms.gate_closure_s))


def first_cuttable_from(asset: VirtualAsset, first_open: int) -> int:
    """The same, given the first period whose gate is open."""
    closed = first_open
    if asset.first_misfit is not None:
        closed = min(closed, asset.first_misfit)
    return min(max(closed, asset.judged_until or 0, asset.first), asset.end)


def is_fully_available(available: AvailableFraction, first: int, end: int) -> bool:
    """Whether nothing is lost in the periods [first, end)."""
    if available.is_full or first >= end:
        return True
    part = available.between(first, end)
    return bool(min(part.charge.min(), part.discharge.min(), part.energy.min()) >= 1.0)


async def load_projection(db: Database, asset: VirtualAsset, now: datetime, first: int, end: int) -> AssetProjection:
    """The periods [first, end), which lie within the asset's life."""
    closed = first_cuttable_period(asset, now)
    available = await load_available(db, asset, min(closed, end), end)
    summaries = await _precheck_follows_schedule(db, asset, available, end)
    if summaries is not None:
        powers = await schedule_store.read_day_range(db, asset.key, utc_days_of(first, max(end, first + 1)))
        return AssetProjection(trajectory_of(asset, summaries, powers, first, end), (), *np.zeros((2, end - first)))
    start = min(first, closed)
    _, inputs = await load_projection_input(db, asset, start, end, closed=closed, available=available)
    exported_before_kwh = (await load_trajectory(db, asset, start, start)).exported_before_kwh
    return _projection_of(project(inputs), start, first, exported_before_kwh)


async def load_projection_as_of(
    db: Database, asset: VirtualAsset, version: int, instant: datetime, first: int, end: int
) -> tuple[AssetProjection, ActivatedEnergy]:
    """The same by the schedules of a version and the activations that were settled by an instant, and the exports of
    these; the available capacity is the present one."""
    known = await READ_ACTIVATED_AS_OF.get()(db, asset.key, asset.first, end, instant)
    closed = first_open_period(instant, asset.terms.gate_closure_s)
    activated_kwh = known.changes_kwh(asset.terms.efficiency)
    inputs = await load_projection_input_as_of(db, asset, version, closed, end, activated_kwh)
    return _projection_of(project(inputs), asset.first, first, 0.0), known.exported_from(first - asset.first)


async def _precheck_follows_schedule(
    db: Database, asset: VirtualAsset, available: AvailableFraction, end: int
) -> DaySummaries | None:
    """The summaries if they prove that nothing is cut and nothing was activated before `end`; conservative."""
    if asset.first_activated is not None and asset.first_activated < end:
        return None
    if not is_fully_available(available, available.first, end):
        return None
    summaries = await schedule_store.read_summaries(db, asset)
    return summaries if precheck_uncut(asset, summaries) else None


def precheck_uncut(asset: VirtualAsset, summaries: DaySummaries, starts_kwh: Floats | None = None) -> bool:
    """Whether summaries prove that nothing is cut of a fully available asset; conservative.

    `starts_kwh` is the stored energy at the days' starts and at the end, if it is computed already.
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
    cuts = [each for each in adjustments_of(projection, start) if each.period >= first]
    return AssetProjection(trajectory, cuts, projection.unexplained_kwh[skipped:], projection.unreachable_kwh[skipped:])


def adjustments_of(projection: Projection, first: int) -> list[Adjustment]:
    return [
        Adjustment(
            first + cut.position, cut.accepted_kw, cut.adjusted_kw, cut.reason, cut.scheduled_kw, cut.announced_kw
        )
        for cut in projection.cuts
    ]


DayLookup = Callable[[int], Floats | None]
"""The power of all lanes on a day, or None if it was not read."""


LAST_DAYS: Final = 2
"""Days at the end of life that are examined before the whole life is."""


def imbalance_at_end(asset: VirtualAsset, end_kwh: float, remaining_kwh: float = 0.0) -> Imbalance:
    """`remaining_kwh` is the part that no schedule can repair any more."""
    terms = asset.terms
    return imbalance_of(
        end_kwh, terms.energy_capacity_kwh, terms.final_soc_tolerance, terms.final_soc_target, remaining_kwh
    )


def projected_imbalance(
    asset: VirtualAsset, now: datetime, first: int, inputs: ProjectionInput, projection: Projection
) -> Imbalance:
    """The imbalance after a projection of the periods from `first` to the end of life."""
    known = imbalance_at_end(asset, projection.end_kwh)
    if known.balanced:
        return known
    open_from = max(0, first_open_period(now, asset.terms.gate_closure_s) - first)
    beyond_kwh = known.imbalance_discharge_kwh - known.imbalance_charge_kwh
    remaining_kwh = irreparable_kwh(inputs, projection, open_from, beyond_kwh)
    return imbalance_at_end(asset, projection.end_kwh, remaining_kwh)


def imbalance_from_summaries(
    asset: VirtualAsset,
    now: datetime,
    end_kwh: float,
    blocks: Sequence[Block],
    summaries: DaySummaries,
    find_day_kw: DayLookup | None = None,
) -> Imbalance | None:
    """The same for an asset of which nothing is cut; None if only the schedules show which part can be repaired.

    `find_day_kw` has the schedules of some days.
    """
    known = imbalance_at_end(asset, end_kwh)
    if known.balanced or _repairable_in_idle_days(asset, now, known, blocks, summaries):
        return known
    if find_day_kw is not None and _repairable_in_last_days(asset, now, known, blocks, summaries, find_day_kw):
        return known
    return None


async def load_imbalance(
    db: Database,
    asset: VirtualAsset,
    now: datetime,
    end_kwh: float,
    blocks: Sequence[Block],
    summaries: DaySummaries,
    find_day_kw: DayLookup | None = None,
) -> Imbalance:
    """The same for an asset of which nothing is cut; reads its schedules only if these are not enough."""
    known = imbalance_from_summaries(asset, now, end_kwh, blocks, summaries, find_day_kw)
    if known is not None:
        return known
    first = first_cuttable_period(asset, now)
    _, inputs = await load_projection_input(db, asset, first, asset.end)
    return projected_imbalance(asset, now, first, inputs, project(inputs))


async def read_imbalances(
    db: Database, assets: Sequence[VirtualAsset], blocks: Mapping[int, Sequence[Block]], now: datetime
) -> dict[int, Imbalance]:
    """The imbalances of these assets after expected cuts, by their keys.

    For assets of which nothing is cut their rows are enough, however many they are. Which part can be repaired is
    computed for a single asset only.
    """
    lasting = [asset for asset in assets if first_cuttable_period(asset, now) < asset.end]
    there: dict[int, AvailableFraction] = {}
    if lasting:
        first = min(first_cuttable_period(asset, now) for asset in lasting)
        window = Window(period_start(first), period_start(max(asset.end for asset in lasting)))
        there = {asset.key: available for asset, available in await load_available_of_each(db, lasting, window)}
    return {
        asset.key: await _read_imbalance(db, asset, blocks[asset.key], there.get(asset.key), now, len(assets) == 1)
        for asset in assets
    }


async def _read_imbalance(
    db: Database,
    asset: VirtualAsset,
    blocks: Sequence[Block],
    available: AvailableFraction | None,
    now: datetime,
    is_alone: bool,
) -> Imbalance:
    first = first_cuttable_period(asset, now)
    if asset.first_activated is None and available is None:
        return imbalance_at_end(asset, asset.end_kwh, asset.terms.energy_capacity_kwh)
    may_be_cut = asset.first_misfit is not None or asset.first_activated is not None
    if available is not None and not may_be_cut and is_fully_available(available, first, asset.end):
        if not is_alone and not asset.terms.has_cycle_limit:
            return imbalance_at_end(asset, asset.end_kwh)
        summaries = await schedule_store.read_summaries(db, asset)
        if precheck_uncut(asset, summaries):
            return await load_imbalance(db, asset, now, asset.end_kwh, blocks, summaries)
    first = min(first, asset.end - 1)
    _, inputs = await load_projection_input(
        db, asset, first, asset.end, closed=first_cuttable_period(asset, now), available=available
    )
    return projected_imbalance(asset, now, first, inputs, project(inputs))


def _repairable_in_idle_days(
    asset: VirtualAsset, now: datetime, known: Imbalance, blocks: Sequence[Block], summaries: DaySummaries
) -> bool:
    """Whether the power of the blocks on days without a schedule at the end of life is enough; conservative."""
    if asset.terms.has_cycle_limit:
        return False
    busy = np.flatnonzero((summaries.exported_kwh != 0) | (summaries.lowest_kwh != 0) | (summaries.highest_kwh != 0))
    idle_from = first_period_of_utc_day(asset.first_day + (int(busy[-1]) + 1 if len(busy) else 0))
    last = [block for block in blocks if block.market is Market.WHOLESALE and block.end == asset.end]
    if not last:
        return False
    start = max(idle_from, first_open_period(now, asset.terms.gate_closure_s), *(block.first for block in last))
    hours = max(0, asset.end - start) * QUARTER_HOUR_H
    efficiency = asset.terms.efficiency
    drawn_kwh = sum(block.discharge_kw for block in last) * hours / efficiency.discharge
    charged_kwh = sum(block.charge_kw for block in last) * hours * efficiency.charge
    return known.imbalance_discharge_kwh <= drawn_kwh and known.imbalance_charge_kwh <= charged_kwh


def _repairable_in_last_days(
    asset: VirtualAsset,
    now: datetime,
    known: Imbalance,
    blocks: Sequence[Block],
    summaries: DaySummaries,
    find_day_kw: DayLookup,
) -> bool:
    """Whether the last days have enough headroom beside their schedules; conservative.

    Energy is best moved as late as possible, so earlier days could only add to it.
    """
    terms, end_day = asset.terms, asset.days.stop
    if terms.has_cycle_limit:
        return False
    days_kw: list[Floats] = []
    while len(days_kw) < min(LAST_DAYS, len(asset.days)):
        day_kw = find_day_kw(end_day - len(days_kw) - 1)
        if day_kw is None:
            break
        days_kw.insert(0, day_kw)
    day = end_day - len(days_kw)
    first = max(first_period_of_utc_day(day), asset.first, first_open_period(now, terms.gate_closure_s))
    if not days_kw or first >= asset.end:
        return False
    start_kwh = float(summaries.day_starts_kwh(asset.initial_kwh)[day - asset.first_day])
    power_kw = np.concatenate(days_kw)[: asset.end - first_period_of_utc_day(day)]
    energy_kwh = energy_trajectory_kwh(start_kwh, power_kw, terms.efficiency)
    skipped, count = first - first_period_of_utc_day(day), asset.end - first
    charge_kw, discharge_kw = rated_kw(blocks, np.arange(first, asset.end))
    inputs = ProjectionInput(
        power_kw=power_kw[None, skipped:],
        charge_kw=charge_kw[None],
        discharge_kw=discharge_kw[None],
        lowest_kwh=np.zeros(count),
        highest_kwh=np.full(count, terms.energy_capacity_kwh),
        energy_kwh=float(energy_kwh[skipped]),
        capacity_kwh=terms.energy_capacity_kwh,
        efficiency=terms.efficiency,
    )
    as_scheduled = Projection(inputs.power_kw, energy_kwh[skipped:], (), *np.zeros((2, count)))
    beyond_kwh = known.imbalance_discharge_kwh - known.imbalance_charge_kwh
    return irreparable_kwh(inputs, as_scheduled, 0, beyond_kwh) <= tolerance_kwh(terms.energy_capacity_kwh)
