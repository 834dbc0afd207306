"""All that a projection reads: trajectories of accepted schedules, settled activations and limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from gridloom.kernel.dependency import Dependency
from gridloom.kernel.market_time import market_day_of, market_days_in, period_start
from gridloom.kernel.window import Window
from gridloom.market_calendar import (
    Floats,
    Ints,
    first_period_of_utc_day,
    market_day_periods,
    market_year_periods,
    utc_day_of,
    utc_days_of,
)
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets import block_store
from gridloom.virtual_assets.backing.announced import load_announced
from gridloom.virtual_assets.backing.availability import AvailableFraction, load_available
from gridloom.virtual_assets.backing.store import read_recorded_outages
from gridloom.virtual_assets.energy.projection import CycleBudget, ProjectionInput, Reach, project
from gridloom.virtual_assets.energy.trajectory import DaySummaries, energy_trajectory_kwh, exported_kwh, reserved_kwh
from gridloom.virtual_assets.model import Block, Efficiency, Market, VirtualAsset
from gridloom.virtual_assets.schedule import store as schedule_store
from gridloom.virtual_assets.schedule.store import DayPowers, lane_power_kw, read_day_range, total_power_kw


@dataclass(frozen=True, slots=True, eq=False)
class ActivatedEnergy:
    """The exports of an asset for aFRR: before some periods, and in each of them."""

    before_kwh: float
    period_kwh: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ActivationsAsOf:
    """Energy activated upward and downward in each period, at the grid, as it was settled by an instant."""

    up_kwh: Floats
    down_kwh: Floats

    def changes_kwh(self, efficiency: Efficiency) -> Floats:
        """The changes of stored energy; negative where it is drawn."""
        return np.asarray(self.down_kwh * efficiency.charge - self.up_kwh / efficiency.discharge)

    def exported_from(self, index: int) -> ActivatedEnergy:
        """The exports from an index on."""
        return ActivatedEnergy(float(self.up_kwh[:index].sum()), self.up_kwh[index:])


READ_ACTIVATED: Dependency[Callable[[Database, int, int, int], Awaitable[ActivatedEnergy]]] = Dependency(
    "settled activations"
)
"""Called with an asset's key and the periods [first, end)."""


READ_ACTIVATED_AS_OF: Dependency[Callable[[Database, int, int, int, datetime], Awaitable[ActivationsAsOf]]] = (
    Dependency("settled activations as of an instant")
)
"""Called with an asset's key, the periods [first, end) and the instant."""


@dataclass(frozen=True, slots=True, eq=False)
class EnergyTrajectory:
    """The asset's power and stored energy from `first` on; `energy_kwh` has one value more, at the end."""

    first: int
    power_kw: Floats
    energy_kwh: Floats
    exported_before_kwh: float
    """The exports of the asset's life before `first`."""


async def load_trajectory(db: Database, asset: VirtualAsset, first: int, end: int) -> EnergyTrajectory:
    """Reads the days of these periods and the summaries of those before; `first` and `end` lie within the life."""
    days = utc_days_of(first, max(end, first + 1))
    powers = await read_day_range(db, asset.key, days)
    summaries = await schedule_store.read_summaries(db, asset)
    return trajectory_of(asset, summaries, powers, first, end)


def trajectory_of(
    asset: VirtualAsset, summaries: DaySummaries, powers: DayPowers, first: int, end: int
) -> EnergyTrajectory:
    index = min(utc_day_of(first) - asset.first_day, len(asset.days))
    day_start = first_period_of_utc_day(asset.first_day + index)
    power_kw = total_power_kw(powers, day_start, end)
    energy_kwh = energy_trajectory_kwh(
        float(summaries.day_starts_kwh(asset.initial_kwh)[index]), power_kw, asset.terms.efficiency
    )
    skipped = first - day_start
    return EnergyTrajectory(
        first,
        power_kw[skipped:],
        energy_kwh[skipped:],
        float(summaries.exported_kwh[:index].sum() + exported_kwh(power_kw[:skipped]).sum()),
    )


async def load_projection_input(
    db: Database,
    asset: VirtualAsset,
    first: int,
    end: int,
    *,
    closed: int | None = None,
    available: AvailableFraction | None = None,
    with_holds: bool = False,
) -> tuple[Sequence[int], ProjectionInput]:
    """The lanes, and their schedules with all limits in the periods [first, end).

    Periods before `closed` are not cut; by default all may be cut. `with_holds`: limits are narrowed by the reserves
    that waiting orders hold back, as for what is still to be scheduled; what is scheduled already they never cut.
    """
    if available is None or available.first > first:
        available = await load_available(db, asset, first, end)
    announced = available if available.is_full else await load_announced(db, asset, first, end)
    blocks = await block_store.read_blocks(db, asset.key)
    lanes = sorted({block.lane for block in blocks if block.market is Market.WHOLESALE})
    day_first = market_day_periods(market_day_of(period_start(first)))[0] if asset.terms.daily_cycle_limit else first
    powers = await read_day_range(db, asset.key, utc_days_of(min(first, day_first), end))
    summaries = await schedule_store.read_summaries(db, asset)
    trajectory = trajectory_of(asset, summaries, powers, first, end)
    inputs = _input_of(
        asset,
        blocks,
        {lane: lane_power_kw(powers, lane, first, end) for lane in lanes},
        available.between(first, end),
        announced.between(first, end),
        reach=await _load_reach(db, asset, announced.between(first, end)),
        energy_kwh=await _energy_at(db, asset, first, float(trajectory.energy_kwh[0])),
        cycles=await _cycle_rules(db, asset, powers, trajectory, end),
        activated_kwh=await schedule_store.read_activated_kwh(db, asset, first, end),
        has_activations=asset.first_activated is not None,
        closed=first if closed is None else closed,
    )
    return lanes, hold_back(inputs, asset.holds, available.between(first, end)) if with_holds else inputs


def hold_back(inputs: ProjectionInput, holds: Sequence[Block], available: AvailableFraction) -> ProjectionInput:
    """The input with limits as if these reserves were blocks already; `available` is of its periods.

    The power is taken where a lane's schedule leaves it, so that only the sum of all lanes is limited further.
    """
    first, end = available.first, available.end
    holds = [hold for hold in holds if hold.overlaps(first, end)]
    if not holds:
        return inputs
    held_kw = np.zeros((2, end - first))
    for hold in holds:
        span = slice(max(0, hold.first - first), hold.end - first)
        held_kw[:, span] += np.array([[hold.charge_kw], [hold.discharge_kw]])
    stored_kwh, free_kwh = reserved_kwh(holds, first, end)
    return replace(
        inputs,
        charge_kw=_take_from_lanes(inputs.charge_kw, -inputs.power_kw, held_kw[0] * available.charge),
        discharge_kw=_take_from_lanes(inputs.discharge_kw, inputs.power_kw, held_kw[1] * available.discharge),
        lowest_kwh=inputs.lowest_kwh + stored_kwh,
        highest_kwh=inputs.highest_kwh - free_kwh,
    )


def _take_from_lanes(limits_kw: Floats, scheduled_kw: Floats, taken_kw: Floats) -> Floats:
    """First what the lanes leave of their limits, then the limits themselves."""
    left_kw, missing_kw = limits_kw.copy(), taken_kw.copy()
    for floors_kw in (np.maximum(scheduled_kw, 0.0), np.zeros_like(scheduled_kw)):
        for lane_kw, floor_kw in zip(left_kw, floors_kw, strict=True):
            part_kw = np.minimum(missing_kw, np.maximum(lane_kw - floor_kw, 0.0))
            lane_kw -= part_kw
            missing_kw = missing_kw - part_kw
    return left_kw


async def load_projection_input_as_of(
    db: Database, asset: VirtualAsset, version: int, closed: int, end: int, activated_kwh: Floats
) -> ProjectionInput:
    """The life before `end` by the schedules of a version; the available capacity is the present one."""
    first = asset.first
    blocks = await block_store.read_blocks(db, asset.key, version)
    set_kw = await schedule_store.read_lanes_as_of(db, asset.key, None, version, first, end)
    lanes = sorted({block.lane for block in blocks if block.market is Market.WHOLESALE} | set(set_kw))
    lanes_kw = {lane: set_kw.get(lane, np.zeros(end - first)) for lane in lanes}
    nothing = EnergyTrajectory(first, np.zeros(0), np.full(1, asset.initial_kwh), 0.0)
    available = await load_available(db, asset, first, end)
    announced = available if available.is_full else await load_announced(db, asset, first, end)
    return _input_of(
        asset,
        blocks,
        lanes_kw,
        available,
        announced,
        reach=_reach_of(announced, first, 0.0, 1.0),
        energy_kwh=asset.initial_kwh,
        cycles=await _cycle_rules(db, asset, {}, nothing, end),
        activated_kwh=activated_kwh,
        has_activations=bool(activated_kwh.any()),
        closed=closed,
    )


def _input_of(
    asset: VirtualAsset,
    blocks: Sequence[Block],
    lanes_kw: Mapping[int, Floats],
    available: AvailableFraction,
    announced: AvailableFraction,
    *,
    reach: Reach | None,
    energy_kwh: float,
    cycles: Sequence[CycleBudget],
    activated_kwh: Floats | None,
    has_activations: bool,
    closed: int,
) -> ProjectionInput:
    first, end = available.first, available.end
    wholesale = [block for block in blocks if block.market is Market.WHOLESALE]
    stored_kwh, free_kwh = reserved_kwh(blocks, first, end)
    lanes, capacity_kwh = list(lanes_kw), asset.terms.energy_capacity_kwh
    charge_kw = _limits_kw(lanes, wholesale, first, end, [block.charge_kw for block in wholesale])
    discharge_kw = _limits_kw(lanes, wholesale, first, end, [block.discharge_kw for block in wholesale])
    return ProjectionInput(
        power_kw=np.array(list(lanes_kw.values())).reshape(len(lanes), end - first),
        charge_kw=charge_kw * available.charge,
        discharge_kw=discharge_kw * available.discharge,
        lowest_kwh=stored_kwh,
        highest_kwh=announced.energy * capacity_kwh - free_kwh,
        energy_kwh=energy_kwh,
        capacity_kwh=capacity_kwh,
        efficiency=asset.terms.efficiency,
        cycles=cycles,
        activated_kwh=activated_kwh,
        closed=max(0, closed - first),
        announced_charge_kw=charge_kw * announced.charge,
        announced_discharge_kw=discharge_kw * announced.discharge,
        reach=reach,
        has_activations=has_activations,
    )


# --- energy out of reach ---------------------------------------------------------------------------------------------


async def _load_reach(db: Database, asset: VirtualAsset, announced: AvailableFraction) -> Reach | None:
    """In the periods of `announced`, from the last state that was stored, or from the asset's first period, on."""
    first, end = announced.first, announced.end
    stored = None if first >= end else await schedule_store.read_reach(db, asset.key)
    since = asset.first if stored is None else stored.period
    unreachable_kwh, fraction = (0.0, 1.0) if stored is None else (stored.unreachable_kwh, stored.available_fraction)
    if since < first:
        unreachable_kwh, fraction = await _carry_reach(db, asset, since, first, unreachable_kwh, fraction)
    return _reach_of(announced, max(since, first), unreachable_kwh, fraction)


def _reach_of(announced: AvailableFraction, since: int, unreachable_kwh: float, fraction: float) -> Reach | None:
    """None where all is in reach."""
    if not unreachable_kwh and (announced.is_full or not (announced.energy < 1).any()):
        return None
    start = since - announced.first
    fractions = np.concatenate([[fraction], announced.energy])
    if 0 < start < len(fractions):
        fractions[start] = fraction
    return Reach(fractions, start, unreachable_kwh)


async def _carry_reach(
    db: Database, asset: VirtualAsset, since: int, until: int, unreachable_kwh: float, fraction: float
) -> tuple[float, float]:
    """The energy out of reach, and the available part of the energy capacity, just before the period `until`."""
    start = period_start(since), period_start(until)
    outages = await read_recorded_outages(db, [one.physical_asset_key for one in asset.promises], *start)
    if not unreachable_kwh and fraction == 1 and not any(one.outage.energy_kwh for one in outages):
        return 0.0, 1.0
    announced = await load_announced(db, asset, since, until)
    reach = _reach_of(announced, since, unreachable_kwh, fraction)
    last = float(announced.energy[-1])
    if reach is None:
        return 0.0, last
    trajectory = await load_trajectory(db, asset, since, until)
    energy_kwh = await _energy_at(db, asset, since, float(trajectory.energy_kwh[0]))
    activated_kwh = await schedule_store.read_activated_kwh(db, asset, since, until)
    inputs = replace(_final_input(asset, trajectory, activated_kwh), energy_kwh=energy_kwh, reach=reach)
    return float(project(inputs).unreachable_kwh[-1]), last


async def seal_reach(db: Database, asset: VirtualAsset, closed: int) -> None:
    """Store what is out of reach at the first period whose gate is open, before the availability of a battery changes:
    what is announced later changes nothing of closed periods."""
    stored = await schedule_store.read_reach(db, asset.key)
    since = asset.first if stored is None else stored.period
    closed = min(closed, asset.end)
    if since >= closed:
        return
    before = (0.0, 1.0) if stored is None else (stored.unreachable_kwh, stored.available_fraction)
    after = await _carry_reach(db, asset, since, closed, *before)
    if after != (0.0, 1.0) or before != (0.0, 1.0):
        await schedule_store.write_reach(db, asset.key, closed, *after)


async def _energy_at(db: Database, asset: VirtualAsset, period: int, scheduled_kwh: float) -> float:
    """The energy at the start of a period before which nothing can change: by schedules and activations."""
    start = asset.first_activated
    if start is None or start >= period:
        return scheduled_kwh
    start = max(start, asset.first)
    trajectory = await load_trajectory(db, asset, start, period)
    return project(
        _final_input(asset, trajectory, await schedule_store.read_activated_kwh(db, asset, start, period))
    ).end_kwh


def _final_input(asset: VirtualAsset, trajectory: EnergyTrajectory, activated_kwh: Floats | None) -> ProjectionInput:
    """The input of periods that are final: without limits."""
    count, capacity_kwh = len(trajectory.power_kw), asset.terms.energy_capacity_kwh
    return ProjectionInput(
        power_kw=trajectory.power_kw.reshape(1, count),
        charge_kw=np.zeros((1, count)),
        discharge_kw=np.zeros((1, count)),
        lowest_kwh=np.zeros(count),
        highest_kwh=np.full(count, capacity_kwh),
        energy_kwh=float(trajectory.energy_kwh[0]),
        capacity_kwh=capacity_kwh,
        efficiency=asset.terms.efficiency,
        activated_kwh=activated_kwh,
        closed=count,
    )


def _limits_kw(
    lanes: Sequence[int], blocks: Sequence[Block], first: int, end: int, rated_kw: Sequence[float]
) -> Floats:
    limits_kw = np.zeros((len(lanes), end - first))
    for block, power_kw in zip(blocks, rated_kw, strict=True):
        if block.overlaps(first, end):
            limits_kw[lanes.index(block.lane), max(0, block.first - first) : block.end - first] = power_kw
    return limits_kw


async def _cycle_rules(
    db: Database, asset: VirtualAsset, powers: DayPowers, trajectory: EnergyTrajectory, end: int
) -> tuple[CycleBudget, ...]:
    terms, first = asset.terms, trajectory.first
    if first >= end:
        return ()
    rules = []
    if terms.daily_cycle_limit is not None:
        starts = [market_day_periods(day)[0] for day in market_days_in(Window(period_start(first), period_start(end)))]
        rules.append(
            CycleBudget(
                terms.daily_cycle_limit * terms.energy_capacity_kwh,
                _group_starts(starts, first, end),
                float(exported_kwh(total_power_kw(powers, starts[0], first)).sum()),
            )
        )
    if terms.annual_cycle_limit is not None:
        year = market_day_of(period_start(first)).year
        starts = [market_year_periods(y)[0] for y in range(year, market_day_of(period_start(end)).year + 1)]
        before_kwh = trajectory.exported_before_kwh - await _exported_until_kwh(db, asset, starts[0])
        rules.append(
            CycleBudget(
                terms.annual_cycle_limit * terms.energy_capacity_kwh, _group_starts(starts, first, end), before_kwh
            )
        )
    return tuple(rules)


async def _exported_until_kwh(db: Database, asset: VirtualAsset, period: int) -> float:
    if period <= asset.first:
        return 0.0
    return (await load_trajectory(db, asset, period, period)).exported_before_kwh


def _group_starts(starts: Sequence[int], first: int, end: int) -> Ints:
    return np.searchsorted(np.array(starts), np.arange(first, end), side="right")
