"""Schedules proposed, and what they are asked for with, as they cross the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from gridloom.edge import Instant, RequestBody, ResponseBody
from gridloom.reference_prices.model import SERIES
from gridloom.virtual_assets.model import Market

PriceValue = Annotated[float, Meta(ge=-100_000, le=100_000, description="EUR/MWh")]


class NewPrice(RequestBody):
    time: Instant
    price: PriceValue


class PricesAsked(RequestBody):
    """Which prices count: exactly one of the three."""

    series: Annotated[
        str | None,
        Meta(
            description="A reference series in EUR/MWh, as far as it is published",
            extra_json_schema={"enum": [name for name, series in SERIES.items() if series.unit == "EUR/MWh"]},
        ),
    ] = None
    forecast: Annotated[
        bool | None, Meta(description="true: published day-ahead prices, and the forecast of those to come")
    ] = None
    values: Annotated[
        Annotated[list[NewPrice], Meta(max_length=40_000)] | None,
        Meta(description="One for each quarter-hour of the window"),
    ] = None


ProposedMarket = Literal["WHOLESALE", "FCR", "AFRR_POS", "AFRR_NEG"]


class NewCapacityPrice(RequestBody):
    """What a four-hour product is expected to pay."""

    market: Literal["FCR", "AFRR_POS", "AFRR_NEG"]
    start: Annotated[Instant, Meta(description="The start of the four-hour block")]
    price: Annotated[float, Meta(ge=-15_000, le=15_000, description="EUR/MW per hour")]


class NewOptimisation(RequestBody, kw_only=True):
    start: Annotated[Instant | None, Meta(description="Not before this; the first open period when left out")] = None
    end: Annotated[Instant | None, Meta(description="The end of the known prices or of life when left out")] = None
    prices: PricesAsked
    markets: Annotated[
        Annotated[list[ProposedMarket], Meta(max_length=4)] | None, Meta(description="Spot alone when left out")
    ] = None
    end_state_of_charge: Annotated[
        Literal["HARD", "FREE"] | None, Meta(description="HARD, the default: the end of life is met")
    ] = None
    keep: Annotated[
        Annotated[list[UUID], Meta(max_length=1000)] | None, Meta(description="Blocks whose schedules stay")
    ] = None
    exact: Annotated[bool | None, Meta(description="Look for the proven optimum of a long window too")] = None
    capacity_prices: Annotated[
        Annotated[list[NewCapacityPrice], Meta(max_length=2000)] | None,
        Meta(description="Instead of the reference series"),
    ] = None


class NewPortfolioOptimisation(RequestBody, kw_only=True):
    start: Annotated[Instant | None, Meta(description="Not before this; the first open period when left out")] = None
    end: Annotated[Instant | None, Meta(description="The end of the known prices when left out")] = None
    prices: PricesAsked
    import_limit: Annotated[
        Annotated[float, Meta(ge=0)] | None, Meta(description="kW that all may import together")
    ] = None
    export_limit: Annotated[
        Annotated[float, Meta(ge=0)] | None, Meta(description="kW that all may export together")
    ] = None
    end_state_of_charge: Annotated[
        Literal["HARD", "FREE"] | None, Meta(description="HARD, the default: the end of life is met")
    ] = None
    exact: Annotated[bool | None, Meta(description="Look for the proven optimum of a long window too")] = None


class NewPower(RequestBody):
    time: Instant
    power: Annotated[float, Meta(ge=-10_000_000, le=10_000_000, description="kW, positive when it exports")]


class NewRepair(RequestBody):
    schedule: Annotated[list[NewPower], Meta(min_length=1, max_length=40_000)]
    objective: Annotated[
        Literal["NEAREST", "BEST_VALUE"],
        Meta(description="NEAREST: with the least power moved; BEST_VALUE: what earns most in these periods"),
    ]
    prices: Annotated[PricesAsked | None, Meta(description="As for an optimisation; forecast when left out")] = None


# --- answers -------------------------------------------------------------------------------------------------------


class ProposedPower(ResponseBody):
    time: datetime
    power: Annotated[float, Meta(description="kW, positive when it exports")]


class ProposedSchedule(ResponseBody):
    block_id: UUID
    schedule: list[ProposedPower]


class ProposedStateOfCharge(ResponseBody):
    """At the end of the quarter-hour."""

    time: datetime
    state_of_charge_percentage: float


class CyclePrice(ResponseBody):
    start: Annotated[datetime, Meta(description="The market day or year, as far as it is in the window")]
    value: Annotated[float, Meta(description="EUR for one more kWh that may be discharged in it")]


class StoredEnergyPrice(ResponseBody):
    time: datetime
    value: Annotated[float, Meta(description="EUR/MWh: what one more MWh in store is worth at the period's end")]


class ShadowPriceView(ResponseBody):
    """What one more unit of each limit would earn over the whole window."""

    charge_power: Annotated[float, Meta(description="EUR for one more kW in all periods")]
    discharge_power: Annotated[float, Meta(description="EUR for one more kW in all periods")]
    energy_capacity: Annotated[float, Meta(description="EUR for one more kWh of room")]
    stored_energy: list[StoredEnergyPrice]
    cycles: list[CyclePrice]
    end_state_of_charge: Annotated[float, Meta(description="EUR for one kWh less to be left in the end")]


class BasedOn(ResponseBody):
    """What it was made from: the schedule's version, and until when prices were published."""

    version: int
    prices_until: datetime | None


class ProposedBlock(ResponseBody):
    """A block to be carved out for a balancing product."""

    market: Market
    start: datetime
    end: datetime
    rated_charge_power: float
    rated_discharge_power: float
    value: Annotated[float, Meta(description="EUR that the capacity earns")]


OptimisationStatus = Literal["QUEUED", "RUNNING", "FAILED", "OPTIMAL", "TIME_LIMIT"]


class OptimisationView(ResponseBody, kw_only=True):
    """The best schedule found. TIME_LIMIT: it is not proven to be the best; `gap` says how much better one may be."""

    id: Annotated[UUID, Meta(description="Of one that is made later; see Location")] | UnsetType = UNSET
    status: OptimisationStatus
    value: Annotated[float, Meta(description="EUR")] | UnsetType = UNSET
    bound: Annotated[float, Meta(description="EUR that no schedule exceeds")] | UnsetType = UNSET
    gap: Annotated[float, Meta(description="How far the value is from the bound, relative to it")] | UnsetType = UNSET
    schedule: (
        Annotated[
            list[ProposedPower], Meta(description="All wholesale blocks together: what to PUT to the asset's schedule")
        ]
        | UnsetType
    ) = UNSET
    blocks: Annotated[list[ProposedSchedule], Meta(description="The parts of the blocks")] | UnsetType = UNSET
    state_of_charge: list[ProposedStateOfCharge] | UnsetType = UNSET
    shadow_prices: ShadowPriceView | UnsetType | None = UNSET
    proposed_blocks: list[ProposedBlock] | UnsetType = UNSET
    based_on: BasedOn | UnsetType = UNSET
    problem: Annotated[dict[str, Any], Meta(description="Why it failed")] | UnsetType = UNSET


class AssetOptimisationView(ResponseBody):
    """One asset's part of its portfolio's best schedules."""

    virtual_asset_id: UUID
    value: Annotated[float, Meta(description="EUR")]
    schedule: list[ProposedPower]
    blocks: list[ProposedSchedule]
    state_of_charge: list[ProposedStateOfCharge]
    based_on: BasedOn


class PortfolioOptimisationView(ResponseBody):
    status: Literal["OPTIMAL", "TIME_LIMIT"]
    value: Annotated[float, Meta(description="EUR of all together")]
    bound: Annotated[float, Meta(description="EUR that no schedules exceed")]
    gap: Annotated[float, Meta(description="How far the value is from the bound, relative to it")]
    assets: list[AssetOptimisationView]


class MovedPower(ResponseBody):
    time: datetime
    asked: Annotated[float, Meta(description="kW that was sent")]
    power: Annotated[float, Meta(description="kW that is proposed instead")]


class RepairView(ResponseBody, kw_only=True):
    """A schedule that the PUT accepts and that ends balanced."""

    schedule: list[ProposedPower]
    moved: list[MovedPower]
    moved_energy: Annotated[float, Meta(description="kWh by which it differs from what was sent")]
    value: Annotated[float, Meta(description="EUR at the prices it was judged by")] | UnsetType = UNSET
    end_state_of_charge_percentage: float
    based_on: BasedOn
