"""The logbook over HTTP."""

from __future__ import annotations

from uuid import UUID

from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import BadRequest, NotFound
from gridloom.logbook import store
from gridloom.logbook.model import EntryCursor, EntrySource, LogbookEntry, LogbookQuery, NewLogbookEntry
from gridloom.platform.http import Page, Request, Response, operation
from gridloom.platform.identity.authorization import PHYSICAL_ASSET, authorize_asset

TAG = "Logbook"
READ = Permission.READ_PHYSICAL_ASSETS
CREATE = Permission.CREATE_LOGBOOK


@operation("GET", PHYSICAL_ASSET + "/logbook", summary="Search an asset's logbook", access=READ, replica_read=True)
async def search_logbook(request: Request, physical_asset_id: UUID, query: LogbookQuery) -> Page[LogbookEntry]:
    """By time, type, tags, text, source and impact; the latest start first."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    if query.start is not None and query.end is not None and query.start >= query.end:
        raise BadRequest.at("query:end", "The window ends before it starts.", "is not after the start")
    found = await store.search_entries(request.db, authorized.key, query, query.after(EntryCursor), query.limit + 1)
    page = query.page(found, lambda found: found.cursor)
    return Page([found.entry for found in page.items], page.next_cursor)


@operation(
    "POST", PHYSICAL_ASSET + "/logbook", summary="Write an entry into an asset's logbook", access=CREATE, status=201
)
async def write_logbook_entry(
    request: Request, physical_asset_id: UUID, body: NewLogbookEntry
) -> Response[LogbookEntry]:
    """An entry cannot be changed or deleted."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, CREATE)
    _check_order(body)
    entry = await store.insert_entry(request.db, authorized.key, body, request.caller.id, EntrySource.USER)
    return _answer_entry(physical_asset_id, entry)


@operation("GET", PHYSICAL_ASSET + "/logbook/{entryID}", summary="Read an entry", access=READ)
async def read_logbook_entry(request: Request, physical_asset_id: UUID, entry_id: UUID) -> LogbookEntry:
    """An entry is never changed; a correction is an entry of its own that names it in `correctsID`."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    return await _require_entry(request, authorized.key, entry_id)


@operation(
    "POST",
    PHYSICAL_ASSET + "/logbook/{entryID}/corrections",
    summary="Correct an entry by writing another",
    access=CREATE,
    status=201,
    location=PHYSICAL_ASSET + "/logbook/{id}",
)
async def correct_logbook_entry(
    request: Request, physical_asset_id: UUID, entry_id: UUID, body: NewLogbookEntry
) -> Response[LogbookEntry]:
    """The entry stays as it is; the new one names it in `correctsID`."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, CREATE)
    await _require_entry(request, authorized.key, entry_id)
    _check_order(body)
    entry = await store.insert_entry(request.db, authorized.key, body, request.caller.id, EntrySource.USER, entry_id)
    return _answer_entry(physical_asset_id, entry)


async def _require_entry(request: Request, asset_key: int, entry_id: UUID) -> LogbookEntry:
    entry = await store.read_entry(request.db, asset_key, entry_id)
    if entry is None:
        raise NotFound(f"The asset's logbook has no entry {entry_id}.")
    return entry


def _check_order(body: NewLogbookEntry) -> None:
    if body.end is not None and body.start >= body.end:
        raise BadRequest.at("/end", "The entry ends before it starts.", "is not after the start")


def _answer_entry(asset_id: UUID, entry: LogbookEntry) -> Response[LogbookEntry]:
    return Response(entry)
