"""Reading the audit log over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pyarrow as pa
from msgspec import Meta

from gridloom.kernel.permission import Permission
from gridloom.platform.audit import store
from gridloom.platform.audit.model import NIL_ID, AuditFilter, AuditRecord
from gridloom.platform.http import (
    CSV,
    JSON,
    NDJSON,
    PARQUET,
    Page,
    PagedWindow,
    Request,
    ResponseBody,
    Stream,
    operation,
    to_json,
)
from gridloom.platform.http.fields import parameter_error, view_of
from gridloom.platform.http.tables import stream_table

TAG = "Audit"


class AuditEntry(ResponseBody):
    """One action: who, what, to which resource, when, from where, and how it ended."""

    id: UUID
    time: datetime
    organisation_id: UUID | None
    organisation_name: str | None
    actor_id: UUID | None
    actor_kind: Literal["USER", "API_KEY", "ANONYMOUS", "SYSTEM"]
    actor_name: str | None
    action: str
    method: str
    resource: str
    status: int
    address: str | None
    request_id: str | None = msgspec.field(name="requestId")
    details: dict[str, Any] | None


class AuditQuery(PagedWindow):
    actor_id: UUID | None = None
    resource: Annotated[str, Meta(max_length=500)] | None = None
    action: Annotated[str, Meta(max_length=200)] | None = None


_COLUMNS = pa.schema(
    [
        ("id", pa.string()),
        ("time", pa.timestamp("ms", "UTC")),
        ("organisationID", pa.string()),
        ("organisationName", pa.string()),
        ("actorID", pa.string()),
        ("actorKind", pa.string()),
        ("actorName", pa.string()),
        ("action", pa.string()),
        ("method", pa.string()),
        ("resource", pa.string()),
        ("status", pa.int16()),
        ("address", pa.string()),
        ("requestId", pa.string()),
        ("details", pa.string()),
    ]
)
MAX_ENTRIES_AT_ONCE = 1000


@operation(
    "GET",
    "/audit-log",
    summary="List the audit log",
    access=Permission.MANAGE_ORGANISATION,
    produces=(JSON, CSV, NDJSON, PARQUET),
    response_schema=list[AuditEntry],
    replica_read=True,
    costly_as=(CSV, NDJSON, PARQUET),
)
async def list_audit_log(request: Request, query: AuditQuery) -> Page[AuditEntry] | Stream:
    """The newest first. The operator sees everything but bids and valuations; any other organisation what it did
    and what was done to it.

    A table (CSV, NDJSON, Parquet) has every entry the filters leave, whatever `limit` says; `details` is JSON text.
    """
    if query.start is not None and query.end is not None and query.start >= query.end:
        raise parameter_error("query", "end", "is not after start")
    if request.accepts == NDJSON:
        headers = {"Content-Disposition": 'attachment; filename="audit-log.ndjson"'}
        return Stream(_stream_lines(request, query), NDJSON, headers)
    if request.accepts != JSON:
        return stream_table(request.accepts, _COLUMNS, _stream_batches(request, query), file_name="audit-log")
    entries = await _read_entries(request, query, before=query.after(int), limit=query.limit + 1)
    page = query.page(entries, lambda entry: entry.sequence)
    return Page([_show_entry(entry) for entry in page.items], page.next_cursor)


async def _read_entries(request: Request, query: AuditQuery, *, before: int | None, limit: int) -> list[AuditRecord]:
    return await store.list_entries(
        request.pool,
        reader_id=request.caller.organisation_id,
        is_operator=request.caller.is_operator,
        wanted=AuditFilter(
            query.start, query.end, query.actor_id, query.resource and query.resource.rstrip("/"), query.action
        ),
        before=before,
        limit=limit,
    )


async def _stream_entries(request: Request, query: AuditQuery) -> AsyncIterator[list[AuditEntry]]:
    """Some at a time, from the newest on: memory stays flat however long the log is."""
    before = query.after(int)
    while True:
        entries = await _read_entries(request, query, before=before, limit=MAX_ENTRIES_AT_ONCE)
        yield [_show_entry(entry) for entry in entries]
        if len(entries) < MAX_ENTRIES_AT_ONCE:
            return
        before = entries[-1].sequence


async def _stream_lines(request: Request, query: AuditQuery) -> AsyncIterator[bytes]:
    async for entries in _stream_entries(request, query):
        yield b"".join(to_json(entry) + b"\n" for entry in entries)


async def _stream_batches(request: Request, query: AuditQuery) -> AsyncIterator[pa.RecordBatch]:
    async for entries in _stream_entries(request, query):
        yield pa.RecordBatch.from_pylist([_write_row(entry) for entry in entries], schema=_COLUMNS)


def _write_row(entry: AuditEntry) -> dict[str, Any]:
    row: dict[str, Any] = msgspec.to_builtins(entry, builtin_types=(datetime,))
    row["details"] = None if entry.details is None else to_json(entry.details).decode()
    return row


def _show_entry(found: AuditRecord) -> AuditEntry:
    actor = found.entry.actor
    return view_of(
        AuditEntry,
        found.entry,
        id=found.id,
        time=found.occurred_at,
        organisation_id=None if actor.organisation_id == NIL_ID else actor.organisation_id,
        organisation_name=found.organisation_name,
        actor_id=actor.id,
        actor_kind=actor.kind,
        actor_name=actor.name,
    )
