"""Bids for balancing products and their results, as they cross the wire."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from gridloom.kernel.money import Euro
from gridloom.physical_assets.model import MAX_POWER_KW
from gridloom.platform.http import Paging, QueryParameters, RequestBody, ResponseBody

MAX_KEYS = 200
MAX_ENTRIES = 1000

Price = Annotated[Decimal, Euro(Decimal(-15_000), Decimal(15_000))]
SettlementPrice = Annotated[Decimal, Euro(Decimal(-100_000), Decimal(100_000))]
OfferedKW = Annotated[float, Meta(gt=0, le=MAX_POWER_KW)]
AcceptedKW = Annotated[float, Meta(ge=0, le=MAX_POWER_KW)]
ProductCode = Annotated[str, Meta(min_length=1, max_length=40)]


class BidStatus(StrEnum):
    """OFFERED waits for its result; WITHDRAWN and REPLACED are history."""

    OFFERED = "OFFERED"
    ACCEPTED = "ACCEPTED"
    REJECTED = "REJECTED"
    WITHDRAWN = "WITHDRAWN"
    REPLACED = "REPLACED"


class NewAncillaryBid(RequestBody):
    """FCR has a capacity price only (EUR/MW for the whole block, 0 or more), aFRR capacity both (EUR/MW per hour and
    EUR/MWh), aFRR energy an energy price (EUR/MWh) and the capacity price 0."""

    capacity_price: Price
    offered_capacity: OfferedKW
    energy_price: Price | None = None
    id: UUID | UnsetType = UNSET


class NewProductBids(RequestBody):
    """The price steps of a product: together they replace what stood for it."""

    delivery_day: date
    product: ProductCode
    bids: Annotated[list[NewAncillaryBid], Meta(min_length=1, max_length=100)]


NewBids = Annotated[list[NewProductBids], Meta(min_length=1, max_length=MAX_ENTRIES)]


class Bid(ResponseBody):
    id: UUID
    capacity_price: Decimal
    offered_capacity: float
    status: BidStatus
    energy_price: Decimal | UnsetType = UNSET
    accepted_capacity: float | UnsetType = UNSET


class ProductBids(ResponseBody):
    delivery_day: date
    product: str
    product_date_code: str
    bids: list[Bid]


class NewResult(RequestBody):
    bid_id: UUID
    accepted: bool
    accepted_capacity: AcceptedKW
    settlement_price: SettlementPrice | None = None
    correction: bool = False


class NewProductResults(RequestBody):
    delivery_day: date
    product: ProductCode
    results: Annotated[list[NewResult], Meta(min_length=1, max_length=100)]
    correction: bool = False


NewResults = Annotated[list[NewProductResults], Meta(min_length=1, max_length=MAX_ENTRIES)]


class Result(ResponseBody):
    bid_id: UUID
    accepted: bool
    accepted_capacity: float
    revision: int
    recorded_at: datetime
    settlement_price: Decimal | UnsetType = UNSET


class ProductResults(ResponseBody):
    delivery_day: date
    product: str
    product_date_code: str
    results: list[Result]


class ProductKeysQuery(QueryParameters):
    """Up to 200 product keys."""

    product_keys: str


class BidsQuery(Paging):
    """The latest delivery day first, on a day the products from Z to A."""

    delivery_day: date | None = None
    product: ProductCode | None = None
    status: BidStatus | None = None


class ResultsQuery(Paging):
    """The latest delivery day first, on a day the products from Z to A."""

    delivery_day: date | None = None
    product: ProductCode | None = None


class ProductCursor(Struct, array_like=True):
    """Where a page of products ends."""

    delivery_day: date
    product: Annotated[str, Meta(max_length=40)]
