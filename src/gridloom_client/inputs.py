"""What goes into nested bodies, in Python's spelling; plain dictionaries with the wire's names work as well.

client.physical_assets.register(..., parameters=Parameters(rated_charge_power=10_000, …))
"""

from __future__ import annotations

from datetime import datetime
from typing import dataclass_transform
from uuid import UUID

import msgspec

from gridloom_client.choices import DeliveryZone
from gridloom_client.wire import wire_name


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Given(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename=wire_name):
    """A part of a body; what keeps its default is not sent."""


class Parameters(Given):
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


class Item(Given):
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


class Backing(Given):
    """A physical asset's part of a virtual battery; all parts sum to 1."""

    physical_asset_id: UUID | str
    share: float


class Point(Given):
    """A quarter-hour of a schedule: kW, export positive."""

    time: datetime
    power: float


class PowerVolume(Given):
    """Power that is missing, kW."""

    charge: float
    discharge: float


class Volume(Given):
    """What an unavailability takes away: kWh and kW."""

    energy_capacity: float
    power_capacity: PowerVolume


class ProductBid(Given):
    """A price step of a balancing product: EUR/MW and kW."""

    capacity_price: float
    offered_capacity: float
    energy_price: float | None = None
    id: UUID | str | None = None


class ProductBids(Given):
    """All price steps of one product."""

    delivery_day: str
    product: str
    bids: tuple[ProductBid, ...]


class BacktestBattery(Given):
    """The battery that past days are played with: kW, kWh and ratios."""

    rated_power: float
    energy_capacity: float
    charge_efficiency: float
    discharge_efficiency: float
    daily_cycle_limit: float | None = None
