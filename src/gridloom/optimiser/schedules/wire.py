"""Schedules proposed, and what they are asked for with, as they cross the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from gridloom.kernel.balancing import ReserveName
from gridloom.optimiser.limits import LimitReason
from gridloom.platform.http import Instant, RequestBody, ResponseBody
from gridloom.reference_prices.model import SERIES
from gridloom.virtual_assets.model import Market

PriceValue = Annotated[float, Meta(ge=-100_000, le=100_000)]


class NewPrice(RequestBody):
    time: Instant
    price: PriceValue


class PricesAsked(RequestBody):
    """Which prices count: exactly one of the three."""

    series: Annotated[
        str | None,
        Meta(extra_json_schema={"enum": [name for name, series in SERIES.items() if series.unit == "EUR/MWh"]}),
    ] = None
    forecast: bool | None = None
    values: Annotated[list[NewPrice], Meta(max_length=40_000)] | None = None


ProposedMarket = Literal["WHOLESALE", ReserveName]


class NewCapacityPrice(RequestBody):
    """The expected price of a four-hour product."""

    market: ReserveName
    start: Instant
    price: Annotated[float, Meta(ge=-15_000, le=15_000)]


class NewOptimisation(RequestBody, kw_only=True):
    start: Instant | None = None
    end: Instant | None = None
    prices: PricesAsked
    markets: Annotated[list[ProposedMarket], Meta(max_length=4)] | None = None
    end_state_of_charge: Literal["HARD", "FREE"] | None = None
    keep: Annotated[list[UUID], Meta(max_length=1000)] | None = None
    exact: bool | None = None
    capacity_prices: Annotated[list[NewCapacityPrice], Meta(max_length=2000)] | None = None


class NewPortfolioOptimisation(RequestBody, kw_only=True):
    start: Instant | None = None
    end: Instant | None = None
    prices: PricesAsked
    import_limit: Annotated[float, Meta(ge=0)] | None = None
    export_limit: Annotated[float, Meta(ge=0)] | None = None
    end_state_of_charge: Literal["HARD", "FREE"] | None = None
    exact: bool | None = None


class NewPower(RequestBody):
    time: Instant
    power: Annotated[float, Meta(ge=-10_000_000, le=10_000_000)]


class NewRepair(RequestBody):
    schedule: Annotated[list[NewPower], Meta(min_length=1, max_length=40_000)]
    objective: Literal["NEAREST", "BEST_VALUE"]
    prices: PricesAsked | None = None


# --- answers -------------------------------------------------------------------------------------------------------


class ProposedPower(ResponseBody):
    time: datetime
    power: float


class ProposedSchedule(ResponseBody):
    block_id: UUID
    schedule: list[ProposedPower]


class ProposedStateOfCharge(ResponseBody):
    """At the end of the quarter-hour."""

    time: datetime
    state_of_charge_percentage: float


class CyclePrice(ResponseBody):
    start: datetime
    value: float


class StoredEnergyPrice(ResponseBody):
    time: datetime
    value: float


class ShadowPriceView(ResponseBody):
    """The marginal value of each limit over the whole window."""

    charge_power: float
    discharge_power: float
    energy_capacity: float
    stored_energy: list[StoredEnergyPrice]
    cycles: list[CyclePrice]
    end_state_of_charge: float


class TripLegView(ResponseBody):
    """Energy at the grid, and its mean price."""

    start: datetime
    end: datetime
    energy: float
    price: float


class TripView(ResponseBody):
    """A purchase and the sale that lives on it, first in, first out. Without `bought` the sale is of what was in store
    before; without `sold` the energy stays there."""

    bought: TripLegView | None
    sold: TripLegView | None
    gain: float
    limited_by: list[LimitReason]


class BasedOn(ResponseBody):
    """Its inputs: the schedule's version, and until when prices were published."""

    version: int
    prices_until: datetime | None


class ProposedBlock(ResponseBody):
    """A block to be carved out for a balancing product."""

    market: Market
    start: datetime
    end: datetime
    rated_charge_power: float
    rated_discharge_power: float
    value: float


OptimisationStatus = Literal["QUEUED", "RUNNING", "FAILED", "OPTIMAL", "TIME_LIMIT"]


class OptimisationView(ResponseBody, kw_only=True):
    """The best schedule found. TIME_LIMIT: it is not proven to be the best; `gap` says how much better one may be."""

    id: UUID | UnsetType = UNSET
    status: OptimisationStatus
    value: float | UnsetType = UNSET
    bound: float | UnsetType = UNSET
    gap: float | UnsetType = UNSET
    schedule: list[ProposedPower] | UnsetType = UNSET
    blocks: list[ProposedSchedule] | UnsetType = UNSET
    state_of_charge: list[ProposedStateOfCharge] | UnsetType = UNSET
    shadow_prices: ShadowPriceView | UnsetType | None = UNSET
    proposed_blocks: list[ProposedBlock] | UnsetType = UNSET
    trips: list[TripView] | UnsetType = UNSET
    wear_price: float | UnsetType = UNSET
    based_on: BasedOn | UnsetType = UNSET
    problem: dict[str, Any] | UnsetType = UNSET


class AssetOptimisationView(ResponseBody, kw_only=True):
    """One asset's part of its portfolio's best schedules."""

    virtual_asset_id: UUID
    value: float
    schedule: list[ProposedPower]
    blocks: list[ProposedSchedule]
    state_of_charge: list[ProposedStateOfCharge]
    trips: list[TripView]
    based_on: BasedOn


class PortfolioOptimisationView(ResponseBody):
    status: Literal["OPTIMAL", "TIME_LIMIT"]
    value: float
    bound: float
    gap: float
    assets: list[AssetOptimisationView]


class MovedPower(ResponseBody):
    time: datetime
    asked: float
    power: float


class RepairView(ResponseBody, kw_only=True):
    """A schedule that the PUT accepts and that ends balanced."""

    schedule: list[ProposedPower]
    moved: list[MovedPower]
    moved_energy: float
    value: float | UnsetType = UNSET
    trips: list[TripView] | UnsetType = UNSET
    end_state_of_charge_percentage: float
    based_on: BasedOn
