"""Organisations in the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

import asyncpg

from gridloom.database.commit.deferred_rows import defer_insert
from gridloom.database.commit.insert_target import InsertTarget
from gridloom.database.pool import Database
from gridloom.identity.model import Organisation
from gridloom.identity.permissions import OrganisationKind
from gridloom.identity.store.revocations import notify_revoked, organisation_subject
from gridloom.kernel.ids import OrganisationID

if TYPE_CHECKING:
    from gridloom.database.commit.single_statement import RowSink

_PLATFORM_LOCK: Final = 7_108_004
_ORGANISATIONS: Final = InsertTarget(
    "organisation", [(name, "{}") for name in ("id", "name", "kind", "version", "created_at", "updated_at")]
)


def _read_organisation(row: asyncpg.Record) -> Organisation:
    return Organisation(
        id=OrganisationID(row["id"]),
        name=row["name"],
        kind=OrganisationKind(row["kind"]),
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        require_second_factor=row["require_second_factor"],
        max_key_age_days=row["max_key_age_days"],
        allowed_networks=tuple(row["allowed_networks"]),
        telemetry_quota_bytes=row["telemetry_quota_bytes"],
        address=row["address"],
    )


async def insert_organisation(db: RowSink, organisation: Organisation) -> None:
    """Together with what else the change writes last; nobody finds it before."""
    row = (
        organisation.id,
        organisation.name,
        organisation.kind,
        organisation.version,
        organisation.created_at,
        organisation.updated_at,
    )
    await defer_insert(db, _ORGANISATIONS, row)


async def read_organisation(db: Database, organisation_id: UUID) -> Organisation | None:
    row = await db.fetchrow(
        """
        select id, name, kind, version, created_at, updated_at, require_second_factor, max_key_age_days,
               allowed_networks, telemetry_quota_bytes, address
        from organisation where id = $1
        """,
        organisation_id,
    )
    return None if row is None else _read_organisation(row)


async def lock_organisation(db: Database, organisation_id: UUID) -> Organisation | None:
    """Read it and keep every other change to it and its members waiting until this transaction ends."""
    row = await db.fetchrow(
        """
        select id, name, kind, version, created_at, updated_at, require_second_factor, max_key_age_days,
               allowed_networks, telemetry_quota_bytes, address
        from organisation where id = $1 for no key update
        """,
        organisation_id,
    )
    return None if row is None else _read_organisation(row)


async def list_organisations(db: Database, *, only: UUID | None, after: UUID | None, limit: int) -> list[Organisation]:
    """By id, which is by age. `only` narrows the list to the asker's own."""
    rows = await db.fetch(
        """
        select id, name, kind, version, created_at, updated_at, require_second_factor, max_key_age_days,
               allowed_networks, telemetry_quota_bytes, address
        from organisation
        where ($1::uuid is null or id = $1) and ($2::uuid is null or id > $2)
        order by id limit $3
        """,
        only,
        after,
        limit,
    )
    return [_read_organisation(row) for row in rows]


async def update_organisation(db: Database, changed: Organisation) -> Organisation:
    """Store what may be changed of an organisation; its version goes up."""
    row = await db.fetchrow(
        """
        update organisation
        set name = $2, require_second_factor = $3, max_key_age_days = $4, allowed_networks = $5,
            telemetry_quota_bytes = $6, address = $7,
            version = version + 1, updated_at = statement_timestamp()
        where id = $1
        returning id, name, kind, version, created_at, updated_at, require_second_factor, max_key_age_days,
                  allowed_networks, telemetry_quota_bytes, address
        """,
        changed.id,
        changed.name,
        changed.require_second_factor,
        changed.max_key_age_days,
        list(changed.allowed_networks),
        changed.telemetry_quota_bytes,
        changed.address,
    )
    assert row is not None
    await notify_revoked(db, organisation_subject(changed.id))
    return _read_organisation(row)


async def organisation_exists(db: Database, organisation_id: UUID) -> bool:
    return bool(await db.fetchval("select exists (select from organisation where id = $1)", organisation_id))


async def is_empty_platform(db: Database) -> bool:
    return not await db.fetchval("select exists (select from organisation)")


async def lock_platform(db: Database) -> None:
    """Let only one replica at a time find out whether the platform is empty."""
    await db.execute("select pg_advisory_xact_lock($1)", _PLATFORM_LOCK)
