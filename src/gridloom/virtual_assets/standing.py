"""What stands of a virtual asset over some periods: its energies, its lanes, and what they must fit into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gridloom.database.pool import Database
from gridloom.kernel.market_time import market_day_of, market_days_in
from gridloom.kernel.window import Window
from gridloom.virtual_assets import schedule_store, store
from gridloom.virtual_assets.availability import load_available
from gridloom.virtual_assets.cutting import CycleRule, Standing
from gridloom.virtual_assets.grid import (
    Floats,
    Ints,
    day_of,
    days_of,
    first_period,
    market_day_periods,
    market_year_periods,
    period_start,
)
from gridloom.virtual_assets.model import Block, Market, VirtualAsset
from gridloom.virtual_assets.schedule_store import DayPowers, lane_power_kw, read_day_range, total_power_kw
from gridloom.virtual_assets.trajectory import DaySummaries, energy_trajectory_kwh, exported_kwh, tolerance_kwh


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """The asset's power and stored energy from `first` on: energies have one value more than periods, the end."""

    first: int
    power_kw: Floats
    energy_kwh: Floats
    exported_before_kwh: float
    """What was exported in the asset's life before `first`."""


async def load_course(db: Database, asset: VirtualAsset, first: int, end: int) -> Course:
    """Reads the days of these periods and the summaries of those before; `first` and `end` lie within the life."""
    days = days_of(first, max(end, first + 1))
    powers = await read_day_range(db, asset.key, days)
    summaries = await schedule_store.read_summaries(db, asset)
    return course_of(asset, summaries, powers, first, end)


def course_of(asset: VirtualAsset, summaries: DaySummaries, powers: DayPowers, first: int, end: int) -> Course:
    place = min(day_of(first) - asset.first_day, len(asset.days))
    day_start = first_period(asset.first_day + place)
    power_kw = total_power_kw(powers, day_start, end)
    energy_kwh = energy_trajectory_kwh(
        float(summaries.day_starts_kwh(asset.initial_kwh)[place]), power_kw, asset.terms.efficiency
    )
    skipped = first - day_start
    return Course(
        first,
        power_kw[skipped:],
        energy_kwh[skipped:],
        float(summaries.exported_kwh[:place].sum() + exported_kwh(power_kw[:skipped]).sum()),
    )


async def load_standing(db: Database, asset: VirtualAsset, first: int, end: int) -> tuple[Sequence[int], Standing]:
    """The lanes, and their schedules with all that they must fit into, in the periods `first` up to but not `end`."""
    available = await load_available(db, asset, first, end)
    blocks = [block for block in await store.read_blocks(db, asset.key) if block.market is Market.WHOLESALE]
    lanes = sorted({block.lane for block in blocks})
    day_first = market_day_periods(market_day_of(period_start(first)))[0] if asset.terms.daily_cycle_limit else first
    powers = await read_day_range(db, asset.key, days_of(min(first, day_first), end))
    summaries = await schedule_store.read_summaries(db, asset)
    course = course_of(asset, summaries, powers, first, end)
    standing = Standing(
        np.array([lane_power_kw(powers, lane, first, end) for lane in lanes]).reshape(len(lanes), end - first),
        _limits_kw(lanes, blocks, first, end, [block.charge_kw for block in blocks]) * available.charge,
        _limits_kw(lanes, blocks, first, end, [block.discharge_kw for block in blocks]) * available.discharge,
        available.energy * asset.terms.energy_capacity_kwh,
        float(course.energy_kwh[0]),
        asset.terms.efficiency,
        tolerance_kwh(asset.terms.energy_capacity_kwh),
        await _cycle_rules(db, asset, powers, course, end),
    )
    return lanes, standing


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
                _groups(starts, first, end),
                float(exported_kwh(total_power_kw(powers, starts[0], first)).sum()),
            )
        )
    if terms.annual_cycle_limit is not None:
        year = market_day_of(period_start(first)).year
        starts = [market_year_periods(y)[0] for y in range(year, market_day_of(period_start(end)).year + 1)]
        before_kwh = course.exported_before_kwh - await _exported_until_kwh(db, asset, starts[0])
        rules.append(
            CycleRule(terms.annual_cycle_limit * terms.energy_capacity_kwh, _groups(starts, first, end), before_kwh)
        )
    return tuple(rules)


async def _exported_until_kwh(db: Database, asset: VirtualAsset, period: int) -> float:
    if period <= asset.first:
        return 0.0
    return (await load_course(db, asset, period, period)).exported_before_kwh


def _groups(starts: Sequence[int], first: int, end: int) -> Ints:
    return np.searchsorted(np.array(starts), np.arange(first, end), side="right")
