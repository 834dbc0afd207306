"""Entries from calls: every successful change in its own transaction, and those refusals that matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from gridloom.audit.model import ANONYMOUS, Actor, NewAuditRecord
from gridloom.audit.store import insert_entry
from gridloom.database.pool import Database
from gridloom.edge.call import Call
from gridloom.edge.caller import Caller

if TYPE_CHECKING:
    from gridloom.database.commit.single_statement import RowSink


async def record_audit(db: RowSink, call: Call, status: int) -> None:
    """Record a change that is about to be committed; the edge calls this for every audited operation."""
    await insert_entry(db, entry_of(call, status))


def entry_of(call: Call, status: int) -> NewAuditRecord:
    """What is recorded of a call.

    What was sent is not kept, since it may hold secrets: only what the handler put into `call.audit_details`.
    """
    actor = actor_of(call.caller_if_known) if call.caller_if_known is not None else ANONYMOUS
    return _make_entry(call, actor, status, call.audit_details or None)


async def record_denied(
    db: Database, call: Call, status: int, *, actor: Actor = ANONYMOUS, details: dict[str, Any] | None = None
) -> None:
    """Record an attempt that was refused, such as a failed login; it outlives the request's own transaction."""
    await insert_entry(db, _make_entry(call, actor, status, details))


def actor_of(caller: Caller) -> Actor:
    return Actor(caller.kind, caller.organisation_id, caller.id, _name_actor(caller))


def _name_actor(caller: Caller) -> str:
    return caller.username if caller.kind == "USER" else f"{caller.display_name} ({caller.username})"


def _make_entry(call: Call, actor: Actor, status: int, details: dict[str, Any] | None) -> NewAuditRecord:
    named = call.path_values.get("organisation_id")
    concerns_another = isinstance(named, UUID) and named != actor.organisation_id
    return NewAuditRecord(
        actor=actor,
        subject_organisation_id=named if concerns_another else None,
        action=call.operation.operation_id,
        method=call.operation.method,
        resource=call.path,
        status=status,
        address=call.address,
        request_id=call.request_id,
        details=details,
    )
