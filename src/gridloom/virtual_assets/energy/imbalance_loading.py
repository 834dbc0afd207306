"""What can still be done about an imbalance at the end of an asset's life."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

import numpy as np

from gridloom.database.pool import Database
from gridloom.kernel.market_time import period_start
from gridloom.kernel.units import QUARTER_HOUR_H
from gridloom.kernel.window import Window
from gridloom.market_calendar import Floats, first_period_of_utc_day
from gridloom.virtual_assets.backing.availability import AvailableFraction, load_available_of_each
from gridloom.virtual_assets.energy.headroom import irreparable_kwh
from gridloom.virtual_assets.energy.projection import Projection, ProjectionInput, project
from gridloom.virtual_assets.energy.projection_input import load_projection_input
from gridloom.virtual_assets.energy.projection_loading import first_cuttable_period, is_fully_available, precheck_uncut
from gridloom.virtual_assets.model import Block, Market, VirtualAsset
from gridloom.virtual_assets.schedule import store as schedule_store
from gridloom.virtual_assets.schedule.distribution import rated_kw
from gridloom.virtual_assets.schedule.projection.imbalance import Imbalance, imbalance_of
from gridloom.virtual_assets.schedule.projection.trajectory import DaySummaries, energy_trajectory_kwh, tolerance_kwh
from gridloom.virtual_assets.schedule.rules import first_open_period

DayLookup = Callable[[int], Floats | None]
"""All that is scheduled on a day, or None where that is not known."""
LAST_DAYS: Final = 2
"""So many are looked into before an asset's whole life is."""


def imbalance_at_end(asset: VirtualAsset, end_kwh: float, remaining_kwh: float = 0.0) -> Imbalance:
    """remaining_kwh: what no schedule that is still possible mends of it."""
    terms = asset.terms
    return imbalance_of(
        end_kwh, terms.energy_capacity_kwh, terms.final_soc_tolerance, terms.final_soc_target, remaining_kwh
    )


def projected_imbalance(
    asset: VirtualAsset, now: datetime, first: int, inputs: ProjectionInput, projection: Projection
) -> Imbalance:
    """Where a projection that starts with the period `first` and reaches to the end of life leaves the asset."""
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
    """The same for an asset of whose schedules nothing is cut; None where its last days are full, so that only its
    schedules can tell what is left to mend it. `find_day_kw` knows those of some days."""
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
) -> Imbalance:
    """The same for an asset of whose schedules nothing is cut; looks into them only where their last days are full."""
    known = imbalance_from_summaries(asset, now, end_kwh, blocks, summaries)
    if known is not None:
        return known
    first = first_cuttable_period(asset, now)
    _, inputs = await load_projection_input(db, asset, first, asset.end)
    return projected_imbalance(asset, now, first, inputs, project(inputs))


async def read_imbalances(
    db: Database, assets: Sequence[VirtualAsset], blocks: Mapping[int, Sequence[Block]], now: datetime
) -> dict[int, Imbalance]:
    """Where the schedules leave these assets after all cuts to come, by their keys.

    Assets of which nothing can be cut are judged by what their rows know, however many they are; whether their last
    days have the room to mend an imbalance is looked at where there is one asset.
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
    is_limited = asset.terms.daily_cycle_limit is not None or asset.terms.annual_cycle_limit is not None
    may_be_cut = asset.first_misfit is not None or asset.first_activated is not None
    if available is not None and not may_be_cut and is_fully_available(available, first, asset.end):
        if not is_alone and not is_limited:
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
    """Whether the days without a schedule at the end of life have the power, judged by these blocks alone."""
    if asset.terms.daily_cycle_limit is not None or asset.terms.annual_cycle_limit is not None:
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
    """Whether the last days have the room beside what is scheduled on them.

    The best is done as late as possible, so the days before them could only add to it.
    """
    terms, end_day = asset.terms, asset.days.stop
    if terms.daily_cycle_limit is not None or terms.annual_cycle_limit is not None:
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
    as_scheduled = Projection(inputs.power_kw, energy_kwh[skipped:], (), np.zeros(count))
    beyond_kwh = known.imbalance_discharge_kwh - known.imbalance_charge_kwh
    return irreparable_kwh(inputs, as_scheduled, 0, beyond_kwh) <= tolerance_kwh(terms.energy_capacity_kwh)
