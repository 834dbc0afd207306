"""Schedules, capacities, imbalances and expected cuts as they cross the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import numpy as np
from msgspec import structs

from gridloom.kernel.market_time import period_start
from gridloom.market_calendar import Floats
from gridloom.platform.http import JSON, ResponseBody, Stream
from gridloom.platform.http.fields import to_json, view_of
from gridloom.platform.http.tables import points_json
from gridloom.virtual_assets.backing.availability import AvailableFraction
from gridloom.virtual_assets.energy.imbalance import Imbalance
from gridloom.virtual_assets.model import Adjustment, AdjustmentReason, Block, Market, VirtualAsset
from gridloom.virtual_assets.schedule.points import rated_kw
from gridloom.virtual_assets.streaming import list_json, period_times, rows_json
from gridloom.virtual_assets.wire import raw_json


class PowerCapacity(ResponseBody):
    """The available and the rated power of a block in one quarter-hour, in kW."""

    time: datetime
    charge_power_capacity: float
    discharge_power_capacity: float
    rated_charge_power_capacity: float
    rated_discharge_power_capacity: float


class ScheduledPower(ResponseBody):
    time: datetime
    power: float


class ImbalanceView(ResponseBody):
    """Where the schedules leave the asset at the end of its life; kWh. An imbalance is reported, not refused."""

    balanced: bool
    end_state_of_charge_percentage: float
    imbalance_charge: float
    imbalance_discharge: float
    feedback: str


class ScheduleCut(ResponseBody):
    """A period whose accepted power, summed over all blocks, will not fit when its gate closes, in kW."""

    accepted_schedule: float
    adjusted_schedule: float
    reason: AdjustmentReason


class ExpectedCut(ScheduleCut):
    """The same with the start of its period."""

    timestamp: datetime


class BlockHead(ResponseBody, kw_only=True):
    """A block without its series."""

    id: UUID
    start: datetime
    end: datetime
    market: Market
    rated_charge_power: float
    rated_discharge_power: float
    units_power: str = "kW"


class AssetScheduleHead(BlockHead, kw_only=True):
    """A virtual asset as what it can trade, without its series."""

    version: int


class AssetScheduleView(AssetScheduleHead, kw_only=True):
    """The power of all wholesale blocks of a virtual asset together, and what they can do, in the window asked for."""

    schedule: list[ScheduledPower]
    power_capacity: list[PowerCapacity]


class ScheduledAssetView(AssetScheduleView, kw_only=True):
    """The asset after its schedule was accepted, the imbalance report, and the cuts that it has to expect."""

    imbalance: ImbalanceView
    expected_cuts: list[ExpectedCut]


CAPACITY_COLUMNS = (
    "chargePowerCapacity",
    "dischargePowerCapacity",
    "ratedChargePowerCapacity",
    "ratedDischargePowerCapacity",
)


FEW_POINTS: Final = 24


def imbalance_view(imbalance: Imbalance) -> ImbalanceView:
    return view_of(ImbalanceView, imbalance)


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


def series_fields(first: int, power_kw: Floats, capacities_kw: Sequence[Floats]) -> dict[str, Any]:
    """A schedule and the capacities beside it, in the order of `CAPACITY_COLUMNS`.

    A struct for each of few points, as after a change of one period; JSON by columns for many.
    """
    if len(power_kw) <= FEW_POINTS:
        return list_few_points(first, power_kw.tolist(), [column.tolist() for column in capacities_kw])
    times_ms = period_times(first, first + len(power_kw))
    return {
        "schedule": raw_json(points_json(times_ms, power_kw, name="power")),
        "power_capacity": raw_json(rows_json(times_ms, dict(zip(CAPACITY_COLUMNS, capacities_kw, strict=True)))),
    }


def list_few_points(first: int, power_kw: Sequence[float], capacities_kw: Sequence[Sequence[float]]) -> dict[str, Any]:
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


def streamed_schedule(head: ResponseBody, first: int, columns: Mapping[str, Floats]) -> Stream:
    """A block or an asset with its schedule and capacity over a long window; `head` is the rest."""

    async def chunks() -> AsyncIterator[bytes]:
        yield to_json(head)[:-1] + b',"schedule":'
        async for chunk in list_json(first, {"power": columns["power"]}):
            yield chunk
        yield b',"powerCapacity":'
        async for chunk in list_json(first, {name: columns[name] for name in CAPACITY_COLUMNS}):
            yield chunk
        yield b"}"

    return Stream(chunks(), JSON)


def schedule_head(asset: VirtualAsset, version: int | None = None) -> AssetScheduleHead:
    """`version` is one that was written after the asset was read."""
    return AssetScheduleHead(
        id=asset.id,
        start=asset.terms.window.start,
        end=asset.terms.window.end,
        market=Market.WHOLESALE,
        rated_charge_power=asset.terms.charge_kw,
        rated_discharge_power=asset.terms.discharge_kw,
        version=asset.version if version is None else version,
    )


def schedule_columns(
    blocks: Sequence[Block], first: int, power_kw: Floats, available: AvailableFraction
) -> dict[str, Floats]:
    """The power, and the available and rated power of all wholesale blocks, in each period."""
    end = first + len(power_kw)
    there = available.between(first, end)
    charge_kw, discharge_kw = rated_kw(blocks, np.arange(first, end))
    capacity_kw = (there.charge * charge_kw, there.discharge * discharge_kw, charge_kw, discharge_kw)
    return {"power": power_kw} | dict(zip(CAPACITY_COLUMNS, capacity_kw, strict=True))


def schedule_view(asset: VirtualAsset, first: int, columns: Mapping[str, Floats]) -> AssetScheduleView:
    return AssetScheduleView(**_view_fields(asset, asset.version, first, columns))


def scheduled_asset_view(
    asset: VirtualAsset,
    version: int,
    first: int,
    columns: Mapping[str, Floats],
    imbalance: Imbalance,
    cuts: Sequence[Adjustment],
) -> ScheduledAssetView:
    return ScheduledAssetView(
        **_view_fields(asset, version, first, columns),
        imbalance=imbalance_view(imbalance),
        expected_cuts=expected_cuts(cuts),
    )


def _view_fields(asset: VirtualAsset, version: int, first: int, columns: Mapping[str, Floats]) -> dict[str, Any]:
    capacities_kw = [columns[name] for name in CAPACITY_COLUMNS]
    return structs.asdict(schedule_head(asset, version)) | series_fields(first, columns["power"], capacities_kw)
