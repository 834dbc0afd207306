"""Blocks and their schedules as they cross the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from gridloom.edge import Instant, Paging, QueryParameters, RequestBody, ResponseBody
from gridloom.physical_assets.window_query import WindowQuery
from gridloom.virtual_assets.model import AdjustmentReason, Market
from gridloom.virtual_assets.wire import PowerKW, SignedPowerKW


class SchedulePoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The power of one quarter-hour, named by its start. A whole year is 35,040 of them, so they are kept plain."""

    time: Instant
    power: SignedPowerKW


class NewSchedule(RequestBody):
    """The periods to replace; all others stay as they are."""

    schedule: list[SchedulePoint]


class NewBlock(RequestBody):
    """A block to carve out of the wholesale blocks that cover its window."""

    start: Instant
    end: Instant
    market: Market
    rated_charge_power: PowerKW
    rated_discharge_power: PowerKW


class PowerCapacity(ResponseBody):
    """What a block can do in one quarter-hour, and what it is rated for, in kW."""

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


class BlockHead(ResponseBody, kw_only=True):
    """A block without its series."""

    id: UUID
    start: datetime
    end: datetime
    market: Market
    rated_charge_power: float
    rated_discharge_power: float
    units_power: str = "kW"


class BlockView(BlockHead, kw_only=True):
    """A slice of a virtual asset's power, with its schedule and capacity in the window asked for."""

    schedule: list[ScheduledPower]
    power_capacity: list[PowerCapacity]


class ScheduleCut(ResponseBody):
    """A period whose accepted power, summed over all blocks, will not fit when its gate closes, in kW."""

    accepted_schedule: float
    adjusted_schedule: float
    reason: AdjustmentReason


class ExpectedCut(ScheduleCut):
    """The same with the start of its period."""

    timestamp: datetime


class ScheduledBlockView(BlockView, kw_only=True):
    """The block after its schedule was accepted, the imbalance report, and the cuts that the asset has to expect."""

    imbalance: ImbalanceView
    expected_cuts: list[ExpectedCut]


AsOf = Annotated[datetime, Meta(tz=True, description="The schedule as it stood at this moment; left out: now")]


class ResponseWindowQuery(QueryParameters):
    """The window of the schedule in the answer; left out: the periods given, a week of them at most."""

    start: Instant | None = None
    end: Instant | None = None


class BlockQuery(WindowQuery):
    as_of: AsOf | None = None


class BlocksQuery(Paging):
    """All blocks in the order of time; `start` and `end` are the window of their schedules (−24 h … +48 h)."""

    start: Instant | None = None
    end: Instant | None = None
    as_of: AsOf | None = None
