"""Published prices over HTTP, and settled prices that differ from them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from gridloom.kernel.dependency import Dependency
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import NotFound, PayloadTooLarge
from gridloom.physical_assets.window_query import check_order
from gridloom.platform.database.pool import Database
from gridloom.platform.http import (
    BULK,
    PARQUET,
    BodyFormat,
    Instant,
    Page,
    Paging,
    QueryParameters,
    Request,
    ResponseBody,
    operation,
)
from gridloom.platform.http.fields import parameter_error, view_of
from gridloom.platform.http.long_bodies.decoder_process import SUBPROCESS_MIN_BYTES, run_in_subprocess
from gridloom.platform.identity.authorization import authorize_asset
from gridloom.reference_prices import store
from gridloom.reference_prices.decoding import NewReferencePrice, SeriesName, read_prices
from gridloom.reference_prices.model import (
    MANUAL,
    SERIES,
    SIMULATOR,
    SOURCES,
    CheckedKind,
    PublishedPrice,
    RecordedPrice,
)
from gridloom.settlements.as_of import PRICES, AsOf, AsOfTooEarly, check_as_of
from gridloom.settlements.decoding import BULK_FORMATS, MAX_ROWS
from gridloom.settlements.model import Counts
from gridloom.settlements.store import asset_keys
from gridloom.settlements.views import AssetKey

TAG = "Reference prices"


class ReferencePrice(ResponseBody):
    series: str
    start: datetime
    end: datetime
    price: Decimal
    source: Annotated[str, Meta(extra_json_schema={"enum": list(SOURCES)})]
    first_seen_at: datetime


PRICES_CHANGED: Dependency[Callable[[Database, Sequence[PublishedPrice]], Awaitable[None]]] = Dependency(
    "what rests on published prices, to be made anew when they change"
)
RESTORE_PRICES: Dependency[Callable[[Database, Sequence[PublishedPrice]], Awaitable[int]]] = Dependency(
    "what sources say where prices posted by hand stood"
)


def _format_prices() -> BodyFormat:
    _, components = msgspec.json.schema_components([NewReferencePrice], ref_template="#/components/schemas/{name}")
    schema = {"type": "array", "minItems": 1, "maxItems": MAX_ROWS, "items": components["NewReferencePrice"]}
    return replace(BULK, media_types=BULK_FORMATS, schema=schema)


@operation(
    "POST",
    "/reference-prices",
    summary="Load published prices",
    access=Permission.CREATE_REFERENCE_PRICES,
    problems=(PayloadTooLarge,),
    transaction="manual",
)
async def record_reference_prices(request: Request, body: Annotated[bytes, _format_prices()]) -> Counts:
    """Known again by series and start: the same row changes nothing, another is its next version. All rows or none.

    Prices posted by hand prevail over those of feeds until they are deleted.
    """
    is_long = len(body) > SUBPROCESS_MIN_BYTES or request.content_type == PARQUET
    if is_long:
        prices = await run_in_subprocess(request.holder, read_prices, body, request.content_type)
    else:
        prices = await asyncio.to_thread(read_prices, body, request.content_type)
    source = SIMULATOR if request.holder is None else MANUAL
    db = await request.begin()
    inserted, replaced = await store.put_prices(db, prices, request.caller.id, source=source)
    if inserted or replaced:
        await PRICES_CHANGED.get()(db, prices)
    received = len(prices)
    counts = Counts(received=received, inserted=inserted, replaced=replaced, unchanged=received - inserted - replaced)
    request.audit_details.update(received=received, inserted=inserted, replaced=replaced)
    return counts


class WithdrawalQuery(QueryParameters, kw_only=True):
    series: SeriesName
    start: Instant
    end: Instant


@operation(
    "DELETE",
    "/reference-prices",
    summary="Withdraw prices posted by hand",
    access=Permission.CREATE_REFERENCE_PRICES,
)
async def delete_reference_prices(request: Request, query: WithdrawalQuery) -> None:
    """Those of a series that begin in the window. Their versions stay, and what a feed says counts again."""
    _check_series(query.series)
    check_order(query.start, query.end)
    withdrawn = await store.withdraw_prices(request.db, query.series, query.start, query.end, request.caller.id)
    restored = await RESTORE_PRICES.get()(request.db, withdrawn)
    if withdrawn:
        await PRICES_CHANGED.get()(request.db, withdrawn)
    request.audit_details.update(withdrawn=len(withdrawn), restored=restored)


def _check_series(name: str) -> None:
    if name not in SERIES:
        raise parameter_error("query", "series", f"is not one of {', '.join(SERIES)}")


class ReferencePriceQuery(Paging, kw_only=True):
    series: SeriesName
    start: Instant | None = None
    end: Instant | None = None
    as_of: AsOf = None


@operation(
    "GET",
    "/reference-prices",
    summary="List published prices",
    access=Permission.READ_REVENUE,
    problems=(AsOfTooEarly,),
    replica_read=True,
    asset_scope="free",
)
async def list_reference_prices(request: Request, query: ReferencePriceQuery) -> Page[ReferencePrice]:
    """One series by start, as it is or as it was known at an instant."""
    _check_series(query.series)
    check_order(query.start, query.end)
    await check_as_of(request.db, query.as_of, PRICES)
    prices = await store.list_prices(
        request.db, query.series, query.start, query.end, query.after(datetime), query.limit + 1, query.as_of
    )
    page = query.page(prices, lambda price: price.start)
    return Page([_view_price(price) for price in page.items], page.next_cursor)


def _view_price(price: RecordedPrice) -> ReferencePrice:
    return view_of(ReferencePrice, price, price=price.price.normalize() + 0)


class DeviationQuery(Paging, kw_only=True):
    kind: CheckedKind
    asset_id: UUID | None = None
    start: Instant | None = None
    end: Instant | None = None
    tolerance: Annotated[float, Meta(ge=0, le=1_000_000)] = 0.005


class PriceDeviation(ResponseBody):
    """A settled price that is not the published one: above or below it, or, where bids are paid, above the marginal."""

    asset_id: UUID
    time: datetime
    reference: str
    series: str
    settled_price: Decimal
    published_price: Decimal
    difference: Decimal


@operation(
    "GET",
    "/reference-prices/deviations",
    summary="List settled prices that differ from the published ones",
    access=Permission.READ_REVENUE,
    replica_read=True,
)
async def list_price_deviations(request: Request, query: DeviationQuery) -> Page[PriceDeviation]:
    """By asset, time and trade or product. What has no published price is not listed."""
    check_order(query.start, query.end)
    key = None if query.asset_id is None else await _asset_key(request, query.asset_id)
    found = await store.list_deviations(
        request.db,
        query.kind,
        organisation_id=None if request.caller.is_operator or key is not None else request.caller.organisation_id,
        asset_key=key,
        start=query.start,
        end=query.end,
        tolerance=Decimal(str(query.tolerance)),
        after=query.after(tuple[AssetKey, datetime, str, str]),
        limit=query.limit + 1,
    )
    page = query.page(found, lambda one: [one.asset_key, one.time, one.reference, one.side])
    deviations = [
        view_of(
            PriceDeviation,
            one,
            settled_price=one.settled,
            published_price=one.published,
            difference=one.settled - one.published,
        )
        for one in page.items
    ]
    return Page(deviations, page.next_cursor)


async def _asset_key(request: Request, asset_id: UUID) -> int:
    if not request.caller.is_operator:
        return (await authorize_asset(request.db, request.caller, asset_id, Permission.READ_REVENUE, kind=None)).key
    keys = await asset_keys(request.db, [asset_id])
    if asset_id not in keys:
        raise NotFound(f"There is no asset {asset_id}.")
    return keys[asset_id]
