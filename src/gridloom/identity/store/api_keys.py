"""API keys in the database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from gridloom.database.pool import Database
from gridloom.edge.caller import Caller
from gridloom.identity.model import APIKey
from gridloom.identity.permissions import OrganisationKind, Role, permissions_of, permissions_of_key
from gridloom.identity.store.announcements import announce, api_key_subject
from gridloom.kernel.ids import APIKeyID, UserID
from gridloom.kernel.permission import Permission


@dataclass(frozen=True, slots=True)
class KeyHolder:
    caller: Caller
    member_id: UserID
    lasts_s: float | None
    """From this moment on, by the database's clock; None for a key without an end."""


def _api_key(row: asyncpg.Record) -> APIKey:
    return APIKey(
        id=APIKeyID(row["id"]),
        member_id=UserID(row["member_id"]),
        name=row["name"],
        permissions=frozenset(row["permissions"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
    )


async def insert_api_key(
    db: Database,
    *,
    api_key_id: APIKeyID,
    member_id: UUID,
    name: str,
    permissions: list[Permission],
    secret_hash: bytes,
    expires_at: datetime | None,
) -> APIKey | None:
    """The new key; None when it would have expired already."""
    row = await db.fetchrow(
        """
        insert into api_key (id, member_id, name, permissions, secret_hash, expires_at)
        select $1, $2, $3, $4, $5, $6 where $6::timestamptz is null or $6 > clock_timestamp()
        returning id, member_id, name, permissions, created_at, expires_at
        """,
        api_key_id,
        member_id,
        name,
        permissions,
        secret_hash,
        expires_at,
    )
    return None if row is None else _api_key(row)


async def list_api_keys(db: Database, member_id: UUID, *, after: UUID | None, limit: int) -> list[APIKey]:
    """By id, which is by age."""
    rows = await db.fetch(
        """
        select id, member_id, name, permissions, created_at, expires_at from api_key
        where member_id = $1 and ($2::uuid is null or id > $2) order by id limit $3
        """,
        member_id,
        after,
        limit,
    )
    return [_api_key(row) for row in rows]


async def find_key_owner(db: Database, api_key_id: UUID) -> UserID | None:
    member_id = await db.fetchval("select member_id from api_key where id = $1", api_key_id)
    return None if member_id is None else UserID(member_id)


async def delete_api_key(db: Database, api_key_id: UUID) -> None:
    await db.execute("delete from api_key where id = $1", api_key_id)
    await announce(db, api_key_subject(api_key_id))


async def holder_of_key(db: Database, secret_hash: bytes) -> KeyHolder | None:
    """Who acts with a key that has not expired, with no more than its creator may do at this moment."""
    row = await db.fetchrow(
        """
        select k.id, k.name, k.permissions, k.member_id, m.organisation_id, o.kind, m.role, m.username,
               extract(epoch from k.expires_at - clock_timestamp())::float8 as lasts_s
        from api_key k join member m on m.id = k.member_id join organisation o on o.id = m.organisation_id
        where k.secret_hash = $1 and (k.expires_at is null or k.expires_at > clock_timestamp())
        """,
        secret_hash,
    )
    if row is None:
        return None
    creator = permissions_of(Role(row["role"]), OrganisationKind(row["kind"]))
    caller = Caller(
        id=row["id"],
        kind="API_KEY",
        organisation_id=row["organisation_id"],
        organisation_kind=row["kind"],
        role=row["role"],
        permissions=frozenset(permissions_of_key(row["permissions"], creator)),
        session_id=row["id"],
        username=row["username"],
        display_name=row["name"],
    )
    return KeyHolder(caller, UserID(row["member_id"]), row["lasts_s"])
