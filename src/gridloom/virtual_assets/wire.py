"""Virtual assets, blocks, schedules and portfolios as they cross the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gridloom.edge import Instant, Name, Paging, QueryParameters, RequestBody, View
from gridloom.kernel.codes import ControlArea
from gridloom.kernel.units import LEAST_EFFICIENCY
from gridloom.virtual_assets.model import (
    DEFAULT_FINAL_SOC_TOLERANCE,
    DEFAULT_GATE_CLOSURE_S,
    AdjustmentReason,
    Market,
    VersionKind,
)

MOST_POWER_KW = 10_000_000.0
MOST_ENERGY_KWH = 100_000_000.0

PowerKW = Annotated[float, Meta(ge=0, le=MOST_POWER_KW, description="kW")]
SignedPowerKW = Annotated[float, Meta(description="kW; positive discharges, negative charges", examples=[-500.0])]
EnergyKWh = Annotated[float, Meta(gt=0, le=MOST_ENERGY_KWH, description="kWh")]
OneWayEfficiency = Annotated[
    float, Meta(ge=LEAST_EFFICIENCY, le=1, description="Ratio of what comes out to what goes in, one way")
]
CycleLimit = Annotated[float, Meta(gt=0, le=100_000, description="Full cycles: energy discharged ÷ energy capacity")]
RampRate = Annotated[
    float,
    Meta(
        gt=0,
        le=MOST_POWER_KW,
        description="kW/s; a term for whoever dispatches. Schedules are means of quarter-hours and are not held to it.",
    ),
]
Percentage = Annotated[float, Meta(ge=0, le=100)]


class Backing(RequestBody):
    """A physical asset and the share of the virtual one that it stands for."""

    physical_asset_id: UUID
    share: Annotated[float, Meta(gt=0, le=1)]


class NewVirtualAsset(RequestBody):
    """A virtual asset to be allocated directly, outside an auction. The shares of its backing sum to 1."""

    name: Name
    start: Instant
    end: Instant
    delivery_zone: ControlArea
    rated_charge_power: PowerKW
    rated_discharge_power: PowerKW
    energy_capacity: EnergyKWh
    charge_efficiency: OneWayEfficiency
    discharge_efficiency: OneWayEfficiency
    backing: Annotated[list[Backing], Meta(min_length=1, max_length=100)]
    portfolio_id: UUID | None = None
    daily_cycle_limit: CycleLimit | None = None
    annual_cycle_limit: CycleLimit | None = None
    ramp_rate: RampRate | None = None
    dispatch_gate_closure_seconds: Annotated[int, Meta(ge=0, le=604_800)] = DEFAULT_GATE_CLOSURE_S
    initial_state_of_charge_percentage: Percentage = 50.0
    final_soc_tolerance: Annotated[float, Meta(ge=0, le=1)] = DEFAULT_FINAL_SOC_TOLERANCE


class BlockMetadata(View):
    id: UUID
    start: datetime
    end: datetime
    market: Market


class BackingView(View):
    physical_asset_id: UUID
    share: float


class VirtualAssetView(View, kw_only=True):
    """A virtual battery. `availableEnergyCapacity` is what is left of its capacity now, or at the nearer end of life.

    `imbalanceCharge` and `imbalanceDischarge` (kWh) are what its schedules lack to, or have beyond, the target at its
    end; never both.
    """

    id: UUID
    organisation_id: UUID
    portfolio_id: UUID | None
    name: str
    created_at: datetime
    start: datetime
    end: datetime
    delivery_zone: ControlArea
    eic_code: str | UnsetType = UNSET
    rated_charge_power: float
    rated_discharge_power: float
    energy_capacity: float
    available_energy_capacity: float
    charge_efficiency: float
    discharge_efficiency: float
    daily_cycle_limit: float | UnsetType = UNSET
    annual_cycle_limit: float | UnsetType = UNSET
    ramp_rate: float | UnsetType = UNSET
    dispatch_gate_closure_seconds: int
    initial_state_of_charge_percentage: float
    final_soc_tolerance: float
    end_state_of_charge_percentage: float
    imbalance_charge: float
    imbalance_discharge: float
    feedback: str
    block_ids: list[UUID]
    block_metadata: list[BlockMetadata]
    backing: list[BackingView]
    auction_id: UUID | UnsetType = UNSET
    units_power: str = "kW"
    units_energy: str = "kWh"


class VirtualAssetsQuery(Paging):
    """Those whose life overlaps the window, in the order of their allocation."""

    start: Instant | None = None
    end: Instant | None = None


# --- blocks and schedules ------------------------------------------------------------------------------------------


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


class PowerCapacity(View):
    """What a block can do in one quarter-hour, and what it is rated for, in kW."""

    time: datetime
    charge_power_capacity: float
    discharge_power_capacity: float
    rated_charge_power_capacity: float
    rated_discharge_power_capacity: float


class ScheduledPower(View):
    time: datetime
    power: float


class ImbalanceView(View):
    """Where the schedules leave the asset at the end of its life; kWh. An imbalance is reported, not refused."""

    balanced: bool
    end_state_of_charge_percentage: float
    imbalance_charge: float
    imbalance_discharge: float
    feedback: str


class BlockHead(View, kw_only=True):
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


class ScheduledBlockView(BlockView, kw_only=True):
    """The block after its schedule was accepted, and the imbalance report."""

    imbalance: ImbalanceView


AsOf = Annotated[datetime, Meta(tz=True, description="The schedule as it stood at this moment; left out: now")]


class WindowQuery(QueryParameters):
    """Left out: from 24 hours before now to 48 hours after."""

    start: Instant | None = None
    end: Instant | None = None


class ShownQuery(QueryParameters):
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


class StateOfCharge(View):
    """At the start of the quarter-hour."""

    time: datetime
    state_of_charge_percentage: float


class StateOfEnergy(View):
    """At the start of the quarter-hour, in kWh."""

    time: datetime
    energy: float


class LatestStateOfEnergy(View):
    """The stored energy at this moment of the platform's clock, in kWh."""

    time: datetime
    energy: float
    state_of_charge_percentage: float
    units_energy: str = "kWh"


class OperationalQuery(QueryParameters):
    """Left out: all categories, from 24 hours before now to 48 hours after."""

    categories: tuple[str, ...] | None = None
    start: Instant | None = None
    end: Instant | None = None


class CategoryMetaData(View):
    data_point_name: str
    unit: str
    resolution: str
    description: str


class DataPoint(View):
    time: datetime
    value: float | None


class OperationalView(View):
    """Quarter-hour series by category."""

    meta_data: list[CategoryMetaData]
    data: dict[str, list[DataPoint]]


class AdjustmentsQuery(Paging):
    """Left out: the whole life."""

    start: Instant | None = None
    end: Instant | None = None


class AdjustmentView(View):
    """A quarter-hour whose accepted power (kW, all blocks together) was cut when its gate closed."""

    timestamp: datetime
    accepted_schedule: float
    adjusted_schedule: float
    reason: AdjustmentReason


class HistoryQuery(Paging):
    """By when a version was accepted; `version` asks for one alone, with all its periods."""

    start: Instant | None = None
    end: Instant | None = None
    version: Annotated[int, Meta(ge=1, le=2_147_483_647)] | None = None


class BlockChange(View):
    """The periods a version set on a block. Of a version with very many periods, only their number is listed."""

    block_id: UUID
    periods: int
    start: datetime
    end: datetime
    schedule: list[ScheduledPower] | None


class VersionView(View):
    """Who made a version, when, and what it changed."""

    version: int
    kind: VersionKind
    accepted_at: datetime
    author_kind: str
    author_id: UUID | None
    block_id: UUID | None
    changes: list[BlockChange]


# --- portfolios ----------------------------------------------------------------------------------------------------


class NewPortfolio(RequestBody):
    name: Name
    virtual_asset_ids: Annotated[list[UUID], Meta(max_length=10_000)] | UnsetType = UNSET


class PortfolioChange(RequestBody):
    """What is left out stays; a list of assets replaces the one before."""

    name: Name | UnsetType = UNSET
    virtual_asset_ids: Annotated[list[UUID], Meta(max_length=10_000)] | UnsetType = UNSET


class PortfolioView(View):
    id: UUID
    organisation_id: UUID
    name: str
    virtual_asset_ids: list[UUID]
    created_at: datetime


class PortfoliosQuery(Paging):
    """In the order in which they were made."""


def already_json(body: bytes) -> Any:
    """A list that is JSON already, to stand where the list is declared: arrays skip a struct for each point."""
    return msgspec.Raw(body)
