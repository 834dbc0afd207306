"""Published prices over HTTP, and settled prices that differ from them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated
from uuid import UUID

from msgspec import Meta

from gridloom.kernel.dependency import Dependency
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import BadRequest, FieldError, NotFound, PayloadTooLarge
from gridloom.physical_assets.window_query import check_order
from gridloom.platform.database.pool import Database
from gridloom.platform.http import BULK, Instant, Page, Paging, Request, RequestBody, ResponseBody, operation
from gridloom.platform.http.fields import parameter_error
from gridloom.platform.http.response_fields import view_of
from gridloom.platform.identity.authorization import authorize_asset
from gridloom.reference_prices import store
from gridloom.reference_prices.model import SERIES, CheckedKind, PublishedPrice
from gridloom.settlements.as_of import PRICES, AsOf, AsOfTooEarly, check_as_of
from gridloom.settlements.model import Counts
from gridloom.settlements.store import asset_keys
from gridloom.settlements.views import AssetKey

TAG = "Reference prices"
MAX_ROWS = 100_000
MAX_INLINE_ROWS = 2_000

SeriesName = Annotated[str, Meta(extra_json_schema={"enum": list(SERIES)})]
Price = Annotated[float, Meta(ge=-1_000_000, le=1_000_000)]


class NewReferencePrice(RequestBody):
    """A published price; key: series and start."""

    series: SeriesName
    start: Instant
    end: Instant
    price: Price


class ReferencePrice(ResponseBody):
    series: str
    start: datetime
    end: datetime
    price: Decimal


PRICES_CHANGED: Dependency[Callable[[Database, Sequence[PublishedPrice]], Awaitable[None]]] = Dependency(
    "what rests on published prices, to be made anew when they change"
)


@operation(
    "POST",
    "/reference-prices",
    summary="Load published prices",
    access=Permission.CREATE_SETTLEMENTS,
    problems=(PayloadTooLarge,),
)
async def record_reference_prices(request: Request, body: Annotated[list[NewReferencePrice], BULK]) -> Counts:
    """Known again by series and start: the same row changes nothing, another is its next version. All rows or none."""
    prices = _read_prices(body) if len(body) <= MAX_INLINE_ROWS else await asyncio.to_thread(_read_prices, body)
    inserted, replaced = await store.put_prices(request.db, prices, request.caller.id)
    if inserted or replaced:
        await PRICES_CHANGED.get()(request.db, prices)
    counts = Counts(received=len(body), inserted=inserted, replaced=replaced, unchanged=len(body) - inserted - replaced)
    request.audit_details.update(received=counts.received, inserted=inserted, replaced=replaced)
    return counts


def _read_prices(rows: list[NewReferencePrice]) -> list[PublishedPrice]:
    if len(rows) > MAX_ROWS:
        raise PayloadTooLarge(f"A request holds up to {MAX_ROWS} rows, and this one {len(rows)}.")
    errors = [error for position, row in enumerate(rows) for error in _validate_row(position, row)]
    if errors:
        raise BadRequest(f"Nothing was recorded. {errors[0].pointer}: {errors[0].detail}", errors=errors[:100])
    return [
        PublishedPrice(row.series, row.start, row.end, Decimal(str(row.price)).quantize(Decimal("0.000001")))
        for row in rows
    ]


def _validate_row(position: int, row: NewReferencePrice) -> list[FieldError]:
    found = []
    if row.series not in SERIES:
        found.append(FieldError(f"/{position}/series", f"is not one of {', '.join(SERIES)}"))
    if row.start >= row.end:
        found.append(FieldError(f"/{position}/end", "is not after the start"))
    return found


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
    if query.series not in SERIES:
        raise parameter_error("query", "series", f"is not one of {', '.join(SERIES)}")
    check_order(query.start, query.end)
    await check_as_of(request.db, query.as_of, PRICES)
    prices = await store.list_prices(
        request.db, query.series, query.start, query.end, query.after(datetime), query.limit + 1, query.as_of
    )
    page = query.page(prices, lambda price: price.start)
    return Page([_view_price(price) for price in page.items], page.next_cursor)


def _view_price(price: PublishedPrice) -> ReferencePrice:
    return ReferencePrice(series=price.series, start=price.start, end=price.end, price=price.price.normalize() + 0)


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
