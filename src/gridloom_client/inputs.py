"""What goes into nested bodies, in Python's spelling; plain dictionaries with the wire's names work as well.

client.physical_assets.register(..., parameters=Parameters(rated_charge_power=10_000, …))
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Literal, dataclass_transform
from uuid import UUID

import msgspec

from gridloom_client.choices import (
    BalancingMarket,
    DeliveryZone,
    Direction,
    EnergyPriceSeries,
    EventType,
    NotificationStatus,
    PriceSeries,
    ReasonCode,
    Side,
    TradeMarket,
    UnavailabilityType,
    UnitType,
)
from gridloom_client.wire import wire_name


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class InputStruct(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename=wire_name):
    """A part of a body; what keeps its default is not sent."""


class TotpRemoval(InputStruct):
    """A code of the device, or a recovery code; the password is checked too where it is given."""

    code: str
    password: str | None = None


class Parameters(InputStruct):
    """What a physical asset is rated at: kW, kWh and ratios."""

    rated_charge_power: float
    rated_discharge_power: float
    energy_capacity: float
    charge_efficiency: float
    discharge_efficiency: float
    min_state_of_charge: float | None = None
    max_state_of_charge: float | None = None
    ramp_rate: float | None = None
    daily_cycle_limit: float | None = None
    annual_cycle_limit: float | None = None
    fcr_limit_ratio: float | None = None


class Item(InputStruct):
    """The virtual battery that an auction offers: kW, kWh and ratios."""

    start: datetime
    end: datetime
    delivery_zone: DeliveryZone
    rated_charge_power: float
    rated_discharge_power: float
    energy_capacity: float
    charge_efficiency: float
    discharge_efficiency: float
    daily_cycle_limit: float | None = None
    initial_soc: float | None = None
    last_soc_target: float | None = None
    final_soc_tolerance: float | None = None


class Backing(InputStruct):
    """A physical asset's part of a virtual battery; all parts sum to 1."""

    physical_asset_id: UUID | str
    share: float


class Point(InputStruct):
    """A quarter-hour of a schedule: kW, export positive."""

    time: datetime
    power: float


class PowerVolume(InputStruct):
    """Power that is missing, kW."""

    charge: float
    discharge: float


class Volume(InputStruct):
    """What an unavailability takes away: kWh and kW."""

    energy_capacity: float
    power_capacity: PowerVolume


class ProductBid(InputStruct):
    """A price step of a balancing product: EUR/MW and kW."""

    capacity_price: float
    offered_capacity: float
    energy_price: float | None = None
    id: UUID | str | None = None


class ProductBids(InputStruct):
    """All price steps of one product."""

    delivery_day: date | str
    product: str
    bids: Sequence[ProductBid]


class BacktestBattery(InputStruct):
    """The battery that past days are played with: kW, kWh and ratios."""

    rated_power: float
    energy_capacity: float
    charge_efficiency: float
    discharge_efficiency: float
    daily_cycle_limit: float | None = None


class ParametersVersion(Parameters):
    """Ratings that hold from a moment on; the past keeps its own."""

    valid_from: datetime | None = None


class NewVirtualAsset(InputStruct):
    """A virtual battery that the operator allocates outside an auction: kW, kWh and ratios."""

    name: str
    start: datetime
    end: datetime
    delivery_zone: DeliveryZone
    rated_charge_power: float
    rated_discharge_power: float
    energy_capacity: float
    charge_efficiency: float
    discharge_efficiency: float
    backing: Sequence[Backing]
    portfolio_id: UUID | str | None = None
    daily_cycle_limit: float | None = None
    annual_cycle_limit: float | None = None
    ramp_rate: float | None = None
    dispatch_gate_closure_seconds: int | None = None
    initial_state_of_charge_percentage: float | None = None
    final_soc_tolerance: float | None = None


class ProductResult(InputStruct):
    """What became of a bid: kW, and EUR in the product's unit."""

    bid_id: UUID | str
    accepted: bool
    accepted_capacity: float
    settlement_price: float | None = None
    correction: bool | None = None


class ProductResults(InputStruct):
    """The results of one product; `correction` may contradict an earlier one."""

    delivery_day: date | str
    product: str
    results: Sequence[ProductResult]
    correction: bool | None = None


class Price(InputStruct):
    """EUR/MWh of a quarter-hour."""

    time: datetime
    price: float


class Prices(InputStruct):
    """What to plan on: a published series, the forecast, or prices of one's own; one of the three."""

    series: EnergyPriceSeries | None = None
    forecast: bool | None = None
    values: Sequence[Price] | None = None


class CapacityPrice(InputStruct):
    """EUR/MW per hour of a balancing product's block."""

    market: BalancingMarket
    start: datetime
    price: float


class ReferencePrice(InputStruct):
    """A published price: EUR/MWh, or EUR/MW per hour."""

    series: PriceSeries
    start: datetime
    end: datetime
    price: Decimal | float


class WholesaleTrade(InputStruct):
    """MWh and EUR/MWh of a quarter-hour."""

    trade_id: str
    asset_id: UUID | str
    time: datetime
    side: Side
    volume: Decimal | float
    price: Decimal | float
    market: TradeMarket
    executed_at: datetime | None = None


class FcrAward(InputStruct):
    """MW and EUR/MW per hour of a block."""

    asset_id: UUID | str
    delivery_day: date | str
    product: str
    capacity: Decimal | float
    settlement_price: Decimal | float
    delivery_hours: Decimal | float | None = None


class AfrrCapacityAward(InputStruct):
    """MW and EUR/MW per hour of a block."""

    asset_id: UUID | str
    delivery_day: date | str
    product: str
    capacity: Decimal | float
    price: Decimal | float
    delivery_hours: Decimal | float | None = None


class AfrrActivation(InputStruct):
    """MWh and EUR/MWh of a quarter-hour; a positive price is paid to the provider."""

    asset_id: UUID | str
    time: datetime
    direction: Direction
    volume: Decimal | float
    price: Decimal | float


class NetOff(InputStruct):
    """MWh of a quarter-hour that were netted within a portfolio."""

    asset_id: UUID | str
    time: datetime
    volume: Decimal | float


class TollingContract(InputStruct):
    """EUR/MW/year."""

    contract_id: str
    asset_id: UUID | str
    start: datetime
    end: datetime
    annual_price: Decimal | float


class CapacityInterval(InputStruct):
    """A part of an event with another capacity: kW."""

    start: datetime
    end: datetime
    unavailable_capacity: float
    available_capacity: float | None = None


class Notification(InputStruct):
    """A REMIT message about an unavailability: kW."""

    unavailability_type: UnavailabilityType
    event_start: datetime
    event_end: datetime
    unavailable_capacity: float
    cause: str
    event_status: Literal["ACTIVE"] | None = None
    message_id: str | None = None
    event_type: EventType | None = None
    reason_code: ReasonCode | None = None
    unit_type: UnitType | None = None
    asset_eic: str | None = None
    bidding_zone: str | None = None
    installed_capacity: float | None = None
    available_capacity: float | None = None
    capacity_intervals: Sequence[CapacityInterval] | None = None
    duration_uncertainty: str | None = None
    remarks: str | None = None
    unavailability_ids: Sequence[UUID | str] | None = None


class NotificationRevision(InputStruct):
    """What a new version of a message says differently."""

    event_status: NotificationStatus | None = None
    unavailability_type: UnavailabilityType | None = None
    event_start: datetime | None = None
    event_end: datetime | None = None
    unavailable_capacity: float | None = None
    cause: str | None = None
    event_type: EventType | None = None
    reason_code: ReasonCode | None = None
    unit_type: UnitType | None = None
    asset_eic: str | None = None
    bidding_zone: str | None = None
    installed_capacity: float | None = None
    available_capacity: float | None = None
    capacity_intervals: Sequence[CapacityInterval] | None = None
    duration_uncertainty: str | None = None
    remarks: str | None = None
    unavailability_ids: Sequence[UUID | str] | None = None
