"""Physical assets and their effective-dated parameters, as they cross the wire."""

from __future__ import annotations

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from gridloom.kernel.codes import BIDDING_ZONE_DE_LU_EIC, EIC_PATTERN, ControlArea
from gridloom.kernel.units import MIN_EFFICIENCY
from gridloom.platform.http import Instant, Name, Paging, QueryParameters, RequestBody, ResponseBody, pattern_meta

MAX_POWER_KW = 10_000_000.0
MAX_ENERGY_KWH = 100_000_000.0

PowerKW = Annotated[float, Meta(ge=0, le=MAX_POWER_KW)]
EnergyKWh = Annotated[float, Meta(gt=0, le=MAX_ENERGY_KWH)]
Efficiency = Annotated[float, Meta(ge=MIN_EFFICIENCY, le=1)]
Ratio = Annotated[float, Meta(ge=0, le=1)]
RampRate = Annotated[float, Meta(gt=0, le=MAX_POWER_KW)]
CycleLimit = Annotated[float, Meta(gt=0, le=100_000)]
EicCode = Annotated[str, pattern_meta(EIC_PATTERN, f"an EIC of 16 characters, such as {BIDDING_ZONE_DE_LU_EIC}")]


class AssetStatus(StrEnum):
    """Only an ACTIVE asset takes bids and schedules."""

    ACTIVE = "ACTIVE"
    INACTIVE = "INACTIVE"
    DECOMMISSIONED = "DECOMMISSIONED"


class NewParameters(RequestBody):
    """The ratings of an asset."""

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
    fcr_limit_ratio: Ratio = 0.8


class NewParametersVersion(NewParameters):
    """Parameters with the instant from which they hold; left out, they hold from now on."""

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
    """An omitted field stays; null empties a field that may be empty."""

    name: Name | UnsetType = UNSET
    delivery_zone: ControlArea | UnsetType = UNSET
    control_area: ControlArea | UnsetType = UNSET
    eic_code: EicCode | UnsetType | None = UNSET
    commissioned_on: date | UnsetType | None = UNSET
    fleet_id: UUID | UnsetType | None = UNSET
    status: AssetStatus | UnsetType = UNSET


class Parameters(ResponseBody):
    """The ratings of an asset from `validFrom` on, until a later version takes over."""

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
    """Which version: the one in force at an instant; left out, the one in force now."""

    at: Instant | None = None
