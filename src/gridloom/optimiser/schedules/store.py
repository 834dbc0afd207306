"""Optimisations that take longer than a request, in PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gridloom.platform.database.pool import Database


@dataclass(frozen=True, slots=True)
class StoredOptimisation:
    id: UUID
    status: str
    request: Any
    answer: Any


async def insert_optimisation(
    db: Database,
    organisation_id: UUID,
    id: UUID,
    subject_id: UUID,
    asked_by: UUID,
    now: datetime,
    request: msgspec.Struct,
) -> None:
    await db.execute(
        """
        insert into optimisation (organisation_id, id, subject_id, asked_by, asked_at, status, request)
        values ($1, $2, $3, $4, $5, 'QUEUED', $6::text::jsonb)
        """,
        organisation_id, id, subject_id, asked_by, now, msgspec.json.encode(request).decode(),
    )  # fmt: skip


async def read_optimisation(
    db: Database, organisation_id: UUID, subject_id: UUID, id: UUID
) -> StoredOptimisation | None:
    row = await db.fetchrow(
        """
        select status, request::text as request, answer::text as answer from optimisation
        where organisation_id = $1 and id = $2 and subject_id = $3
        """,
        organisation_id, id, subject_id,
    )  # fmt: skip
    if row is None:
        return None
    answer = None if row["answer"] is None else msgspec.json.decode(row["answer"])
    return StoredOptimisation(id, row["status"], msgspec.json.decode(row["request"]), answer)


async def finish_optimisation(db: Database, organisation_id: UUID, id: UUID, status: str, answer: Any) -> None:
    await db.execute(
        "update optimisation set status = $3, answer = $4::text::jsonb where organisation_id = $1 and id = $2",
        organisation_id, id, status, msgspec.json.encode(answer).decode(),
    )  # fmt: skip


async def delete_old(db: Database, before: datetime) -> None:
    await db.execute("delete from optimisation where asked_at < $1", before)
