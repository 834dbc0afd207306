"""Bids for balancing products and their results over HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from itertools import groupby
from operator import attrgetter
from uuid import UUID

from gridloom.ancillary import result_store, rules, store
from gridloom.ancillary.bid_placement import BiddingRules, place_bids, withdraw_bid
from gridloom.ancillary.gates import TenderGates
from gridloom.ancillary.model import (
    Bid,
    BidsQuery,
    BidStatus,
    NewBids,
    NewResults,
    ProductBids,
    ProductCursor,
    ProductKeysQuery,
    ProductResults,
    Result,
    ResultsQuery,
)
from gridloom.ancillary.products import AncillaryMarket, ProductKey, capacity_block_around
from gridloom.ancillary.result_recording import ResultsAsset, record_results
from gridloom.ancillary.result_store import StoredResult
from gridloom.ancillary.rules import (
    BidIdTaken,
    BidNotStanding,
    ContradictsResult,
    LotSizeViolated,
    PricesDoNotFitProduct,
    ProductGateClosed,
    ProductGateNotOpen,
    ResultDoesNotFitBid,
    ResultKnown,
    UnknownBids,
)
from gridloom.ancillary.store import StoredBid
from gridloom.capacity.model import ReserveMinutes
from gridloom.capacity.rules import CapacityNotAvailable, CapacityTaken
from gridloom.kernel.permission import Permission
from gridloom.physical_assets.rules import AssetNotActive
from gridloom.platform.http import Page, Request, operation
from gridloom.platform.http.fields import view_of
from gridloom.platform.identity.authorization import PHYSICAL_ASSET, authorize_asset

TAG = "Ancillary services"
_PRODUCT = attrgetter("delivery_day", "product")
READ = Permission.READ_PHYSICAL_ASSETS
CREATE_BIDS = Permission.CREATE_ANCILLARY_BIDS
CREATE_RESULTS = Permission.CREATE_ANCILLARY_RESULTS

LIVE = frozenset({BidStatus.OFFERED, BidStatus.ACCEPTED, BidStatus.REJECTED})


@operation(
    "GET",
    PHYSICAL_ASSET + "/ancillary/bids-without-result",
    summary="Read the bids that wait for their result",
    access=READ,
)
async def list_bids_without_result(
    request: Request, physical_asset_id: UUID, query: ProductKeysQuery
) -> list[ProductBids]:
    """One entry per distinct product key, in the order asked; a key for which no bid waits has an empty list."""
    keys = rules.asked_keys(query.product_keys)
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    waiting = await store.read_pending_bids(request.db, authorized.key, keys.values())
    return [
        ProductBids(
            delivery_day=key.delivery_day,
            product=key.product.code,
            product_date_code=text,
            bids=waiting.get((key.delivery_day, key.product.code), []),
        )
        for text, key in keys.items()
    ]


@operation(
    "GET", PHYSICAL_ASSET + "/ancillary/bids-by-product-keys", summary="Read all bids for some products", access=READ
)
async def list_bids_by_product_keys(
    request: Request, physical_asset_id: UUID, query: ProductKeysQuery
) -> list[ProductBids]:
    """One entry per distinct product key, in the order asked, with every bid ever made for it.

    An aFRR energy product without a bid of its own lists the accepted aFRR capacity bid that counts for it.
    """
    keys = rules.asked_keys(query.product_keys)
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    blocks = [capacity_block_around(key) for key in keys.values() if key.product.market is AncillaryMarket.AFRR_ENERGY]
    found: dict[tuple[date, str], list[StoredBid]] = {}
    for bid in await store.list_of_products(request.db, authorized.key, [*keys.values(), *blocks]):
        found.setdefault((bid.delivery_day, bid.product), []).append(bid)
    return [_view_entry(key.delivery_day, key.product.code, _bids_for(key, found)) for key in keys.values()]


@operation(
    "POST",
    PHYSICAL_ASSET + "/ancillary/bids",
    summary="Place bids",
    access=CREATE_BIDS,
    status=201,
    location=PHYSICAL_ASSET + "/ancillary/bids",
    problems=(
        ProductGateClosed,
        ProductGateNotOpen,
        LotSizeViolated,
        PricesDoNotFitProduct,
        CapacityNotAvailable,
        CapacityTaken,
        ResultKnown,
        BidIdTaken,
        AssetNotActive,
    ),
)
async def place_ancillary_bids(request: Request, physical_asset_id: UUID, body: NewBids) -> list[ProductBids]:
    """All of them or none. The bids for a product are its price steps: together they replace what stood for it, which
    is stored as history. What they offer must be free of the battery, with the energy that serves it."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, CREATE_BIDS)
    desk = BiddingRules(request.resources[TenderGates], request.resources[ReserveMinutes])
    placed = await place_bids(request.db, authorized.key, physical_asset_id, body, request.caller.id, desk)
    return [
        _view_entry(entry.delivery_day, entry.product, [one.bid for one in bids])
        for entry, bids in zip(body, placed, strict=True)
    ]


@operation("GET", PHYSICAL_ASSET + "/ancillary/bids", summary="List bids", access=READ, replica_read=True)
async def list_ancillary_bids(request: Request, physical_asset_id: UUID, query: BidsQuery) -> Page[ProductBids]:
    """Product by product, the latest delivery day first; `limit` counts products."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    rows = await store.list_bids(request.db, authorized.key, query, query.after(ProductCursor), query.limit + 1)
    entries = [_view_entry(day, product, list(bids)) for (day, product), bids in groupby(rows, _PRODUCT)]
    return query.page(entries, lambda entry: ProductCursor(entry.delivery_day, entry.product))


@operation(
    "DELETE",
    PHYSICAL_ASSET + "/ancillary/bids/{bidID}",
    summary="Withdraw a bid",
    access=CREATE_BIDS,
    problems=(ProductGateClosed, BidNotStanding),
)
async def withdraw_ancillary_bid(request: Request, physical_asset_id: UUID, bid_id: UUID) -> None:
    """Before its gate closes. The bid is stored as `WITHDRAWN`; withdrawing it again changes nothing."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, CREATE_BIDS)
    await withdraw_bid(request.db, authorized.key, bid_id, request.resources[TenderGates])


@operation(
    "POST",
    PHYSICAL_ASSET + "/ancillary/results",
    summary="Record results",
    access=CREATE_RESULTS,
    status=201,
    location=PHYSICAL_ASSET + "/ancillary/results",
    problems=(
        UnknownBids,
        ResultDoesNotFitBid,
        LotSizeViolated,
        ContradictsResult,
        BidNotStanding,
        CapacityTaken,
        CapacityNotAvailable,
    ),
)
async def record_ancillary_results(request: Request, physical_asset_id: UUID, body: NewResults) -> list[ProductResults]:
    """All of them or none. The same result again changes nothing; another one needs `correction: true`, and what it
    corrects is stored in the audit log. What was not accepted is free again; a correction that takes more must find it
    free."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, CREATE_RESULTS)
    asset = ResultsAsset(authorized.key, physical_asset_id, authorized.organisation_id)
    recorded = await record_results(request.db, asset, body, request.caller.id, request.resources[ReserveMinutes])
    if recorded.corrections:
        request.audit_details["corrected"] = recorded.corrections
    return [_results_entry(key.delivery_day, key.product.code, results) for key, results in recorded.by_entry]


@operation("GET", PHYSICAL_ASSET + "/ancillary/results", summary="List results", access=READ, replica_read=True)
async def list_ancillary_results(
    request: Request, physical_asset_id: UUID, query: ResultsQuery
) -> Page[ProductResults]:
    """Product by product, the latest delivery day first, each result as it is known now; `limit` counts products."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    rows = await result_store.list_results(
        request.db, authorized.key, query, query.after(ProductCursor), query.limit + 1
    )
    entries = [_results_entry(day, product, list(results)) for (day, product), results in groupby(rows, _PRODUCT)]
    return query.page(entries, lambda entry: ProductCursor(entry.delivery_day, entry.product))


def _day_and_code(key: ProductKey) -> tuple[date, str]:
    return key.delivery_day, key.product.code


def _bids_for(key: ProductKey, found: dict[tuple[date, str], list[StoredBid]]) -> Sequence[StoredBid]:
    own = found.get(_day_and_code(key), [])
    if key.product.market is not AncillaryMarket.AFRR_ENERGY or any(bid.status in LIVE for bid in own):
        return own
    block = found.get(_day_and_code(capacity_block_around(key)), [])
    return [*own, *(bid for bid in block if bid.status is BidStatus.ACCEPTED)]


def _view_entry(delivery_day: date, product: str, bids: Iterable[StoredBid]) -> ProductBids:
    return ProductBids(
        delivery_day=delivery_day,
        product=product,
        product_date_code=f"{delivery_day.isoformat()}_{product}",
        bids=[view_of(Bid, bid) for bid in bids],
    )


def _results_entry(delivery_day: date, product: str, results: Iterable[StoredResult]) -> ProductResults:
    return ProductResults(
        delivery_day=delivery_day,
        product=product,
        product_date_code=f"{delivery_day.isoformat()}_{product}",
        results=[view_of(Result, result) for result in results],
    )
