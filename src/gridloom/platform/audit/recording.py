"""Entries from calls: every successful change in its own transaction, and those refusals that matter."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from gridloom.kernel.ids import uuid7
from gridloom.platform.audit.model import ANONYMOUS, Actor, NewAuditRecord
from gridloom.platform.database.commit import InsertTarget, defer_insert
from gridloom.platform.database.pool import Database
from gridloom.platform.http.caller import Caller
from gridloom.platform.http.request import Request


async def record_audit(db: Database, request: Request, status: int) -> None:
    """Record a change that is about to be committed; the edge calls this for every audited operation."""
    await insert_entry(db, entry_of(request, status))


def entry_of(request: Request, status: int) -> NewAuditRecord:
    """The audit record of a request.

    What was sent is not retained, since it may hold secrets: only what the handler put into `request.audit_details`.
    """
    actor = actor_of(request.caller_if_known) if request.caller_if_known is not None else ANONYMOUS
    return _make_entry(request, actor, status, request.audit_details or None)


async def record_denied(
    db: Database, request: Request, status: int, *, actor: Actor = ANONYMOUS, details: dict[str, Any] | None = None
) -> None:
    """Record an attempt that was refused, such as a failed login; it outlives the request's own transaction."""
    await insert_entry(db, _make_entry(request, actor, status, details))


def actor_of(caller: Caller) -> Actor:
    return Actor(caller.kind, caller.organisation_id, caller.id, _name_actor(caller))


def _name_actor(caller: Caller) -> str:
    return caller.username if caller.kind == "USER" else f"{caller.display_name} ({caller.username})"


def _make_entry(request: Request, actor: Actor, status: int, details: dict[str, Any] | None) -> NewAuditRecord:
    named = request.path_values.get("organisation_id")
    concerns_another = isinstance(named, UUID) and named != actor.organisation_id
    return NewAuditRecord(
        actor=actor,
        subject_organisation_id=named if concerns_another else None,
        action=request.operation.operation_id,
        method=request.operation.method,
        resource=request.path,
        status=status,
        address=request.address,
        request_id=request.request_id,
        details=details,
    )


_COLUMNS = """organisation_id, id, subject_organisation_id, actor_id, actor_kind, actor_name, action, method, resource,
  status, address, request_id, details"""
ENTRY = f"audit_log ({_COLUMNS})"
"""Where an entry goes, for a statement that writes it along with what it tells of; `entry_row` has its values."""
ENTRIES = InsertTarget.of_columns("audit_log", _COLUMNS)


def entry_row(entry: NewAuditRecord) -> tuple[object, ...]:
    return (
        entry.actor.organisation_id,
        uuid7(),
        entry.subject_organisation_id,
        entry.actor.id,
        entry.actor.kind,
        entry.actor.name,
        entry.action,
        entry.method,
        entry.resource,
        entry.status,
        entry.address,
        entry.request_id,
        entry.details,
    )


async def insert_entry(db: Database, entry: NewAuditRecord) -> None:
    """Together with what else the transaction writes last."""
    await defer_insert(db, ENTRIES, entry_row(entry))
