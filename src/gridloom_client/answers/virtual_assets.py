"""Answers about virtual batteries; kW, kWh, export positive."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from gridloom_client.answers.answered import Answered, Listed, Record
from gridloom_client.answers.physical_assets import SchedulePoint


class Backing(Answered):
    physical_asset_id: UUID
    share: float


class BlockSummary(Answered):
    id: UUID
    start: datetime
    end: datetime
    market: str


class VirtualAsset(Answered):
    """The imbalance is what its schedules leave to do, in kWh; `feedback` says it in a sentence."""

    id: UUID
    organisation_id: UUID
    name: str
    created_at: datetime
    start: datetime
    end: datetime
    delivery_zone: str
    rated_charge_power: float
    rated_discharge_power: float
    energy_capacity: float
    available_energy_capacity: float
    charge_efficiency: float
    discharge_efficiency: float
    dispatch_gate_closure_seconds: int
    initial_state_of_charge_percentage: float
    final_soc_tolerance: float
    end_state_of_charge_percentage: float
    imbalance_charge: float
    imbalance_discharge: float
    feedback: str
    block_ids: tuple[UUID, ...]
    block_metadata: tuple[BlockSummary, ...]
    backing: tuple[Backing, ...]
    portfolio_id: UUID | None = None
    eic_code: str | None = None
    daily_cycle_limit: float | None = None
    annual_cycle_limit: float | None = None
    ramp_rate: float | None = None
    auction_id: UUID | None = None


class BlockPowerCapacity(Answered):
    """One delivery period: what the block may do, and what it could if all were available."""

    time: datetime
    charge_power_capacity: float
    discharge_power_capacity: float
    rated_charge_power_capacity: float
    rated_discharge_power_capacity: float


class Block(Answered, Listed):
    listed_in: ClassVar = "schedule"

    id: UUID
    start: datetime
    end: datetime
    market: str
    rated_charge_power: float
    rated_discharge_power: float
    schedule: tuple[SchedulePoint, ...]
    power_capacity: tuple[BlockPowerCapacity, ...]


class Imbalance(Answered):
    balanced: bool
    end_state_of_charge_percentage: float
    imbalance_charge: float
    imbalance_discharge: float
    feedback: str


class ScheduleCut(Answered):
    """A power in kW that will be cut when its gate closes, and why."""

    accepted_schedule: float
    adjusted_schedule: float
    reason: str


class ExpectedCut(Answered):
    """The same with the start of its quarter-hour."""

    timestamp: datetime
    accepted_schedule: float
    adjusted_schedule: float
    reason: str


class ScheduledBlock(Answered, Listed):
    """A block after its schedule was set, with what that does to the asset's balance."""

    listed_in: ClassVar = "schedule"

    id: UUID
    start: datetime
    end: datetime
    market: str
    rated_charge_power: float
    rated_discharge_power: float
    schedule: tuple[SchedulePoint, ...]
    power_capacity: tuple[BlockPowerCapacity, ...]
    imbalance: Imbalance
    expected_cuts: tuple[ExpectedCut, ...]


class StateOfCharge(Answered):
    time: datetime
    state_of_charge_percentage: float


class StateOfEnergy(Answered):
    time: datetime
    energy: float
    expected_cut: ScheduleCut | None = None
    unexplained_energy: float = 0.0


class LatestStateOfEnergy(Answered):
    time: datetime
    energy: float
    state_of_charge_percentage: float
    unexplained_energy: float


class Adjustment(Answered):
    """A power in kW that was cut at gate closure, and why."""

    timestamp: datetime
    accepted_schedule: float
    adjusted_schedule: float
    reason: str


class ScheduleVersion(Answered):
    """One accepted change: who, when, what."""

    version: int
    kind: str
    accepted_at: datetime
    author_kind: str
    changes: tuple[Record, ...]
    author_id: UUID | None = None
    block_id: UUID | None = None


class Portfolio(Answered):
    id: UUID
    organisation_id: UUID
    name: str
    virtual_asset_ids: tuple[UUID, ...]
