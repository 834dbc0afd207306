"""What the service answers, as values. What a newer service adds is ignored; units are those of the nomenclature."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias, dataclass_transform
from uuid import UUID

import msgspec

from gridloom_client.wire import wire_name

Record: TypeAlias = dict[str, Any]
"""An answer without a type of its own here: its JSON object."""


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Answered(msgspec.Struct, frozen=True, rename=wire_name):
    """Names in Python's style, `physicalAssetID` on the wire being `physical_asset_id` here."""


# --- identity --------------------------------------------------------------------------------------------------------


class SignedIn(msgspec.Struct, kw_only=True, frozen=True):
    """A pair of tokens. Clients obtain and renew theirs by themselves."""

    access_token: str
    token_type: str = "Bearer"  # noqa: S105 — a scheme, not a secret
    expires_in: float = 900.0
    refresh_token: str | None = None
    scope: str | None = None

    def __repr__(self) -> str:
        return f"SignedIn(expires_in={self.expires_in})"


class Me(Answered):
    id: UUID
    organisation_id: UUID
    username: str | None = None
    display_name: str | None = None
    role: str | None = None
    permissions: tuple[str, ...] = ()


class User(Answered):
    id: UUID
    username: str
    display_name: str | None = None
    organisation_id: UUID | None = None
    role: str | None = None


class ApiKeyEntry(Answered):
    id: UUID
    name: str
    permissions: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None = None


class IssuedApiKey(Answered):
    """The one answer that shows the secret."""

    id: UUID
    name: str
    secret: str
    permissions: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None = None


class Organisation(Answered):
    id: UUID
    name: str
    kind: str
    created_at: datetime | None = None


class Invitation(Answered):
    """`status` is PENDING, ACCEPTED, REVOKED or EXPIRED."""

    id: UUID
    organisation_id: UUID
    email: str
    role: str
    status: str
    created_at: datetime
    expires_at: datetime


class IssuedInvitation(Answered):
    """The one answer that shows the token."""

    id: UUID
    organisation_id: UUID
    email: str
    role: str
    token: str
    expires_at: datetime


class Member(Answered):
    id: UUID
    username: str
    role: str
    display_name: str | None = None


class AuditEntry(Answered):
    """Who did what to which resource, when, from where, and how it ended."""

    id: UUID
    time: datetime
    actor_kind: str
    action: str
    method: str
    resource: str
    status: int
    organisation_id: UUID | None = None
    actor_id: UUID | None = None
    actor_name: str | None = None
    address: str | None = None
    details: Record | None = None


# --- physical assets -------------------------------------------------------------------------------------------------


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


class Schedule(Answered):
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


class Availability(Answered):
    physical_asset_id: UUID
    start: datetime
    end: datetime
    availability: tuple[AvailabilityPoint, ...]


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
    capacity_price: float
    offered_capacity: float
    energy_price: float | None = None
    status: str | None = None


class AncillaryEntry(Answered):
    delivery_day: date
    product: str
    product_date_code: str
    bids: tuple[AncillaryBid, ...] = ()


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
    exchange_notification_ids: tuple[UUID, ...] = msgspec.field(name="exchangeNotificationIds", default=())


class LogbookEntry(Answered):
    id: UUID
    title: str
    description: str | None = None
    type: str | None = None
    impact: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    tags: tuple[str, ...] = ()
    author_id: UUID | None = None
    created_at: datetime | None = None
    source: str | None = None
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


# --- virtual assets and auctions -------------------------------------------------------------------------------------


class Backing(Answered):
    physical_asset_id: UUID
    share: float


class VirtualAsset(Answered):
    id: UUID
    organisation_id: UUID
    name: str
    start: datetime
    end: datetime
    delivery_zone: str
    rated_charge_power: float
    rated_discharge_power: float
    energy_capacity: float
    charge_efficiency: float
    discharge_efficiency: float
    available_energy_capacity: float | None = None
    portfolio_id: UUID | None = None
    end_state_of_charge_percentage: float | None = None
    imbalance_charge: float | None = None
    imbalance_discharge: float | None = None
    feedback: str | None = None
    block_ids: tuple[UUID, ...] = ()
    backing: tuple[Backing, ...] = ()
    auction_id: UUID | None = None


class Imbalance(Answered):
    balanced: bool
    end_state_of_charge_percentage: float
    imbalance_charge: float
    imbalance_discharge: float
    feedback: str | None = None


class Block(Answered):
    id: UUID
    start: datetime
    end: datetime
    market: str
    rated_charge_power: float
    rated_discharge_power: float
    schedule: tuple[SchedulePoint, ...] = ()
    imbalance: Imbalance | None = None


class Portfolio(Answered):
    id: UUID
    name: str
    organisation_id: UUID | None = None
    virtual_asset_ids: tuple[UUID, ...] = ()


class AuctionItem(Answered):
    start: datetime
    end: datetime
    delivery_zone: str
    rated_charge_power: float
    rated_discharge_power: float
    energy_capacity: float
    charge_efficiency: float
    discharge_efficiency: float
    id: UUID | None = None
    daily_cycle_limit: float | None = None
    initial_soc: float | None = None
    last_soc_target: float | None = None
    final_soc_tolerance: float | None = None


class CurrentBid(Answered):
    id: UUID
    price: Decimal
    timestamp: datetime


class Auction(Answered):
    """`status` is the caller's own: NOT_STARTED, RUNNING, PENDING, WON, LOST or NO_BIDS_SUBMITTED."""

    id: UUID
    start: datetime
    end: datetime
    status: str
    item: AuctionItem
    current_bid: CurrentBid | None = None
    virtual_asset_id: UUID | None = None


class Bid(Answered):
    id: UUID
    price: Decimal
    timestamp: datetime
    auction_id: UUID | None = None
    sequence: int | None = None


# --- series, events, sandbox -----------------------------------------------------------------------------------------


class SeriesPoint(Answered):
    time: datetime
    value: float | None


class SeriesDescription(Answered):
    data_point_name: str
    unit: str | None = None
    resolution: str | None = None
    aggregation: str | None = None
    description: str | None = None


class DataPoints(msgspec.Struct, kw_only=True, frozen=True):
    """Named series with a description of each."""

    meta_data: tuple[SeriesDescription, ...] = msgspec.field(name="metaData", default=())
    data: dict[str, tuple[SeriesPoint, ...]]


class BulkOutcome(Answered):
    received: int
    inserted: int
    replaced: int
    unchanged: int


class Event(Answered):
    id: str
    type: str
    time: datetime
    organisation_id: UUID | None = None
    subject: str | None = None
    data: Record = {}


class Webhook(Answered):
    """`secret` is there only in the answer that creates it."""

    id: UUID
    url: str
    types: tuple[str, ...]
    description: str | None = None
    secret: str | None = None


class Clock(Answered):
    now: datetime
