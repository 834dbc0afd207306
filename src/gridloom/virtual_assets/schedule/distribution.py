"""A schedule for the whole asset spread over its wholesale blocks, in proportion of their power."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gridloom.market_calendar import Floats, Ints
from gridloom.virtual_assets.model import Block, Market
from gridloom.virtual_assets.schedule.rules import SchedulePoints
from gridloom.virtual_assets.schedule.store import LaneChange


def wholesale_blocks(blocks: Sequence[Block]) -> list[Block]:
    return [block for block in blocks if block.market is Market.WHOLESALE]


def rated_kw(blocks: Sequence[Block], periods: Ints) -> tuple[Floats, Floats]:
    """What wholesale blocks can charge and discharge together, in each of these periods, which are in order."""
    charge_kw, discharge_kw = np.zeros(len(periods)), np.zeros(len(periods))
    for block, places in _find_covered(blocks, periods):
        charge_kw[places] += block.charge_kw
        discharge_kw[places] += block.discharge_kw
    return charge_kw, discharge_kw


def distribute_over_blocks(blocks: Sequence[Block], points: SchedulePoints) -> dict[Block, LaneChange]:
    """The part of each wholesale block that covers some of the points: `power · its power / the power of all`.

    The power is that of the point's direction. Of what rounding leaves over the largest block takes care, so that the
    parts sum to what was asked for. A point without power rests all blocks; where no block has power in its direction,
    nothing is set.
    """
    covered = list(_find_covered(blocks, points.periods))
    charging = points.power_kw < 0
    total_kw = np.where(charging, *rated_kw(blocks, points.periods))
    rest_kw, largest_kw = points.power_kw.copy(), np.zeros(len(points.periods))
    largest = np.zeros(len(points.periods), dtype=np.int64)
    parts_kw: list[Floats] = []
    for number, (block, places) in enumerate(covered):
        block_kw = np.where(charging[places], block.charge_kw, block.discharge_kw)
        share = np.divide(block_kw, total_kw[places], out=np.zeros(len(block_kw)), where=total_kw[places] > 0)
        parts_kw.append(points.power_kw[places] * share)
        rest_kw[places] -= parts_kw[-1]
        largest[places] = np.where(block_kw > largest_kw[places], number, largest[places])
        largest_kw[places] = np.maximum(block_kw, largest_kw[places])
    changes = {}
    for number, ((block, places), part_kw) in enumerate(zip(covered, parts_kw, strict=True)):
        takes_rest = (largest[places] == number) & (total_kw[places] > 0)
        changes[block] = LaneChange(points.periods[places], part_kw + np.where(takes_rest, rest_kw[places], 0.0))
    return changes


def _find_covered(blocks: Sequence[Block], periods: Ints) -> Iterator[tuple[Block, slice]]:
    """The wholesale blocks that cover some of the periods, and which."""
    for block in wholesale_blocks(blocks):
        low, high = np.searchsorted(periods, (block.first, block.end)).tolist()
        if low < high:
            yield block, slice(low, high)


def group_by_lane(parts: Mapping[Block, LaneChange]) -> dict[int, LaneChange]:
    """Blocks of one lane follow each other, and so do their parts."""
    lanes: dict[int, list[LaneChange]] = {}
    for block in sorted(parts, key=lambda block: block.first):
        lanes.setdefault(block.lane, []).append(parts[block])
    return {lane: _join_changes(changes) for lane, changes in lanes.items()}


def _join_changes(changes: Sequence[LaneChange]) -> LaneChange:
    return LaneChange(
        np.concatenate([change.periods for change in changes]), np.concatenate([change.power_kw for change in changes])
    )
