"""Reading the audit log over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from gridloom.audit import store
from gridloom.audit.model import NOBODY, Entry, Filter
from gridloom.edge import Call, Instant, Page, Paging, View, operation
from gridloom.edge.wire import parameter_refused
from gridloom.kernel.permission import Permission


class AuditEntry(View):
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


class AuditQuery(Paging):
    start: Annotated[Instant | None, Meta(description="Not before this moment")] = None
    end: Annotated[Instant | None, Meta(description="Before this moment")] = None
    actor_id: Annotated[UUID | None, Meta(description="Only what this user or API key did")] = None
    resource: Annotated[str, Meta(max_length=500, description="Only this path and what lies below it")] | None = None
    action: Annotated[str, Meta(max_length=200, description="Only this operationId")] | None = None


@operation(
    "GET", "/audit-log", summary="Who did what", tag="Audit", access=Permission.MANAGE_ORGANISATION, from_replica=True
)
async def list_audit_log(call: Call, query: AuditQuery) -> Page[AuditEntry]:
    """The newest first. The operator sees everything; any other organisation what it did and what was done to it."""
    if query.start is not None and query.end is not None and query.start >= query.end:
        raise parameter_refused("query", "end", "is not after start")
    entries = await store.list_entries(
        call.pool,
        visible_to=None if call.caller.is_operator else call.caller.organisation_id,
        wanted=Filter(
            query.start, query.end, query.actor_id, query.resource and query.resource.rstrip("/"), query.action
        ),
        before=query.after(int),
        limit=query.limit + 1,
    )
    page = query.page(entries, lambda entry: entry.sequence)
    return Page([_show_entry(entry) for entry in page.items], page.next_cursor)


def _show_entry(found: Entry) -> AuditEntry:
    entry, actor = found.entry, found.entry.actor
    return AuditEntry(
        id=found.id,
        time=found.occurred_at,
        organisation_id=None if actor.organisation_id == NOBODY else actor.organisation_id,
        organisation_name=found.organisation_name,
        actor_id=actor.id,
        actor_kind=actor.kind,  # type: ignore[arg-type]
        actor_name=actor.name,
        action=entry.action,
        method=entry.method,
        resource=entry.resource,
        status=entry.status,
        address=entry.address,
        request_id=entry.request_id,
        details=entry.details,
    )
