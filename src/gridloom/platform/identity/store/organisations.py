"""Organisations in the database."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NoReturn
from uuid import UUID

import asyncpg

from gridloom.kernel.problem import NotFound
from gridloom.platform.database.commit import InsertTarget, defer_insert
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row
from gridloom.platform.database.statement import NamedStatement
from gridloom.platform.identity.model import Organisation
from gridloom.platform.identity.permissions import OrganisationKind
from gridloom.platform.identity.store.revocations import notify_revoked, organisation_subject

_PLATFORM_LOCK: Final = 7_108_004
_INSERTED: Final = ("id", "name", "kind", "version", "created_at", "updated_at")
ORGANISATIONS: Final = InsertTarget("organisation", [(name, "{}") for name in _INSERTED])
_ORGANISATION: Final = """
select id, name, kind, version, created_at, updated_at, require_second_factor, max_key_age_days,
       allowed_networks, telemetry_quota_bytes, address
from organisation
"""


def _read_organisation(row: asyncpg.Record) -> Organisation:
    return read_row(
        Organisation, row, kind=OrganisationKind(row["kind"]), allowed_networks=tuple(row["allowed_networks"])
    )


async def insert_organisation(db: Database, organisation: Organisation) -> None:
    """Together with what else the change writes last; no other transaction finds it before."""
    await defer_insert(db, ORGANISATIONS, tuple(getattr(organisation, name) for name in _INSERTED))


async def read_organisation(db: Database, organisation_id: UUID) -> Organisation | None:
    row = await db.fetchrow(_ORGANISATION + "where id = $1", organisation_id)
    return None if row is None else _read_organisation(row)


def raise_removed(organisation_id: UUID) -> NoReturn:
    """Only a reset of the sandbox removes organisations, while requests of their members are under way."""
    raise NotFound(f"There is no organisation {organisation_id}.")


async def lock_organisation(db: Database, organisation_id: UUID) -> Organisation:
    """Read it and keep every other change to it and its members waiting until this transaction ends.

    The order of locks: a change that writes a reference table (members, keys, invitations, grants, portfolios, fleets,
    assets) locks its organisation before anything else. A distributed database locks the only shard of such a table
    with each of its rows, and those of the tables that it points to; two transactions that came to two of them in
    opposite orders would wait for each other. The survey holds it, by the statements of each operation.
    """
    row = await db.fetchrow(_ORGANISATION + "where id = $1 for no key update", organisation_id)
    if row is None:
        raise_removed(organisation_id)
    return _read_organisation(row)


async def lock_operator(db: Database) -> None:
    """Of a change that is no organisation's own; nothing on a platform that has no operator yet."""
    operator_id = await db.fetchval("select id from organisation where kind = 'OPERATOR'")
    if operator_id is not None:
        await lock_organisation(db, operator_id)


async def list_organisations(db: Database, *, only: UUID | None, after: UUID | None, limit: int) -> list[Organisation]:
    """By id, which is by age. `only` narrows the list to the asker's own."""
    rows = await db.fetch(
        _ORGANISATION
        + """where ($1::uuid is null or id = $1) and ($2::uuid is null or id > $2)
             order by id limit $3""",
        only,
        after,
        limit,
    )
    return [_read_organisation(row) for row in rows]


_UPDATE: Final = NamedStatement("""
update organisation
set name = :name, require_second_factor = :require_second_factor, max_key_age_days = :max_key_age_days,
    allowed_networks = :allowed_networks, telemetry_quota_bytes = :telemetry_quota_bytes, address = :address,
    version = version + 1, updated_at = statement_timestamp()
where id = :id
""")


async def update_organisation(db: Database, changed: Organisation) -> Organisation:
    """Store what may be changed of an organisation; its version goes up."""
    await _UPDATE.execute(db, changed)
    await notify_revoked(db, organisation_subject(changed.id))
    return await lock_organisation(db, changed.id)


async def organisation_exists(db: Database, organisation_id: UUID) -> bool:
    return bool(await db.fetchval("select exists (select from organisation where id = $1)", organisation_id))


async def is_empty_platform(db: Database) -> bool:
    return not await db.fetchval("select exists (select from organisation)")


async def lock_platform(db: Database) -> None:
    """Let only one replica at a time find out whether the platform is empty."""
    await db.execute("select pg_advisory_xact_lock($1)", _PLATFORM_LOCK)


async def read_organisation_names(db: Database, organisation_ids: Iterable[UUID]) -> dict[UUID, str]:
    rows = await db.fetch("select id, name from organisation where id = any($1::uuid[])", [*set(organisation_ids)])
    return {row["id"]: row["name"] for row in rows}


async def read_author_names(db: Database, author_ids: Iterable[UUID], *, within: UUID | None = None) -> dict[UUID, str]:
    """Display names of members, and names of API keys with their owners'. within: only those of this organisation."""
    rows = await db.fetch(
        """
        select id, display_name as name from member
        where id = any($1::uuid[]) and ($2::uuid is null or organisation_id = $2)
        union all
        select k.id, k.name || ' (' || m.display_name || ')' from api_key k join member m on m.id = k.member_id
        where k.id = any($1::uuid[]) and ($2::uuid is null or m.organisation_id = $2)
        """,
        [*set(author_ids)],
        within,
    )
    return {row["id"]: row["name"] for row in rows}
