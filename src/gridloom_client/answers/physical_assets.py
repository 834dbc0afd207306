"""Answers about installed batteries; kW, kWh, export positive."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import ClassVar
from uuid import UUID

import msgspec

from gridloom_client.answers.answered import Answered, Listed, Record


class Parameters(Answered):
    """kW, kWh, kW/s and ratios, in force from `valid_from`."""

    version: int
    valid_from: datetime
    rated_charge_power: float
    rated_discharge_power: float
    energy_capacity: float
    min_state_of_charge: float
    max_state_of_charge: float
    charge_efficiency: float
    discharge_efficiency: float
    fcr_limit_ratio: float
    ramp_rate: float | None = None
    daily_cycle_limit: float | None = None
    annual_cycle_limit: float | None = None


class PhysicalAsset(Answered):
    id: UUID
    name: str
    organisation_id: UUID
    delivery_zone: str
    control_area: str
    status: str
    parameters: Parameters
    created_at: datetime
    fleet_id: UUID | None = None
    eic_code: str | None = None
    commissioned_on: date | None = None


class SchedulePoint(Answered):
    """One delivery period: power in kW, export positive."""

    time: datetime
    power: float


class Schedule(Answered, Listed):
    listed_in: ClassVar = "schedule"

    physical_asset_id: UUID
    start: datetime
    end: datetime
    schedule: tuple[SchedulePoint, ...]


class AvailabilityPoint(Answered):
    """One delivery period: kW and kWh."""

    time: datetime
    rated_charge_power: float
    rated_discharge_power: float
    rated_energy: float
    available_charge_power: float
    available_discharge_power: float
    available_energy: float


class Availability(Answered, Listed):
    listed_in: ClassVar = "availability"

    physical_asset_id: UUID
    start: datetime
    end: datetime
    availability: tuple[AvailabilityPoint, ...]


class Commitments(Answered, Listed):
    """What is held of an asset and what is free; each of `commitments` has `charge`, `discharge` and `energy` with
    `rated`, `available`, `promised`, `offered`, `ancillary`, `ownSchedule`, `free` and `missing`."""

    listed_in: ClassVar = "commitments"

    physical_asset_id: UUID
    start: datetime
    end: datetime
    commitments: tuple[Record, ...]


class Health(Answered):
    """`status` is OK, DEGRADED, DOWN or UNKNOWN; `checks` says why."""

    physical_asset_id: UUID
    status: str
    available_power: Record
    active_unavailability_ids: tuple[UUID, ...]
    checks: tuple[Record, ...]
    last_telemetry_at: datetime | None = None
    state_of_charge: float | None = None


class AncillaryBid(Answered):
    """Prices in EUR, capacity in kW."""

    id: UUID
    capacity_price: Decimal
    offered_capacity: float
    status: str
    energy_price: Decimal | None = None


class AncillaryEntry(Answered):
    delivery_day: date
    product: str
    product_date_code: str
    bids: tuple[AncillaryBid, ...]


class AncillaryResult(Answered):
    """Capacity in kW; `revision` counts corrections."""

    bid_id: UUID
    accepted: bool
    accepted_capacity: float
    revision: int
    recorded_at: datetime
    settlement_price: Decimal | None = None


class AncillaryResults(Answered):
    delivery_day: date
    product: str
    product_date_code: str
    results: tuple[AncillaryResult, ...]


class PowerCapacity(Answered):
    """kW."""

    charge: float
    discharge: float


class Volume(Answered):
    """What is missing: kWh and kW."""

    energy_capacity: float
    power_capacity: PowerCapacity


class Unavailability(Answered):
    id: UUID
    physical_asset_id: UUID
    description: str
    type: str
    start: datetime
    end: datetime
    volume: Volume
    exchange_notification_ids: tuple[UUID, ...] = msgspec.field(name="exchangeNotificationIds")


class Conflict(Answered):
    """Something promised that is no longer available: kW."""

    kind: str
    start: datetime
    end: datetime
    power: float
    available: float
    detail: str
    id: UUID | None = None
    product_date_code: str | None = None
    virtual_asset_id: UUID | None = None


class UnavailabilityPreview(Answered):
    """What an unavailability would do: kW that nobody holds, kW that holders bear, and what each would have left."""

    free: float
    cut: float
    holders: tuple[Record, ...]
    expected_cuts: tuple[Record, ...]


class ChangedUnavailability(Answered):
    """An unavailability after a change, with what no longer fits on account of it."""

    id: UUID
    physical_asset_id: UUID
    description: str
    type: str
    start: datetime
    end: datetime
    volume: Volume
    conflicts: tuple[Conflict, ...]
    exchange_notification_ids: tuple[UUID, ...] = msgspec.field(name="exchangeNotificationIds")


class ExchangeNotification(Answered):
    """A REMIT message; capacity in kW."""

    id: UUID
    physical_asset_id: UUID
    message_id: str
    version: int
    event_status: str
    unavailability_type: str
    event_type: str
    reason_code: str
    unit_type: str
    asset_eic: str
    bidding_zone: str
    installed_capacity: float
    available_capacity: float
    unavailable_capacity: float
    event_start: datetime
    event_end: datetime
    cause: str
    published_at: datetime
    unavailability_ids: tuple[UUID, ...]
    capacity_intervals: tuple[Record, ...]
    duration_uncertainty: str | None = None
    remarks: str | None = None


class LogbookEntry(Answered):
    """`impact` is POSITIVE, NEUTRAL or NEGATIVE; `source` USER or SYSTEM."""

    id: UUID
    title: str
    description: str
    type: str
    impact: str
    start: datetime
    tags: tuple[str, ...]
    created_at: datetime
    source: str
    end: datetime | None = None
    author_id: UUID | None = None
    corrects_id: UUID | None = None


class Fleet(Answered):
    id: UUID
    name: str
    organisation_id: UUID
    physical_asset_ids: tuple[UUID, ...]


class Grant(Answered):
    physical_asset_id: UUID
    organisation_id: UUID
    permissions: tuple[str, ...]
    organisation_name: str | None = None
