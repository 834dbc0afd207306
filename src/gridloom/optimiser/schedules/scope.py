"""The scope of an optimisation: a virtual asset's open periods in a window, and all that their powers must respect."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import numpy as np

from gridloom.optimiser.limits import LimitReasons, find_reasons
from gridloom.optimiser.schedules.reach import tie_reach
from gridloom.optimiser.solving.programme import BatteryProgramme, CycleLimit, Floats
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets import block_store
from gridloom.virtual_assets.energy.projection import CycleBudget, Projection, ProjectionInput, project
from gridloom.virtual_assets.energy.trajectory import energy_changes_kwh, exported_kwh
from gridloom.virtual_assets.model import Block, Market, VirtualAsset
from gridloom.virtual_assets.schedule.projection_input import load_projection_input
from gridloom.virtual_assets.schedule.projection_loading import first_cuttable_period


@dataclass(frozen=True, slots=True, eq=False)
class OptimisationScope:
    """The periods `first` up to but not `end` of an asset.

    `fixed_kw` is what kept blocks do; `blocks` are the wholesale blocks that are free; `accepted_kw` is the schedule
    of all together that is in force.
    """

    asset: VirtualAsset
    first: int
    end: int
    blocks: tuple[Block, ...]
    fixed_kw: Floats
    accepted_kw: Floats
    programme: BatteryProgramme
    """Without prices."""
    change_after_kwh: float
    """By what all that is scheduled after the window moves the energy until the end of life."""
    reasons: LimitReasons
    """By period, what bounds power and energy."""
    followed_kw: tuple[Floats, Floats]
    """The least and the most power that the store follows: of what is scheduled beyond what is available only the part
    that was announced in time is cut from it."""

    def follow(self, power_kw: Floats) -> Floats:
        """The part of a power that the store follows, in the first periods, where it stays as it is."""
        count = len(power_kw)
        return np.clip(power_kw, self.followed_kw[0][:count], self.followed_kw[1][:count])

    def priced(self, price_eur_mwh: Floats) -> BatteryProgramme:
        return replace(self.programme, price_eur_mwh=price_eur_mwh)

    def end_percentage(self, end_kwh: float) -> float:
        """The state of charge at the end of life, when the window ends with this energy."""
        percentage = 100 * (end_kwh + self.change_after_kwh) / self.asset.terms.energy_capacity_kwh
        return min(max(percentage, 0.0), 100.0)


async def load_optimisation_scope(
    db: Database,
    asset: VirtualAsset,
    now: datetime,
    first: int,
    end: int,
    *,
    keep: Collection[UUID] = (),
    ends_on_target: bool = True,
    is_reach_tied: bool = True,
) -> OptimisationScope:
    """Reads the present state of the asset; `first` and `end` lie within its life, and the gate of `first` is open.

    What is scheduled before and after the window counts as it will be, after the cuts that are known to come. What is
    out of reach follows from the plan where `is_reach_tied`, else it is what it is as things are scheduled.
    """
    start = min(first, first_cuttable_period(asset, now))
    lanes, inputs = await load_projection_input(
        db, asset, start, asset.end, closed=first_cuttable_period(asset, now), with_holds=True
    )
    projection = project(inputs)
    window = slice(first - start, end - start)
    ties = tie_reach(inputs, projection, window) if is_reach_tied else None
    as_scheduled = _bound_stored(inputs, projection)
    inputs = as_scheduled if ties is None else _free_stored(inputs)
    all_blocks = await block_store.read_blocks(db, asset.key)
    blocks = [block for block in all_blocks if block.market is Market.WHOLESALE]
    is_fixed = np.zeros((len(lanes), end - first), dtype=bool)
    for block in blocks:
        if block.id in keep and block.overlaps(first, end):
            is_fixed[lanes.index(block.lane), max(0, block.first - first) : max(0, block.end - first)] = True
    fixed_kw = np.where(is_fixed, projection.power_kw[:, window], 0.0).sum(axis=0)
    total_kw, terms = projection.total_kw, asset.terms
    lowest_kwh, highest_kwh = _energy_bounds(asset, inputs, total_kw, window, ends_on_target=ends_on_target)
    programme = BatteryProgramme(
        np.zeros(end - first),
        fixed_kw - np.where(is_fixed, 0.0, inputs.charge_kw[:, window]).sum(axis=0),
        fixed_kw + np.where(is_fixed, 0.0, inputs.discharge_kw[:, window]).sum(axis=0),
        lowest_kwh,
        highest_kwh,
        float(projection.energy_kwh[window.start]),
        terms.efficiency.charge,
        terms.efficiency.discharge,
        tuple(_cycle_limit(rule, fixed_kw, total_kw, window) for rule in inputs.cycles),
        ties=ties,
    )
    free = tuple(block for block in blocks if block.id not in keep and block.overlaps(first, end))
    reasons = find_reasons(asset, all_blocks, as_scheduled, start).between(window.start, window.stop)
    change_after_kwh = float(energy_changes_kwh(total_kw[window.stop :], terms.efficiency).sum())
    followed_kw = [limit_kw[:, window].sum(axis=0) for limit_kw in inputs.announced_limits_kw]
    return OptimisationScope(
        asset,
        first,
        end,
        free,
        fixed_kw,
        total_kw[window],
        relax_to_reachable(programme),
        change_after_kwh,
        reasons,
        (-followed_kw[0], followed_kw[1]),
    )


def _bound_stored(inputs: ProjectionInput, projection: Projection) -> ProjectionInput:
    """Energy that is out of reach as things are scheduled lies below the energy that may move, and above it is as much
    less."""
    offset_kwh = projection.unreachable_kwh
    return replace(inputs, lowest_kwh=inputs.lowest_kwh + offset_kwh, highest_kwh=inputs.highest_kwh + offset_kwh)


def _free_stored(inputs: ProjectionInput) -> ProjectionInput:
    """In reach and out of it together, all that there is room for."""
    count = len(inputs)
    return replace(inputs, lowest_kwh=np.zeros(count), highest_kwh=np.full(count, inputs.capacity_kwh))


def _energy_bounds(
    asset: VirtualAsset, inputs: ProjectionInput, total_kw: Floats, window: slice, *, ends_on_target: bool
) -> tuple[Floats, Floats]:
    """The bounds at each period's end; the last also lets all that is stored after the window work out.

    What is scheduled after the window moves the energy by the same amounts wherever it starts from, so each later bound
    is one of the energy at the window's end.
    """
    lowest_kwh, highest_kwh = inputs.lowest_kwh[window].copy(), inputs.highest_kwh[window].copy()
    after = slice(window.stop, None)
    moved_kwh = np.cumsum(energy_changes_kwh(total_kw[after], asset.terms.efficiency))
    low = max(float(lowest_kwh[-1]), float((inputs.lowest_kwh[after] - moved_kwh).max(initial=0.0)))
    high = min(float(highest_kwh[-1]), float((inputs.highest_kwh[after] - moved_kwh).min(initial=np.inf)))
    if ends_on_target:
        terms = asset.terms
        target_kwh = terms.final_soc_target * terms.energy_capacity_kwh - float(moved_kwh[-1] if len(moved_kwh) else 0)
        slack_kwh = terms.final_soc_tolerance * terms.energy_capacity_kwh
        low, high = max(low, target_kwh - slack_kwh), min(high, target_kwh + slack_kwh)
    lowest_kwh[-1], highest_kwh[-1] = low, high
    return lowest_kwh, highest_kwh


def _cycle_limit(rule: CycleBudget, fixed_kw: Floats, total_kw: Floats, window: slice) -> CycleLimit:
    """The remaining export of each group: less what it exported before the window, and what is scheduled after it."""
    groups, out_kwh = rule.groups[window], exported_kwh(total_kw)
    first = int(groups[0])
    left_kwh = np.full(int(groups[-1]) - first + 1, rule.limit_kwh)
    left_kwh[0] -= float(out_kwh[: window.start][rule.groups[: window.start] == first].sum())
    if first == int(rule.groups[0]):
        left_kwh[0] -= rule.exported_before_kwh
    left_kwh[-1] -= float(out_kwh[window.stop :][rule.groups[window.stop :] == groups[-1]].sum())
    fixed_kwh = np.bincount(groups - first, exported_kwh(fixed_kw), minlength=len(left_kwh))
    return CycleLimit(groups - first, np.maximum(left_kwh, fixed_kwh))


def relax_to_reachable(programme: BatteryProgramme) -> BatteryProgramme:
    """Where lost capacity has left more in store than fits, what cannot be given away in time may stay."""
    eta_c, eta_d = programme.charge_efficiency, programme.discharge_efficiency
    fall_kwh = programme.max_kw * np.where(programme.max_kw < 0, eta_c, 1 / eta_d) * programme.step_h
    if programme.initial_kwh - fall_kwh[0] <= programme.highest_kwh[0]:
        return programme
    highest_kwh, least = programme.highest_kwh.copy(), programme.initial_kwh
    for index in range(len(programme)):
        least -= float(fall_kwh[index])
        if least <= highest_kwh[index]:
            break
        highest_kwh[index] = least
    return replace(programme, highest_kwh=highest_kwh)
