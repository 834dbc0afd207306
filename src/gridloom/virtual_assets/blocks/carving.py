"""Changing the blocks of a virtual asset: carving one out and giving one back, with the schedules that move along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import assert_never

import numpy as np

from gridloom.capacity.model import ReserveMinutes
from gridloom.kernel.figures import kw, kwh, say
from gridloom.kernel.problem import Problem
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.market_calendar import Floats, format_period, utc_days_of
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets import block_store
from gridloom.virtual_assets.backing.availability import AvailableFraction, load_available
from gridloom.virtual_assets.blocks.rules import (
    Carving,
    LaneMove,
    LaneReduction,
    carve,
    first_overcommitment,
    remove_block,
)
from gridloom.virtual_assets.energy.trajectory import reserved_kwh, tolerance_kwh
from gridloom.virtual_assets.model import Author, Block, LockedAsset, Market, VersionKind
from gridloom.virtual_assets.rules import first_open_period
from gridloom.virtual_assets.schedule.change.apply import emit_updated
from gridloom.virtual_assets.schedule.change.draft import draft_change
from gridloom.virtual_assets.schedule.change.store import write_version
from gridloom.virtual_assets.schedule.projection_loading import load_projection
from gridloom.virtual_assets.schedule.rules import check_gate
from gridloom.virtual_assets.schedule.store import DayPowers, LaneChange, lane_power_kw, read_day_range


class ScheduleInTheWay(Problem, status=409, title="A schedule stands in the way"):
    """Power that a schedule already uses cannot be carved out for a market that takes no schedule; nor can balancing
    capacity whose energy the schedule leaves no store, or no room, for.

    `firstPeriod` is the first period in which the wholesale schedule needs more than would be left for it of the power
    that is available then, or the store does not hold what the block needs. Change the schedule first, or carve out
    less.
    """


async def carve_block(
    db: Database,
    asset: LockedAsset,
    span: tuple[int, int],
    market: Market,
    power_kw: tuple[float, float],
    minutes: ReserveMinutes,
    author: Author,
    now: datetime,
) -> tuple[Block, int]:
    """Cut a block out of the wholesale blocks; the block and the version it made.

    A wholesale block takes over the part of the schedule that no longer fits beside it: the asset's power stays.
    One of balancing capacity needs its reserve in the projected energy.
    """
    first, end = span
    check_gate(first, first_open_period(now, asset.terms.gate_closure_s), "/start")
    before = await block_store.read_blocks(db, asset.key)
    carving = carve(before, first, end, market, *power_kw, reserve_minutes(market, minutes))
    assert first_overcommitment(carving.blocks, asset.terms.charge_kw, asset.terms.discharge_kw) is None
    powers = await read_day_range(db, asset.key, utc_days_of(first, end))
    available = await load_available(db, asset, max(asset.first, first - 1), end)
    changes = _reduce_lanes(carving, powers, available.between(first, end))
    if market is not Market.WHOLESALE:
        await _check_reserves(db, asset, [*carving.blocks, *asset.holds], available, now)
        await _carve_in_turn(db, asset, carving.blocks, [hold for hold in asset.holds if hold.overlaps(first, end)])
    draft = await draft_change(db, asset, changes)
    version = await write_version(db, asset, draft, VersionKind.CARVING, author, carving.block.id, now)
    await block_store.replace_blocks(db, asset, version, before, carving.blocks)
    await emit_updated(db, asset, carving.block.id, first, end, _count_changes(changes), version)
    return carving.block, version


async def check_reserves_fit(db: Database, asset: LockedAsset, reserves: Sequence[Block], now: datetime) -> None:
    """Refuse reserves that could not be carved out now, beside those that waiting orders hold back already."""
    first, end = min(one.first for one in reserves), max(one.end for one in reserves)
    check_gate(first, first_open_period(now, asset.terms.gate_closure_s))
    blocks = await block_store.read_blocks(db, asset.key)
    carved = await _carve_in_turn(db, asset, blocks, [*asset.holds, *reserves])
    available = await load_available(db, asset, max(asset.first, first - 1), end)
    await _check_reserves(db, asset, carved, available, now)


async def _carve_in_turn(
    db: Database, asset: LockedAsset, blocks: Sequence[Block], reserves: Sequence[Block]
) -> Sequence[Block]:
    """The blocks after carving out one after the other, if the schedule leaves the power."""
    if not reserves:
        return blocks
    first, end = min(one.first for one in reserves), max(one.end for one in reserves)
    powers = await read_day_range(db, asset.key, utc_days_of(first, end))
    available = await load_available(db, asset, first, end)
    for one in reserves:
        carving = carve(blocks, one.first, one.end, one.market, one.charge_kw, one.discharge_kw, one.reserve_minutes)
        _reduce_lanes(carving, powers, available.between(one.first, one.end))
        blocks = carving.blocks
    return blocks


def reserve_minutes(market: Market, minutes: ReserveMinutes) -> float:
    """For how many minutes of full power a block of the market needs energy in store, or room for it."""
    match market:
        case Market.WHOLESALE:
            return 0.0
        case Market.FCR:
            return minutes.fcr
        case Market.AFRR_POS | Market.AFRR_NEG:
            return minutes.afrr
        case _ as other:
            assert_never(other)


async def _check_reserves(
    db: Database, asset: LockedAsset, blocks: Sequence[Block], available: AvailableFraction, now: datetime
) -> None:
    """Refuse reserves for which the projected energy leaves no stored energy or no headroom."""
    first, end = available.first, available.end
    projection = await load_projection(db, asset, now, first, end)
    energy_kwh = projection.trajectory.energy_kwh[1:] - projection.unreachable_kwh
    stored_kwh, free_kwh = reserved_kwh(blocks, first, end)
    highest_kwh = available.energy * asset.terms.energy_capacity_kwh - free_kwh
    slack_kwh = tolerance_kwh(asset.terms.energy_capacity_kwh)
    wrong = (energy_kwh < stored_kwh - slack_kwh) | (energy_kwh > highest_kwh + slack_kwh)
    if wrong.any():
        index = int(np.argmax(wrong))
        raise ScheduleInTheWay(
            say(
                "At the end of the period {} {} are in reach, and balancing capacity needs {} to {}.",
                format_period(first + index),
                kwh(energy_kwh[index]),
                kwh(stored_kwh[index]),
                kwh(highest_kwh[index]),
            ),
            firstPeriod=format_period(first + index),
        )


def _reduce_lanes(carving: Carving, powers: DayPowers, available: AvailableFraction) -> dict[int, LaneChange]:
    """The lanes' schedules reduced to their remaining power, with the rest on the new block's lane."""
    block = carving.block
    lanes_kw = {
        lane: lane_power_kw(powers, lane, block.first, block.end)
        for lane in {reduction.lane for reduction in carving.reductions} | {block.lane}
    }
    after_kw = {lane: power_kw.copy() for lane, power_kw in lanes_kw.items()}
    for reduction in carving.reductions:
        span = slice(reduction.first - block.first, reduction.end - block.first)
        lane_kw = lanes_kw[reduction.lane][span]
        low_kw, high_kw = _remaining_range_kw(reduction, lane_kw, available, follows=block.market is Market.WHOLESALE)
        surplus_kw = lane_kw - np.clip(lane_kw, low_kw, high_kw)
        if not surplus_kw.any():
            continue
        if block.market is not Market.WHOLESALE and np.abs(surplus_kw).max() > POWER_TOLERANCE_KW:
            index = int(np.argmax(np.abs(surplus_kw) > POWER_TOLERANCE_KW))
            raise ScheduleInTheWay(
                say(
                    "In the period {} {} are scheduled, and only {} of charging and {} of discharging would be left.",
                    format_period(reduction.first + index),
                    kw(lane_kw[index]),
                    kw(-low_kw[index]),
                    kw(high_kw[index]),
                ),
                firstPeriod=format_period(reduction.first + index),
            )
        after_kw[reduction.lane][span] -= surplus_kw
        if block.market is Market.WHOLESALE:
            after_kw[block.lane][span] += surplus_kw
    return _find_differences(lanes_kw, after_kw, block.first)


def _remaining_range_kw(
    reduction: LaneReduction, lane_kw: Floats, available: AvailableFraction, *, follows: bool
) -> tuple[Floats, Floats]:
    """The lowest and the highest power that the reduced lane may keep of its available power in each period.

    `follows`: the new block takes over the rest.
    """
    part = available.between(reduction.first, reduction.end)
    charge_kw = _left_kw(-lane_kw, reduction.charge_kw, reduction.taken_charge_kw, part.charge, follows)
    discharge_kw = _left_kw(lane_kw, reduction.discharge_kw, reduction.taken_discharge_kw, part.discharge, follows)
    return -charge_kw, discharge_kw


def _left_kw(scheduled_kw: Floats, kept_kw: float, taken_kw: float, part: Floats, follows: bool) -> Floats:
    if taken_kw == 0:
        return np.full(len(part), kept_kw)
    # Power that fits into neither block alone is divided between them. Power that exceeds both is cut at gate closure;
    # until then each gets all that is available of it, and what is beyond has to fit into their rated power.
    exceeds = follows & (scheduled_kw > (kept_kw + taken_kw) * part + POWER_TOLERANCE_KW)
    return np.asarray(np.where(exceeds, np.minimum(kept_kw, scheduled_kw - taken_kw * part), kept_kw * part))


async def remove_block_with_schedule(
    db: Database, asset: LockedAsset, block: Block, author: Author, now: datetime
) -> int:
    """Return a block's power to the wholesale blocks; the version it made."""
    check_gate(block.first, first_open_period(now, asset.terms.gate_closure_s))
    before = await block_store.read_blocks(db, asset.key)
    giving = remove_block(before, block)
    assert first_overcommitment(giving.blocks, asset.terms.charge_kw, asset.terms.discharge_kw) is None
    changes: dict[int, LaneChange] = {}
    if block.market is Market.WHOLESALE and giving.moves:
        powers = await read_day_range(db, asset.key, utc_days_of(block.first, block.end))
        changes = _move_powers(giving.moves, powers, block)
    draft = await draft_change(db, asset, changes)
    version = await write_version(db, asset, draft, VersionKind.GIVING_BACK, author, block.id, now)
    await block_store.replace_blocks(db, asset, version, before, giving.blocks)
    await emit_updated(db, asset, block.id, block.first, block.end, _count_changes(changes), version)
    return version


def _count_changes(changes: Mapping[int, LaneChange]) -> int:
    return max((len(change.periods) for change in changes.values()), default=0)


def _move_powers(moves: Sequence[LaneMove], powers: DayPowers, block: Block) -> dict[int, LaneChange]:
    lanes = {lane for move in moves for lane in (move.source, move.target)}
    before_kw = {lane: lane_power_kw(powers, lane, block.first, block.end) for lane in lanes}
    after_kw = {lane: power_kw.copy() for lane, power_kw in before_kw.items()}
    for move in moves:
        span = slice(move.first - block.first, move.end - block.first)
        after_kw[move.target][span] += before_kw[move.source][span]
        after_kw[move.source][span] -= before_kw[move.source][span]
    return _find_differences(before_kw, after_kw, block.first)


def _find_differences(before_kw: dict[int, Floats], after_kw: dict[int, Floats], first: int) -> dict[int, LaneChange]:
    changes = {}
    for lane, power_kw in after_kw.items():
        indices = np.flatnonzero(power_kw != before_kw[lane])
        if len(indices):
            changes[lane] = LaneChange(indices + first, power_kw[indices])
    return changes
