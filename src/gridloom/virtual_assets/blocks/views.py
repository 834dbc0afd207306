"""Blocks as they cross the wire."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from gridloom.kernel.market_time import period_start
from gridloom.market_calendar import Floats
from gridloom.physical_assets.model import PowerKW
from gridloom.physical_assets.window_query import WindowQuery
from gridloom.platform.http import Instant, PagedWindow, RequestBody
from gridloom.virtual_assets.backing.availability import AvailableFraction
from gridloom.virtual_assets.energy.imbalance import Imbalance
from gridloom.virtual_assets.model import Adjustment, Block, Market
from gridloom.virtual_assets.schedule.views import (
    FEW_POINTS,
    BlockHead,
    ExpectedCut,
    ImbalanceView,
    PowerCapacity,
    ScheduledPower,
    expected_cuts,
    imbalance_view,
    list_few_points,
    series_fields,
)


class NewBlock(RequestBody):
    """A block to carve out of the wholesale blocks that cover its window."""

    start: Instant
    end: Instant
    market: Market
    rated_charge_power: PowerKW
    rated_discharge_power: PowerKW


class BlockView(BlockHead, kw_only=True):
    """A slice of a virtual asset's power, with its schedule and capacity in the window asked for."""

    schedule: list[ScheduledPower]
    power_capacity: list[PowerCapacity]


class ScheduledBlockView(BlockView, kw_only=True):
    """The block after its schedule was accepted, the imbalance report, and the cuts that the asset has to expect."""

    imbalance: ImbalanceView
    expected_cuts: list[ExpectedCut]


AsOf = Annotated[datetime, Meta(tz=True)]


class BlockQuery(WindowQuery):
    as_of: AsOf | None = None


class BlocksQuery(PagedWindow):
    """All blocks in the order of time; `start` and `end` are the window of their schedules (−24 h … +48 h)."""

    as_of: AsOf | None = None


def block_view(block: Block, first: int, power_kw: Floats, available: AvailableFraction) -> BlockView:
    """The block with its schedule and capacity from `first` on, as far as `power_kw` reaches."""
    return BlockView(**_block_fields(block, first, power_kw, available))


def scheduled_block_view(
    block: Block,
    first: int,
    power_kw: Floats,
    available: AvailableFraction,
    imbalance: Imbalance,
    cuts: Sequence[Adjustment],
) -> ScheduledBlockView:
    fields = _block_fields(block, first, power_kw, available)
    return ScheduledBlockView(**fields, imbalance=imbalance_view(imbalance), expected_cuts=expected_cuts(cuts))


def block_view_without_series(block: Block) -> BlockHead:
    return BlockHead(**_head_fields(block))


def _head_fields(block: Block) -> dict[str, Any]:
    return {
        "id": block.id,
        "start": period_start(block.first),
        "end": period_start(block.end),
        "market": block.market,
        "rated_charge_power": block.charge_kw,
        "rated_discharge_power": block.discharge_kw,
    }


def _block_fields(block: Block, first: int, power_kw: Floats, available: AvailableFraction) -> dict[str, Any]:
    count = len(power_kw)
    if available.is_full and count <= FEW_POINTS:
        rated_kw = [block.charge_kw] * count, [block.discharge_kw] * count
        return _head_fields(block) | list_few_points(first, power_kw.tolist(), (*rated_kw, *rated_kw))
    capacities_kw = capacity_kw(block, first, first + count, available)
    return _head_fields(block) | series_fields(first, power_kw, capacities_kw)


def capacity_kw(
    block: Block, first: int, end: int, available: AvailableFraction
) -> tuple[Floats, Floats, Floats, Floats]:
    """Available and rated power of the block, charging and discharging, in each period."""
    rated_kw = np.full(end - first, block.charge_kw), np.full(end - first, block.discharge_kw)
    if available.is_full:
        return *rated_kw, *rated_kw
    there = available.between(first, end)
    return there.charge * block.charge_kw, there.discharge * block.discharge_kw, *rated_kw
