"""Recording settlements in bulk and listing them, over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Annotated, TypeVar
from uuid import UUID

import msgspec
from msgspec import Meta

from gridloom.edge import BULK, PARQUET, BodyFormat, Instant, Page, Paging, Request, operation
from gridloom.edge.decode.decoder_process import SUBPROCESS_MIN_BYTES, run_in_subprocess
from gridloom.edge.fields import parameter_error
from gridloom.identity.authorization import authorize_asset
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import NotFound, Problem
from gridloom.settlements import store
from gridloom.settlements.capability_checks import ImplausibleSettlement
from gridloom.settlements.decoding import BULK_FORMATS, MAX_ROWS
from gridloom.settlements.model import (
    AFRR_ACTIVATIONS,
    AFRR_CAPACITY_AWARDS,
    FCR_AWARDS,
    NET_OFFS,
    TOLLING_CONTRACTS,
    WHOLESALE_TRADES,
    Counts,
    FactKind,
    Origin,
)
from gridloom.settlements.recording import Recorder, record_columns
from gridloom.settlements.rules import ContradictingRows, DeliveryBeyondBlock, UnknownSettledAsset, read_columns
from gridloom.settlements.views import (
    AFRR_CAPACITY_LISTING,
    AFRR_ENERGY_LISTING,
    FCR_LISTING,
    NET_OFF_LISTING,
    TOLLING_LISTING,
    WHOLESALE_LISTING,
    Listing,
    RecordedAFRRActivation,
    RecordedAFRRCapacityAward,
    RecordedFCRAward,
    RecordedNetOff,
    RecordedTollingContract,
    RecordedWholesaleTrade,
    V,
)

TAG = "Settlements"
SETTLE = Permission.CREATE_SETTLEMENTS
TRADE = Permission.CREATE_TRADES

H = TypeVar("H", bound=Callable[..., Awaitable[Counts]])


def _declare_bulk(
    kind: FactKind, summary: str, problems: tuple[type[Problem], ...] = (), access: Permission = SETTLE
) -> Callable[[H], H]:
    """The declaration that the six kinds share: raw bytes, decoded and checked before the transaction starts."""
    return operation(
        "POST",
        f"/settlements/{kind.path}",
        summary=summary,
        access=access,
        problems=(UnknownSettledAsset, ContradictingRows, *problems),
        transaction="manual",
    )


def _format_rows(kind: FactKind) -> BodyFormat:
    _, components = msgspec.json.schema_components([kind.row], ref_template="#/components/schemas/{name}")
    schema = {"type": "array", "minItems": 1, "maxItems": MAX_ROWS, "items": components[kind.row.__name__]}
    return replace(BULK, media_types=BULK_FORMATS, schema=schema)


async def _record_facts(request: Request, kind: FactKind, body: bytes) -> Counts:
    # A few bytes of Parquet may stand for as many rows as a request may have.
    is_long = len(body) > SUBPROCESS_MIN_BYTES or request.content_type == PARQUET
    if is_long:
        columns = await run_in_subprocess(request.holder, read_columns, body, kind, request.content_type)
    else:
        columns = await asyncio.to_thread(read_columns, body, kind, request.content_type)
    db = await request.begin()
    recorded = await record_columns(db, kind, columns, _recorder_of(request))
    counts = recorded.counts
    request.audit_details.update(msgspec.to_builtins(counts))
    return counts


def _recorder_of(request: Request) -> Recorder:
    """A settling caller records for every organisation, a trader for its own."""
    if SETTLE in request.caller.permissions:
        return Recorder(request.caller.id)
    return Recorder(request.caller.id, Origin.TRADER, request.caller.organisation_id)


@_declare_bulk(WHOLESALE_TRADES, "Record wholesale trades", (ImplausibleSettlement,), access=TRADE)
async def record_wholesale_trades(request: Request, body: Annotated[bytes, _format_rows(WHOLESALE_TRADES)]) -> Counts:
    """Known again by asset, trade, period and side: the same row changes nothing, another one corrects it.

    A trade over several periods is a row for each. Traders record the trades of their own virtual assets; a row of the
    operator's prevails, and a trader's after it counts as unchanged. What did not happen is corrected to volume 0. All
    rows are recorded or none.
    """
    return await _record_facts(request, WHOLESALE_TRADES, body)


@_declare_bulk(FCR_AWARDS, "Record FCR awards", (DeliveryBeyondBlock, ImplausibleSettlement))
async def record_fcr(request: Request, body: Annotated[bytes, _format_rows(FCR_AWARDS)]) -> Counts:
    """Known again by asset, delivery day and product. Prices are per hour; results are published per block.

    All rows are recorded or none.
    """
    return await _record_facts(request, FCR_AWARDS, body)


@_declare_bulk(AFRR_CAPACITY_AWARDS, "Record aFRR capacity awards", (DeliveryBeyondBlock, ImplausibleSettlement))
async def record_afrr_capacity(request: Request, body: Annotated[bytes, _format_rows(AFRR_CAPACITY_AWARDS)]) -> Counts:
    """Known again by asset, delivery day and product. All rows are recorded or none."""
    return await _record_facts(request, AFRR_CAPACITY_AWARDS, body)


@_declare_bulk(AFRR_ACTIVATIONS, "Record activated aFRR energy", (ImplausibleSettlement,))
async def record_afrr_energy(request: Request, body: Annotated[bytes, _format_rows(AFRR_ACTIVATIONS)]) -> Counts:
    """Known again by asset, period and direction. A positive price is paid to the provider, in both directions.

    All rows are recorded or none.
    """
    return await _record_facts(request, AFRR_ACTIVATIONS, body)


@_declare_bulk(NET_OFFS, "Record netted volumes", (ImplausibleSettlement,))
async def record_net_off(request: Request, body: Annotated[bytes, _format_rows(NET_OFFS)]) -> Counts:
    """Known again by asset and period. All rows are recorded or none."""
    return await _record_facts(request, NET_OFFS, body)


@_declare_bulk(TOLLING_CONTRACTS, "Record tolling contracts")
async def record_tolling_contracts(request: Request, body: Annotated[bytes, _format_rows(TOLLING_CONTRACTS)]) -> Counts:
    """Known again by asset and contract. Tolls on one asset add up, within its life. All rows are recorded or none."""
    return await _record_facts(request, TOLLING_CONTRACTS, body)


# --- lists ---------------------------------------------------------------------------------------------------------


class SettlementQuery(Paging):
    asset_id: Annotated[UUID | None, Meta(description="Only this asset's")] = None
    start: Annotated[Instant | None, Meta(description="Only what ends after this moment")] = None
    end: Annotated[Instant | None, Meta(description="Only what starts before this moment")] = None
    as_of: Annotated[Instant | None, Meta(description="As it was known at this moment")] = None
    versions: Annotated[bool, Meta(description="Also what corrections have replaced, oldest version first")] = False


async def _list_facts(request: Request, query: SettlementQuery, listing: Listing[V]) -> Page[V]:
    if query.start is not None and query.end is not None and query.start >= query.end:
        raise parameter_error("query", "end", "is not after start")
    if query.versions and query.as_of is not None:
        raise parameter_error("query", "as-of", "cannot be combined with versions")
    wanted = store.FactFilter(
        asset_keys=await _asset_keys(request, query.asset_id),
        start=query.start,
        end=query.end,
        all_versions=query.versions,
        as_of=query.as_of,
    )
    rows = await store.list_facts(request.db, listing.kind, wanted, query.after(listing.place), query.limit + 1)
    page = query.page(rows, listing.cursor_of)
    return Page([listing.show(row) for row in page.items], page.next_cursor)


async def _asset_keys(request: Request, asset_id: UUID | None) -> Sequence[int] | None:
    """The operator settles for everyone and sees what it recorded (None: all); others see what they may read."""
    if asset_id is None:
        return (
            None if request.caller.is_operator else await store.settled_keys(request.db, request.caller.organisation_id)
        )
    if not request.caller.is_operator:
        return [(await authorize_asset(request.db, request.caller, asset_id, Permission.READ_REVENUE, kind=None)).key]
    keys = await store.asset_keys(request.db, [asset_id])
    if asset_id not in keys:
        raise NotFound(f"There is no asset {asset_id}.")
    return [keys[asset_id]]


@operation(
    "GET",
    "/settlements/wholesale-trades",
    summary="List wholesale trades",
    access=Permission.READ_REVENUE,
    replica_read=True,
)
async def list_wholesale_trades(request: Request, query: SettlementQuery) -> Page[RecordedWholesaleTrade]:
    """By asset, period, trade and side."""
    return await _list_facts(request, query, WHOLESALE_LISTING)


@operation("GET", "/settlements/fcr", summary="List FCR awards", access=Permission.READ_REVENUE, replica_read=True)
async def list_fcr(request: Request, query: SettlementQuery) -> Page[RecordedFCRAward]:
    """By asset, delivery day and product."""
    return await _list_facts(request, query, FCR_LISTING)


@operation(
    "GET",
    "/settlements/afrr-capacity",
    summary="List aFRR capacity awards",
    access=Permission.READ_REVENUE,
    replica_read=True,
)
async def list_afrr_capacity(request: Request, query: SettlementQuery) -> Page[RecordedAFRRCapacityAward]:
    """By asset, delivery day and product."""
    return await _list_facts(request, query, AFRR_CAPACITY_LISTING)


@operation(
    "GET",
    "/settlements/afrr-energy",
    summary="List activated aFRR energy",
    access=Permission.READ_REVENUE,
    replica_read=True,
)
async def list_afrr_energy(request: Request, query: SettlementQuery) -> Page[RecordedAFRRActivation]:
    """By asset, period and direction."""
    return await _list_facts(request, query, AFRR_ENERGY_LISTING)


@operation(
    "GET",
    "/settlements/net-off",
    summary="List netted volumes",
    access=Permission.READ_REVENUE,
    replica_read=True,
)
async def list_net_off(request: Request, query: SettlementQuery) -> Page[RecordedNetOff]:
    """By asset and period."""
    return await _list_facts(request, query, NET_OFF_LISTING)


@operation(
    "GET",
    "/settlements/tolling-contracts",
    summary="List tolling contracts",
    access=Permission.READ_REVENUE,
    replica_read=True,
)
async def list_tolling_contracts(request: Request, query: SettlementQuery) -> Page[RecordedTollingContract]:
    """By asset and contract."""
    return await _list_facts(request, query, TOLLING_LISTING)
