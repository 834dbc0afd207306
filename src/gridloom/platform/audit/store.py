"""The audit log as it is read from the database."""

from __future__ import annotations

from uuid import UUID

import asyncpg

from gridloom.platform.audit.model import NIL_ID, SEALED_ACTIONS, Actor, AuditFilter, AuditRecord, NewAuditRecord
from gridloom.platform.database.pool import Pool
from gridloom.platform.database.rows import read_row
from gridloom.platform.database.statement import NamedStatement

_LIST = NamedStatement("""
select a.sequence, a.id, a.occurred_at, a.organisation_id, a.subject_organisation_id, a.actor_id,
       a.actor_kind, a.actor_name, a.action, a.method, a.resource, a.status, a.address, a.request_id,
       a.details, o.name as organisation_name
from audit_log a left join organisation o on o.id = a.organisation_id
where (a.organisation_id = :reader_id or a.subject_organisation_id = :reader_id
       or (:is_operator and a.action <> all(:sealed_actions::text[])))
  and (:before::bigint is null or a.sequence < :before)
  and (:start::timestamptz is null or a.occurred_at >= :start)
  and (:end::timestamptz is null or a.occurred_at < :end)
  and (:actor_id::uuid is null or a.actor_id = :actor_id)
  and (:resource::text is null or a.resource = :resource or starts_with(a.resource, :resource || '/'))
  and (:action::text is null or a.action = :action)
order by a.sequence desc limit :limit
""")


async def list_entries(
    pool: Pool, *, reader_id: UUID, is_operator: bool, wanted: AuditFilter, before: int | None, limit: int
) -> list[AuditRecord]:
    """The newest first. An organisation reads what it did and what was done to it, the operator all but what bidders
    did."""
    async with pool.acquire(timeout=5) as connection, connection.transaction(readonly=True):
        # Which index helps depends on which filters are given, so each question gets a plan of its own.
        await connection.execute("set local plan_cache_mode = force_custom_plan")
        rows = await _LIST.fetch(
            connection,
            wanted,
            reader_id=reader_id,
            is_operator=is_operator,
            sealed_actions=SEALED_ACTIONS,
            before=before,
            limit=limit,
        )
    return [_read_entry_row(row) for row in rows]


def _read_entry_row(row: asyncpg.Record) -> AuditRecord:
    actor = Actor(row["actor_kind"], row["organisation_id"] or NIL_ID, row["actor_id"], row["actor_name"])
    entry = read_row(NewAuditRecord, row, actor=actor)
    return AuditRecord(row["sequence"], row["id"], row["occurred_at"], entry, row["organisation_name"])
