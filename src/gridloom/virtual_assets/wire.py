"""Virtual assets as they cross the wire, and what their blocks and series share there."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gridloom.kernel.codes import ControlArea
from gridloom.physical_assets.model import CycleLimit, Efficiency, EnergyKWh, PowerKW, RampRate
from gridloom.platform.http import Instant, Name, PagedWindow, RequestBody, ResponseBody
from gridloom.virtual_assets.model import (
    DEFAULT_FINAL_SOC_TOLERANCE,
    DEFAULT_GATE_CLOSURE_S,
    MAX_GATE_CLOSURE_S,
    Market,
)

Percentage = Annotated[float, Meta(ge=0, le=100)]


class Backing(RequestBody):
    """A physical asset and the share of the virtual one that it backs."""

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
    charge_efficiency: Efficiency
    discharge_efficiency: Efficiency
    backing: Annotated[list[Backing], Meta(min_length=1, max_length=100)]
    portfolio_id: UUID | None = None
    daily_cycle_limit: CycleLimit | None = None
    annual_cycle_limit: CycleLimit | None = None
    ramp_rate: RampRate | None = None
    dispatch_gate_closure_seconds: Annotated[int, Meta(ge=0, le=MAX_GATE_CLOSURE_S)] = DEFAULT_GATE_CLOSURE_S
    initial_state_of_charge_percentage: Percentage = 50.0
    final_soc_tolerance: Annotated[float, Meta(ge=0, le=1)] = DEFAULT_FINAL_SOC_TOLERANCE


class VirtualAssetChange(RequestBody):
    """Members that are left out do not change; null takes the asset out of its portfolio."""

    name: Name | UnsetType = UNSET
    portfolio_id: UUID | UnsetType | None = UNSET


class BlockMetadata(ResponseBody):
    id: UUID
    start: datetime
    end: datetime
    market: Market


class BackingView(ResponseBody):
    physical_asset_id: UUID
    share: float


class VirtualAssetView(ResponseBody, kw_only=True):
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


class VirtualAssetsQuery(PagedWindow):
    """Those whose life overlaps the window, in the order of their allocation."""


def raw_json(body: bytes) -> Any:
    """An encoded list in place of the declared one, without a struct for each point."""
    return msgspec.Raw(body)
