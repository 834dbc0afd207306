"""Recording settlements in bulk and listing them, over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

import msgspec

from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import NotFound, Problem
from gridloom.physical_assets.window_query import check_order
from gridloom.platform.http import BULK, PARQUET, BodyFormat, Instant, Page, Paging, Request, operation
from gridloom.platform.http.fields import parameter_error
from gridloom.platform.http.long_bodies.decoder_process import SUBPROCESS_MIN_BYTES, run_in_subprocess
from gridloom.platform.identity.authorization import authorize_asset
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
from gridloom.settlements.views import Listing, RecordedFact

TAG = "Settlements"
H = TypeVar("H", bound=Callable[..., Awaitable[Any]])

SETTLE = Permission.CREATE_SETTLEMENTS
TRADE = Permission.CREATE_TRADES


@dataclass(frozen=True, slots=True)
class FactOperations:
    """The two operations of a kind of fact: recording it in bulk, and listing it."""

    kind: FactKind
    name: str
    """Of the handlers `record_…` and `list_…`, and so of the operations."""
    noun: str
    known_by: str
    """The key of a row; lists are in this order."""
    order: str
    more: str = ""
    problems: tuple[type[Problem], ...] = (ImplausibleSettlement,)
    access: Permission = SETTLE


FACT_OPERATIONS: Final = (
    FactOperations(
        WHOLESALE_TRADES,
        "wholesale_trades",
        "wholesale trades",
        "asset, trade, period and side: the same row changes nothing, another one corrects it",
        "asset, period, trade and side",
        """

A trade over several periods is a row for each. Traders record the trades of their own virtual assets; a row of the
operator's prevails, and a trader's after it counts as unchanged. What did not happen is corrected to volume 0.""",
        access=TRADE,
    ),
    FactOperations(
        FCR_AWARDS,
        "fcr",
        "FCR awards",
        "asset, delivery day and product",
        "asset, delivery day and product",
        " Prices are per hour; results are published per block.\n\n",
        problems=(DeliveryBeyondBlock, ImplausibleSettlement),
    ),
    FactOperations(
        AFRR_CAPACITY_AWARDS,
        "afrr_capacity",
        "aFRR capacity awards",
        "asset, delivery day and product",
        "asset, delivery day and product",
        problems=(DeliveryBeyondBlock, ImplausibleSettlement),
    ),
    FactOperations(
        AFRR_ACTIVATIONS,
        "afrr_energy",
        "activated aFRR energy",
        "asset, period and direction",
        "asset, period and direction",
        " A positive price is paid to the provider, in both directions.\n\n",
    ),
    FactOperations(NET_OFFS, "net_off", "netted volumes", "asset and period", "asset and period"),
    FactOperations(
        TOLLING_CONTRACTS,
        "tolling_contracts",
        "tolling contracts",
        "asset and contract",
        "asset and contract",
        " Tolls on one asset add up, within its life.",
        problems=(),
    ),
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


# --- lists ---------------------------------------------------------------------------------------------------------


class SettlementQuery(Paging):
    asset_id: UUID | None = None
    start: Instant | None = None
    end: Instant | None = None
    as_of: Instant | None = None
    versions: bool = False


async def _list_facts(request: Request, query: SettlementQuery, listing: Listing) -> Page[RecordedFact]:
    check_order(query.start, query.end)
    if query.versions and query.as_of is not None:
        raise parameter_error("query", "as-of", "cannot be combined with versions")
    wanted = store.FactFilter(
        asset_keys=await _asset_keys(request, query.asset_id),
        start=query.start,
        end=query.end,
        all_versions=query.versions,
        as_of=query.as_of,
    )
    rows = await store.list_facts(request.db, listing.kind, wanted, query.after(listing.cursor), query.limit + 1)
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


# --- the operations, from the table -----------------------------------------------------------------------------------


def _declare_recording(fact: FactOperations) -> Callable[..., Awaitable[Counts]]:
    """Raw bytes, decoded and checked before the transaction starts."""

    async def record(request: Request, body: bytes) -> Counts:
        return await _record_facts(request, fact.kind, body)

    record.__doc__ = f"Known again by {fact.known_by}.{fact.more.rstrip(' ')} All rows are recorded or none."
    record.__annotations__["body"] = Annotated[bytes, _format_rows(fact.kind)]
    return operation(
        "POST",
        f"/settlements/{fact.kind.path}",
        summary=f"Record {fact.noun}",
        access=fact.access,
        problems=(UnknownSettledAsset, ContradictingRows, *fact.problems),
        transaction="manual",
    )(_name_handler(record, f"record_{fact.name}"))


def _declare_listing(fact: FactOperations) -> Callable[..., Awaitable[Page[Any]]]:
    listing = Listing.of(fact.kind)

    async def list_recorded(request: Request, query: SettlementQuery) -> Page[Any]:
        return await _list_facts(request, query, listing)

    list_recorded.__doc__ = f"By {fact.order}."
    list_recorded.__annotations__["return"] = Page[listing.view]  # type: ignore[name-defined]
    return operation(
        "GET",
        f"/settlements/{fact.kind.path}",
        summary=f"List {fact.noun}",
        access=Permission.READ_REVENUE,
        replica_read=True,
    )(_name_handler(list_recorded, f"list_{fact.name}"))


def _name_handler(handler: H, name: str) -> H:
    """A handler's name is its operation's, and where another process finds it."""
    handler.__name__ = handler.__qualname__ = name
    globals()[name] = handler
    return handler


for _fact in FACT_OPERATIONS:
    _declare_recording(_fact)
for _fact in FACT_OPERATIONS:
    _declare_listing(_fact)
