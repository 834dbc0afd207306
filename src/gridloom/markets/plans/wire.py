"""Plans of a stage as they cross the wire."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from gridloom.kernel.market_stages import Stage
from gridloom.optimiser.schedules.wire import TripView
from gridloom.platform.http import RequestBody, ResponseBody
from gridloom.virtual_assets.schedule.views import ScheduledPower


class NewMarketPlan(RequestBody, kw_only=True):
    delivery_day: date
    stage: Stage | None = None
    fee: Annotated[float, Meta(ge=0, le=100)] | None = None
    hurdle: Annotated[float, Meta(ge=0, le=1000)] | None = None


class PlannedReserve(ResponseBody, kw_only=True):
    """Capacity to offer in a four-hour block."""

    product: str
    capacity: float
    capacity_price: float
    energy_price: float | UnsetType = UNSET


class PlanBasis(ResponseBody):
    """Its inputs: the series whose forecast it goes by, until when that series and those before it were read, and the
    version of the schedule."""

    series: list[str]
    until: datetime
    version: int


class MarketPlanView(ResponseBody, kw_only=True):
    """A proposal for a stage. Nothing is changed by it; order `schedule` or `reserves` with `ifMatch`."""

    delivery_day: date
    stage: Stage
    gate: datetime
    trades: list[ScheduledPower]
    schedule: list[ScheduledPower]
    reserves: list[PlannedReserve]
    forced: list[ScheduledPower] | UnsetType = UNSET
    worth: float
    p10: float
    p90: float
    end_state_of_charge: float
    minimum_surplus: float
    at_any_price: bool | UnsetType = UNSET
    wear_price: float | UnsetType = UNSET
    trips: list[TripView]
    based_on: PlanBasis
    if_match: str


class AssetMarketPlanView(MarketPlanView, kw_only=True):
    """One asset's part of its portfolio's plan."""

    virtual_asset_id: UUID


class PortfolioMarketPlanView(ResponseBody):
    """Each asset by itself."""

    assets: list[AssetMarketPlanView]
    worth: float
    p10: float
    p90: float
