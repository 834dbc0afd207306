"""Physical assets and their effective-dated parameters, as they cross the wire."""

from __future__ import annotations

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from gridloom.edge import Instant, Name, Paging, QueryParameters, RequestBody, ResponseBody
from gridloom.kernel.codes import EIC_PATTERN, ControlArea
from gridloom.kernel.units import MIN_EFFICIENCY

MAX_POWER_KW = 10_000_000.0
MAX_ENERGY_KWH = 100_000_000.0

PowerKW = Annotated[float, Meta(ge=0, le=MAX_POWER_KW, description="kW")]
EnergyKWh = Annotated[float, Meta(gt=0, le=MAX_ENERGY_KWH, description="kWh")]
Efficiency = Annotated[
    float, Meta(ge=MIN_EFFICIENCY, le=1, description="Ratio of what comes out to what goes in, one way")
]
Ratio = Annotated[float, Meta(ge=0, le=1)]
RampRate = Annotated[float, Meta(gt=0, le=MAX_POWER_KW, description="kW/s")]
CycleLimit = Annotated[float, Meta(gt=0, le=100_000, description="Full cycles: energy discharged ÷ energy capacity")]
EicCode = Annotated[str, Meta(pattern=EIC_PATTERN, description="EIC, 16 characters with the check character")]


class AssetStatus(StrEnum):
    """Only an ACTIVE asset takes bids and schedules."""

    ACTIVE = "ACTIVE"
    INACTIVE = "INACTIVE"
    DECOMMISSIONED = "DECOMMISSIONED"


class NewParameters(RequestBody):
    """What an asset is rated for."""

    rated_charge_power: PowerKW
    rated_discharge_power: PowerKW
    energy_capacity: EnergyKWh
    charge_efficiency: Efficiency
    discharge_efficiency: Efficiency
    min_state_of_charge: Ratio = 0.0
    max_state_of_charge: Ratio = 1.0
    ramp_rate: RampRate | None = None
    daily_cycle_limit: CycleLimit | None = None
    annual_cycle_limit: CycleLimit | None = None
    fcr_limit_ratio: Annotated[Ratio, Meta(description="Share of rated power that may be offered as FCR")] = 0.8


class NewParametersVersion(NewParameters):
    """Parameters with the moment from which they hold; left out, they hold from now on."""

    valid_from: Instant | UnsetType = UNSET


class NewPhysicalAsset(RequestBody):
    name: Name
    organisation_id: UUID
    delivery_zone: ControlArea
    parameters: NewParameters
    control_area: ControlArea | UnsetType = UNSET
    eic_code: EicCode | None = None
    commissioned_on: date | None = None
    fleet_id: UUID | None = None


class PhysicalAssetChange(RequestBody):
    """What is left out stays; null empties what may be empty."""

    name: Name | UnsetType = UNSET
    delivery_zone: ControlArea | UnsetType = UNSET
    control_area: ControlArea | UnsetType = UNSET
    eic_code: EicCode | UnsetType | None = UNSET
    commissioned_on: date | UnsetType | None = UNSET
    fleet_id: UUID | UnsetType | None = UNSET
    status: AssetStatus | UnsetType = UNSET


class Parameters(ResponseBody):
    """What an asset is rated for from `validFrom` on, until a later version takes over."""

    version: int
    valid_from: datetime
    rated_charge_power: float
    rated_discharge_power: float
    energy_capacity: float
    min_state_of_charge: float
    max_state_of_charge: float
    charge_efficiency: float
    discharge_efficiency: float
    ramp_rate: float | None
    daily_cycle_limit: float | None
    annual_cycle_limit: float | None
    fcr_limit_ratio: float
    recorded_at: datetime


class PhysicalAsset(ResponseBody):
    id: UUID
    name: str
    organisation_id: UUID
    fleet_id: UUID | None
    delivery_zone: ControlArea
    control_area: ControlArea
    eic_code: str | None
    commissioned_on: date | None
    status: AssetStatus
    parameters: Parameters
    created_at: datetime


class AssetsQuery(Paging):
    """In the order of registration."""

    organisation_id: UUID | None = None
    fleet_id: UUID | None = None


class VersionCursor(Struct, array_like=True):
    """Where a page of versions ends."""

    version: Annotated[int, Meta(ge=0, lt=2**31)]


class ParametersQuery(QueryParameters):
    """Which version: the one in force at a moment; left out, the one in force now."""

    at: Instant | None = None
