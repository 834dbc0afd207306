"""The audit log in the database: inserts and reads, for there is nothing else one may do with it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import asyncpg

from gridloom.audit.model import NIL_ID, Actor, AuditFilter, AuditRecord, NewAuditRecord
from gridloom.database.commit.deferred_rows import defer_insert
from gridloom.database.commit.insert_target import InsertTarget
from gridloom.database.pool import Pool
from gridloom.kernel.ids import uuid7

if TYPE_CHECKING:
    from gridloom.database.commit.single_statement import RowSink

_COLUMNS = (
    "organisation_id",
    "id",
    "subject_organisation_id",
    "actor_id",
    "actor_kind",
    "actor_name",
    "action",
    "method",
    "resource",
    "status",
    "address",
    "request_id",
    "details",
)
ENTRY = f"audit_log ({', '.join(_COLUMNS)})"
"""Where an entry goes, for a statement that writes it along with what it tells of; `entry_row` has its values."""
_ENTRIES = InsertTarget("audit_log", [(name, "{}") for name in _COLUMNS])


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


async def insert_entry(db: RowSink, entry: NewAuditRecord) -> None:
    """Together with what else the transaction writes last."""
    await defer_insert(db, _ENTRIES, entry_row(entry))


async def list_entries(
    pool: Pool, *, visible_to: UUID | None, wanted: AuditFilter, before: int | None, limit: int
) -> list[AuditRecord]:
    """The newest first. visible_to: an organisation, which sees what it did and what was done to it; None sees all."""
    async with pool.acquire(timeout=5) as connection, connection.transaction(readonly=True):
        # Which index helps depends on which filters are given, so each question gets a plan of its own.
        await connection.execute("set local plan_cache_mode = force_custom_plan")
        rows = await connection.fetch(
            """
            select a.sequence, a.id, a.occurred_at, a.organisation_id, a.subject_organisation_id, a.actor_id,
                   a.actor_kind, a.actor_name, a.action, a.method, a.resource, a.status, a.address, a.request_id,
                   a.details, o.name as organisation_name
            from audit_log a left join organisation o on o.id = a.organisation_id
            where ($1::uuid is null or a.organisation_id = $1 or a.subject_organisation_id = $1)
              and ($2::bigint is null or a.sequence < $2)
              and ($3::timestamptz is null or a.occurred_at >= $3)
              and ($4::timestamptz is null or a.occurred_at < $4)
              and ($5::uuid is null or a.actor_id = $5)
              and ($6::text is null or a.resource = $6 or starts_with(a.resource, $6 || '/'))
              and ($7::text is null or a.action = $7)
            order by a.sequence desc limit $8
            """,
            visible_to,
            before,
            wanted.start,
            wanted.end,
            wanted.actor_id,
            wanted.resource,
            wanted.action,
            limit,
        )
    return [_read_entry_row(row) for row in rows]


def _read_entry_row(row: asyncpg.Record) -> AuditRecord:
    actor = Actor(row["actor_kind"], row["organisation_id"] or NIL_ID, row["actor_id"], row["actor_name"])
    entry = NewAuditRecord(
        actor=actor,
        subject_organisation_id=row["subject_organisation_id"],
        action=row["action"],
        method=row["method"],
        resource=row["resource"],
        status=row["status"],
        address=row["address"],
        request_id=row["request_id"],
        details=row["details"],
    )
    return AuditRecord(row["sequence"], row["id"], row["occurred_at"], entry, row["organisation_name"])
