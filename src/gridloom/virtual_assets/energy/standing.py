"""What stands of a virtual asset over some periods: its energies, its lanes, and what they must fit into."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gridloom.database.pool import Database
from gridloom.kernel.market_time import market_day_of, market_days_in, period_start
from gridloom.kernel.window import Window
from gridloom.market_calendar import Floats, Ints, days_of, market_day_periods, market_year_periods
from gridloom.virtual_assets.backing.availability import Availability, load_available
from gridloom.virtual_assets.blocks import store as block_store
from gridloom.virtual_assets.energy import store as energy_store
from gridloom.virtual_assets.energy.projection import CycleRule, Standing, project
from gridloom.virtual_assets.energy.reserves import reserved_kwh
from gridloom.virtual_assets.model import Block, Market, VirtualAsset
from gridloom.virtual_assets.schedule import store as schedule_store
from gridloom.virtual_assets.schedule.store import DayPowers, lane_power_kw, read_day_range, total_power_kw
from gridloom.virtual_assets.schedule.stored_energy import Course, course_of, load_course
from gridloom.virtual_assets.schedule.trajectory import exported_kwh


async def load_standing(
    db: Database,
    asset: VirtualAsset,
    first: int,
    end: int,
    *,
    closed: int | None = None,
    available: Availability | None = None,
) -> tuple[Sequence[int], Standing]:
    """The lanes, and their schedules with all that they must fit into, in the periods `first` up to but not `end`.

    Those before `closed` stay as they are; left out, all may be cut.
    """
    if available is None or available.first > first:
        available = await load_available(db, asset, first, end)
    available = available.between(first, end)
    every_block = await block_store.read_blocks(db, asset.key)
    blocks = [block for block in every_block if block.market is Market.WHOLESALE]
    stored_kwh, free_kwh = reserved_kwh(every_block, first, end)
    lanes = sorted({block.lane for block in blocks})
    day_first = market_day_periods(market_day_of(period_start(first)))[0] if asset.terms.daily_cycle_limit else first
    powers = await read_day_range(db, asset.key, days_of(min(first, day_first), end))
    summaries = await schedule_store.read_summaries(db, asset)
    course = course_of(asset, summaries, powers, first, end)
    capacity_kwh = asset.terms.energy_capacity_kwh
    standing = Standing(
        power_kw=np.array([lane_power_kw(powers, lane, first, end) for lane in lanes]).reshape(len(lanes), end - first),
        charge_kw=_limits_kw(lanes, blocks, first, end, [block.charge_kw for block in blocks]) * available.charge,
        discharge_kw=_limits_kw(lanes, blocks, first, end, [block.discharge_kw for block in blocks])
        * available.discharge,
        lowest_kwh=stored_kwh,
        highest_kwh=available.energy * capacity_kwh - free_kwh,
        energy_kwh=await _energy_at(db, asset, first, float(course.energy_kwh[0])),
        capacity_kwh=capacity_kwh,
        efficiency=asset.terms.efficiency,
        cycles=await _cycle_rules(db, asset, powers, course, end),
        activated_kwh=await energy_store.read_activated_kwh(db, asset, first, end),
        closed=0 if closed is None else max(0, closed - first),
    )
    return lanes, standing


async def _energy_at(db: Database, asset: VirtualAsset, period: int, scheduled_kwh: float) -> float:
    """The energy at the start of a period before which nothing can change: by the schedules, and by activations."""
    start = asset.first_activated
    if start is None or start >= period:
        return scheduled_kwh
    start = max(start, asset.first)
    course = await load_course(db, asset, start, period)
    return project(
        _closed_standing(asset, course, await energy_store.read_activated_kwh(db, asset, start, period))
    ).end_kwh


def _closed_standing(asset: VirtualAsset, course: Course, activated_kwh: Floats | None) -> Standing:
    """A course of which nothing is cut any more."""
    count, capacity_kwh = len(course.power_kw), asset.terms.energy_capacity_kwh
    return Standing(
        power_kw=course.power_kw.reshape(1, count),
        charge_kw=np.zeros((1, count)),
        discharge_kw=np.zeros((1, count)),
        lowest_kwh=np.zeros(count),
        highest_kwh=np.full(count, capacity_kwh),
        energy_kwh=float(course.energy_kwh[0]),
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
    db: Database, asset: VirtualAsset, powers: DayPowers, course: Course, end: int
) -> tuple[CycleRule, ...]:
    terms, first = asset.terms, course.first
    if first >= end:
        return ()
    rules = []
    if terms.daily_cycle_limit is not None:
        starts = [market_day_periods(day)[0] for day in market_days_in(Window(period_start(first), period_start(end)))]
        rules.append(
            CycleRule(
                terms.daily_cycle_limit * terms.energy_capacity_kwh,
                _group_starts(starts, first, end),
                float(exported_kwh(total_power_kw(powers, starts[0], first)).sum()),
            )
        )
    if terms.annual_cycle_limit is not None:
        year = market_day_of(period_start(first)).year
        starts = [market_year_periods(y)[0] for y in range(year, market_day_of(period_start(end)).year + 1)]
        before_kwh = course.exported_before_kwh - await _exported_until_kwh(db, asset, starts[0])
        rules.append(
            CycleRule(
                terms.annual_cycle_limit * terms.energy_capacity_kwh, _group_starts(starts, first, end), before_kwh
            )
        )
    return tuple(rules)


async def _exported_until_kwh(db: Database, asset: VirtualAsset, period: int) -> float:
    if period <= asset.first:
        return 0.0
    return (await load_course(db, asset, period, period)).exported_before_kwh


def _group_starts(starts: Sequence[int], first: int, end: int) -> Ints:
    return np.searchsorted(np.array(starts), np.arange(first, end), side="right")
