"""The schedule of a whole asset as it crosses the wire."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from gridloom.edge import ResponseBody
from gridloom.virtual_assets.blocks.wire import ExpectedCut, ImbalanceView, PowerCapacity, ScheduledPower
from gridloom.virtual_assets.model import Market


class AssetScheduleHead(ResponseBody, kw_only=True):
    """A virtual asset as what it can trade, without its series."""

    id: UUID
    start: datetime
    end: datetime
    market: Market
    rated_charge_power: float
    rated_discharge_power: float
    units_power: str = "kW"
    version: int


class AssetScheduleView(AssetScheduleHead, kw_only=True):
    """The power of all wholesale blocks of a virtual asset together, and what they can do, in the window asked for."""

    schedule: list[ScheduledPower]
    power_capacity: list[PowerCapacity]


class ScheduledAssetView(AssetScheduleView, kw_only=True):
    """The asset after its schedule was accepted, the imbalance report, and the cuts that it has to expect."""

    imbalance: ImbalanceView
    expected_cuts: list[ExpectedCut]
