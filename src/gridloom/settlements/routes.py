"""Recording settlements in bulk and listing them, over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, TypeVar
from uuid import UUID

import msgspec
from msgspec import Meta

from gridloom.edge import BULK_BODY_LIMIT, JSON, PARQUET, Call, Instant, Page, Paging, operation
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
        tag=TAG,
        access=access,
        problems=(UnknownSettledAsset, ContradictingRows, *problems),
        consumes=BULK_FORMATS,
        body_limit_bytes=BULK_BODY_LIMIT,
        defers_transaction=True,
        body_schema=_rows_schema(kind),
        body_schema_for=(JSON,),
    )


def _rows_schema(kind: FactKind) -> dict[str, Any]:
    _, components = msgspec.json.schema_components([kind.row], ref_template="#/components/schemas/{name}")
    return {"type": "array", "minItems": 1, "maxItems": MAX_ROWS, "items": components[kind.row.__name__]}


async def _record_facts(call: Call, kind: FactKind, body: bytes) -> Counts:
    # A few bytes of Parquet may stand for as many rows as a request may have.
    is_long = len(body) > SUBPROCESS_MIN_BYTES or call.content_type == PARQUET
    if is_long:
        columns = await run_in_subprocess(call.holder, read_columns, body, kind, call.content_type)
    else:
        columns = await asyncio.to_thread(read_columns, body, kind, call.content_type)
    db = await call.begin()
    recorded = await record_columns(db, kind, columns, _recorder_of(call))
    counts = recorded.counts
    call.audit_details.update(msgspec.to_builtins(counts))
    return counts


def _recorder_of(call: Call) -> Recorder:
    """A settling caller records for every organisation, a trader for its own."""
    if SETTLE in call.caller.permissions:
        return Recorder(call.caller.id)
    return Recorder(call.caller.id, Origin.TRADER, call.caller.organisation_id)


@_declare_bulk(WHOLESALE_TRADES, "Record wholesale trades", (ImplausibleSettlement,), access=TRADE)
async def record_wholesale_trades(call: Call, body: bytes) -> Counts:
    """Known again by asset, trade, period and side: the same row changes nothing, another one corrects it.

    A trade over several periods is a row for each. Traders record the trades of their own virtual assets; a row of the
    operator's prevails, and a trader's after it counts as unchanged. What did not happen is corrected to volume 0. All
    rows are recorded or none.
    """
    return await _record_facts(call, WHOLESALE_TRADES, body)


@_declare_bulk(FCR_AWARDS, "Record FCR awards", (DeliveryBeyondBlock, ImplausibleSettlement))
async def record_fcr(call: Call, body: bytes) -> Counts:
    """Known again by asset, delivery day and product. Prices are per hour; results are published per block.

    All rows are recorded or none.
    """
    return await _record_facts(call, FCR_AWARDS, body)


@_declare_bulk(AFRR_CAPACITY_AWARDS, "Record aFRR capacity awards", (DeliveryBeyondBlock, ImplausibleSettlement))
async def record_afrr_capacity(call: Call, body: bytes) -> Counts:
    """Known again by asset, delivery day and product. All rows are recorded or none."""
    return await _record_facts(call, AFRR_CAPACITY_AWARDS, body)


@_declare_bulk(AFRR_ACTIVATIONS, "Record activated aFRR energy", (ImplausibleSettlement,))
async def record_afrr_energy(call: Call, body: bytes) -> Counts:
    """Known again by asset, period and direction. A positive price is paid to the provider, in both directions.

    All rows are recorded or none.
    """
    return await _record_facts(call, AFRR_ACTIVATIONS, body)


@_declare_bulk(NET_OFFS, "Record netted volumes", (ImplausibleSettlement,))
async def record_net_off(call: Call, body: bytes) -> Counts:
    """Known again by asset and period. All rows are recorded or none."""
    return await _record_facts(call, NET_OFFS, body)


@_declare_bulk(TOLLING_CONTRACTS, "Record tolling contracts")
async def record_tolling_contracts(call: Call, body: bytes) -> Counts:
    """Known again by asset and contract. Tolls on one asset add up, within its life. All rows are recorded or none."""
    return await _record_facts(call, TOLLING_CONTRACTS, body)


# --- lists ---------------------------------------------------------------------------------------------------------


class SettlementQuery(Paging):
    asset_id: Annotated[UUID | None, Meta(description="Only this asset's")] = None
    start: Annotated[Instant | None, Meta(description="Only what ends after this moment")] = None
    end: Annotated[Instant | None, Meta(description="Only what starts before this moment")] = None
    as_of: Annotated[Instant | None, Meta(description="As it was known at this moment")] = None
    versions: Annotated[bool, Meta(description="Also what corrections have replaced, oldest version first")] = False


async def _list_facts(call: Call, query: SettlementQuery, listing: Listing[V]) -> Page[V]:
    if query.start is not None and query.end is not None and query.start >= query.end:
        raise parameter_error("query", "end", "is not after start")
    if query.versions and query.as_of is not None:
        raise parameter_error("query", "as-of", "cannot be combined with versions")
    wanted = store.FactFilter(
        asset_keys=await _asset_keys(call, query.asset_id),
        start=query.start,
        end=query.end,
        all_versions=query.versions,
        as_of=query.as_of,
    )
    rows = await store.list_facts(call.db, listing.kind, wanted, query.after(listing.place), query.limit + 1)
    page = query.page(rows, listing.cursor_of)
    return Page([listing.show(row) for row in page.items], page.next_cursor)


async def _asset_keys(call: Call, asset_id: UUID | None) -> Sequence[int] | None:
    """The operator settles for everyone and sees what it recorded (None: all); others see what they may read."""
    if asset_id is None:
        return None if call.caller.is_operator else await store.settled_keys(call.db, call.caller.organisation_id)
    if not call.caller.is_operator:
        return [(await authorize_asset(call.db, call.caller, asset_id, Permission.READ_REVENUE, kind=None)).key]
    keys = await store.asset_keys(call.db, [asset_id])
    if asset_id not in keys:
        raise NotFound(f"There is no asset {asset_id}.")
    return [keys[asset_id]]


@operation(
    "GET",
    "/settlements/wholesale-trades",
    summary="List wholesale trades",
    tag=TAG,
    access=Permission.READ_REVENUE,
    from_replica=True,
)
async def list_wholesale_trades(call: Call, query: SettlementQuery) -> Page[RecordedWholesaleTrade]:
    """By asset, period, trade and side."""
    return await _list_facts(call, query, WHOLESALE_LISTING)


@operation(
    "GET", "/settlements/fcr", summary="List FCR awards", tag=TAG, access=Permission.READ_REVENUE, from_replica=True
)
async def list_fcr(call: Call, query: SettlementQuery) -> Page[RecordedFCRAward]:
    """By asset, delivery day and product."""
    return await _list_facts(call, query, FCR_LISTING)


@operation(
    "GET",
    "/settlements/afrr-capacity",
    summary="List aFRR capacity awards",
    tag=TAG,
    access=Permission.READ_REVENUE,
    from_replica=True,
)
async def list_afrr_capacity(call: Call, query: SettlementQuery) -> Page[RecordedAFRRCapacityAward]:
    """By asset, delivery day and product."""
    return await _list_facts(call, query, AFRR_CAPACITY_LISTING)


@operation(
    "GET",
    "/settlements/afrr-energy",
    summary="List activated aFRR energy",
    tag=TAG,
    access=Permission.READ_REVENUE,
    from_replica=True,
)
async def list_afrr_energy(call: Call, query: SettlementQuery) -> Page[RecordedAFRRActivation]:
    """By asset, period and direction."""
    return await _list_facts(call, query, AFRR_ENERGY_LISTING)


@operation(
    "GET",
    "/settlements/net-off",
    summary="List netted volumes",
    tag=TAG,
    access=Permission.READ_REVENUE,
    from_replica=True,
)
async def list_net_off(call: Call, query: SettlementQuery) -> Page[RecordedNetOff]:
    """By asset and period."""
    return await _list_facts(call, query, NET_OFF_LISTING)


@operation(
    "GET",
    "/settlements/tolling-contracts",
    summary="List tolling contracts",
    tag=TAG,
    access=Permission.READ_REVENUE,
    from_replica=True,
)
async def list_tolling_contracts(call: Call, query: SettlementQuery) -> Page[RecordedTollingContract]:
    """By asset and contract."""
    return await _list_facts(call, query, TOLLING_LISTING)
