"""What the wire shows of blocks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from gridloom.edge import JSON, ResponseBody, Stream
from gridloom.edge.fields import to_json
from gridloom.kernel.market_time import period_start
from gridloom.market_calendar import Floats
from gridloom.tables import points_json
from gridloom.virtual_assets.backing.availability import AvailableFraction
from gridloom.virtual_assets.blocks.wire import (
    BlockHead,
    BlockView,
    ExpectedCut,
    ImbalanceView,
    PowerCapacity,
    ScheduledBlockView,
    ScheduledPower,
)
from gridloom.virtual_assets.model import Adjustment, Block
from gridloom.virtual_assets.schedule.projection.imbalance import Imbalance
from gridloom.virtual_assets.streaming import list_json, period_times, rows_json
from gridloom.virtual_assets.wire import raw_json

CAPACITY_COLUMNS = (
    "chargePowerCapacity",
    "dischargePowerCapacity",
    "ratedChargePowerCapacity",
    "ratedDischargePowerCapacity",
)
_FEW_POINTS: Final = 24


def imbalance_view(imbalance: Imbalance) -> ImbalanceView:
    return ImbalanceView(
        balanced=imbalance.balanced,
        end_state_of_charge_percentage=imbalance.end_state_of_charge_percentage,
        imbalance_charge=imbalance.imbalance_charge_kwh,
        imbalance_discharge=imbalance.imbalance_discharge_kwh,
        feedback=imbalance.feedback,
    )


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


def expected_cuts(cuts: Sequence[Adjustment]) -> list[ExpectedCut]:
    return [
        ExpectedCut(
            accepted_schedule=cut.accepted_kw,
            adjusted_schedule=cut.adjusted_kw,
            reason=cut.reason,
            timestamp=period_start(cut.period),
        )
        for cut in cuts
    ]


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
    if available.is_full and count <= _FEW_POINTS:
        rated_kw = [block.charge_kw] * count, [block.discharge_kw] * count
        return _head_fields(block) | _list_few_points(first, power_kw.tolist(), (*rated_kw, *rated_kw))
    capacities_kw = capacity_kw(block, first, first + count, available)
    return _head_fields(block) | series_fields(first, power_kw, capacities_kw)


def series_fields(first: int, power_kw: Floats, capacities_kw: Sequence[Floats]) -> dict[str, Any]:
    """A schedule and the capacities beside it, in the order of `CAPACITY_COLUMNS`.

    A struct for each point where there are few, as after a change of one period; JSON by columns where there are many.
    """
    if len(power_kw) <= _FEW_POINTS:
        return _list_few_points(first, power_kw.tolist(), [column.tolist() for column in capacities_kw])
    times_ms = period_times(first, first + len(power_kw))
    return {
        "schedule": raw_json(points_json(times_ms, power_kw, name="power")),
        "power_capacity": raw_json(rows_json(times_ms, dict(zip(CAPACITY_COLUMNS, capacities_kw, strict=True)))),
    }


def _list_few_points(first: int, power_kw: Sequence[float], capacities_kw: Sequence[Sequence[float]]) -> dict[str, Any]:
    times = [period_start(period) for period in range(first, first + len(power_kw))]
    return {
        "schedule": [ScheduledPower(time=t, power=kw) for t, kw in zip(times, power_kw, strict=True)],
        "power_capacity": [
            PowerCapacity(
                time=time,
                charge_power_capacity=charge_kw,
                discharge_power_capacity=discharge_kw,
                rated_charge_power_capacity=rated_charge_kw,
                rated_discharge_power_capacity=rated_discharge_kw,
            )
            for time, charge_kw, discharge_kw, rated_charge_kw, rated_discharge_kw in zip(
                times, *capacities_kw, strict=True
            )
        ],
    }


def capacity_kw(
    block: Block, first: int, end: int, available: AvailableFraction
) -> tuple[Floats, Floats, Floats, Floats]:
    """Available and rated power of the block, charging and discharging, in each period."""
    rated_kw = np.full(end - first, block.charge_kw), np.full(end - first, block.discharge_kw)
    if available.is_full:
        return *rated_kw, *rated_kw
    there = available.between(first, end)
    return there.charge * block.charge_kw, there.discharge * block.discharge_kw, *rated_kw


def streamed_schedule(head: ResponseBody, first: int, columns: Mapping[str, Floats]) -> Stream:
    """A block or an asset with its schedule and capacity over a long window; `head` is all but these."""

    async def chunks() -> AsyncIterator[bytes]:
        yield to_json(head)[:-1] + b',"schedule":'
        async for chunk in list_json(first, {"power": columns["power"]}):
            yield chunk
        yield b',"powerCapacity":'
        async for chunk in list_json(first, {name: columns[name] for name in CAPACITY_COLUMNS}):
            yield chunk
        yield b"}"

    return Stream(chunks(), JSON)
