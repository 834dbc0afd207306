"""API keys in the database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import asyncpg

from gridloom.kernel.ids import APIKeyID, UserID
from gridloom.kernel.networks import parse_network
from gridloom.kernel.permission import Permission
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row
from gridloom.platform.database.statement import NamedStatement
from gridloom.platform.http.caller import Caller
from gridloom.platform.identity.model import APIKey, MemberKey
from gridloom.platform.identity.permissions import OrganisationKind, Role, permissions_of, permissions_of_key
from gridloom.platform.identity.store.organisations import raise_removed
from gridloom.platform.identity.store.revocations import (
    api_key_subject,
    member_subject,
    notify_revoked,
    organisation_subject,
)


@dataclass(frozen=True, slots=True)
class KeyHolder:
    caller: Caller
    member_id: UserID
    lasts_s: float
    """From this instant on, by the database's clock."""


@dataclass(frozen=True, slots=True)
class KeyAge:
    """How old keys of an organisation may become, and the instant at which that was read."""

    max_days: int
    now: datetime


@dataclass(frozen=True, slots=True)
class ExpiringKey:
    id: APIKeyID
    name: str
    member_id: UserID
    username: str
    organisation_id: UUID
    expires_at: datetime


def _api_key(row: asyncpg.Record) -> APIKey:
    assets = row["physical_asset_ids"]
    return read_row(
        APIKey,
        row,
        permissions=frozenset(row["permissions"]),
        physical_asset_ids=None if assets is None else tuple(assets),
        allowed_networks=tuple(row["allowed_networks"]),
    )


async def lock_key_age(db: Database, organisation_id: UUID) -> KeyAge:
    """It stays as it is until this transaction ends: of a change and a new key one sees the other. The first lock of
    its transaction (see `lock_organisation`)."""
    row = await db.fetchrow(
        "select max_key_age_days, clock_timestamp() as now from organisation where id = $1 for no key update",
        organisation_id,
    )
    if row is None:
        raise_removed(organisation_id)
    return KeyAge(row["max_key_age_days"], row["now"])


_COUNTING: Final = 7_108_274
"""The advisory locks of organisations whose keys are counted before one is added."""


async def lock_key_count(db: Database, organisation_id: UUID) -> None:
    """Until this transaction ends no other one counts and adds keys of the organisation."""
    await db.execute("select pg_advisory_xact_lock($1, hashtext($2))", _COUNTING, str(organisation_id))


async def count_keys(db: Database, organisation_id: UUID, member_id: UUID | None) -> tuple[int, int]:
    """How many keys a member has, and how many the organisation."""
    row = await db.fetchrow(
        """
        select count(*) filter (where k.member_id = $2)::int as own, count(*)::int as all_keys
        from api_key k join member m on m.id = k.member_id
        where m.organisation_id = $1
        """,
        organisation_id, member_id,
    )  # fmt: skip
    assert row is not None
    return row["own"], row["all_keys"]


_INSERT: Final = NamedStatement("""
insert into api_key (id, member_id, name, permissions, secret_hash, expires_at, physical_asset_ids, allowed_networks)
values (:id, :member_id, :name, :permissions, :secret_hash, :expires_at, :physical_asset_ids, :allowed_networks)
returning id, member_id, name, permissions, created_at, expires_at, physical_asset_ids, allowed_networks
""")


async def insert_api_key(
    db: Database,
    *,
    api_key_id: APIKeyID,
    member_id: UUID,
    name: str,
    permissions: list[Permission],
    secret_hash: bytes,
    expires_at: datetime,
    physical_asset_ids: list[UUID] | None = None,
    allowed_networks: list[str] | None = None,
) -> APIKey:
    row = await _INSERT.fetchrow(
        db,
        id=api_key_id,
        member_id=member_id,
        name=name,
        permissions=permissions,
        secret_hash=secret_hash,
        expires_at=expires_at,
        physical_asset_ids=physical_asset_ids,
        allowed_networks=allowed_networks or [],
    )
    return _api_key(row)


async def list_api_keys(db: Database, member_id: UUID, *, after: UUID | None, limit: int) -> list[APIKey]:
    """By id, which is by age."""
    rows = await db.fetch(
        """
        select id, member_id, name, permissions, created_at, expires_at, physical_asset_ids, allowed_networks
        from api_key
        where member_id = $1 and ($2::uuid is null or id > $2) order by id limit $3
        """,
        member_id,
        after,
        limit,
    )
    return [_api_key(row) for row in rows]


async def list_organisation_keys(
    db: Database, organisation_id: UUID, *, after: UUID | None, limit: int
) -> list[MemberKey]:
    """Every member's, by id, which is by age."""
    rows = await db.fetch(
        """
        select k.id, k.member_id, k.name, k.permissions, k.created_at, k.physical_asset_ids, k.allowed_networks,
               k.expires_at, m.username, m.role, o.kind
        from api_key k join member m on m.id = k.member_id join organisation o on o.id = m.organisation_id
        where m.organisation_id = $1 and ($2::uuid is null or k.id > $2) order by k.id limit $3
        """,
        organisation_id,
        after,
        limit,
    )
    return [
        MemberKey(_api_key(row), row["username"], permissions_of(Role(row["role"]), OrganisationKind(row["kind"])))
        for row in rows
    ]


async def find_key_owner(db: Database, api_key_id: UUID) -> UserID | None:
    member_id = await db.fetchval("select member_id from api_key where id = $1", api_key_id)
    return None if member_id is None else UserID(member_id)


async def find_organisation_key(db: Database, organisation_id: UUID, api_key_id: UUID) -> str | None:
    """The user name of the member of this organisation whose key it is."""
    username = await db.fetchval(
        """
        select m.username from api_key k join member m on m.id = k.member_id
        where k.id = $2 and m.organisation_id = $1
        """,
        organisation_id,
        api_key_id,
    )
    return None if username is None else str(username)


async def delete_api_key(db: Database, api_key_id: UUID) -> None:
    await db.execute("delete from api_key where id = $1", api_key_id)
    await notify_revoked(db, api_key_subject(api_key_id))


async def delete_member_keys(db: Database, member_id: UUID) -> int:
    """Revoke all keys of a member; how many there were."""
    rows = await db.fetch("delete from api_key where member_id = $1 returning id", member_id)
    await notify_revoked(db, member_subject(member_id))
    return len(rows)


async def shorten_keys(db: Database, organisation_id: UUID, ends_by: datetime) -> None:
    """Let every key of the organisation end by an instant; those that end earlier stay as they are."""
    await db.execute(
        """
        update api_key k set expires_at = $2 from member m
        where m.id = k.member_id and m.organisation_id = $1
          and k.expires_at > $2
        """,
        organisation_id,
        ends_by,
    )
    await notify_revoked(db, organisation_subject(organisation_id))


async def claim_expiring_keys(db: Database, ends_by: datetime, most: int) -> list[ExpiringKey]:
    """Keys that end by then and of which no notice was given yet; they count as noticed from now on."""
    rows = await db.fetch(
        """
        with claimed as (
          select k.id from api_key k
          where k.expires_at > clock_timestamp() and k.expires_at <= $1 and k.expiry_notified_at is null
          order by k.expires_at limit $2
        ), noticed as (
          update api_key k set expiry_notified_at = statement_timestamp() from claimed
          where k.id = claimed.id and k.expiry_notified_at is null
          returning k.id, k.name, k.member_id, k.expires_at
        )
        select n.id, n.name, n.member_id, n.expires_at, m.username, m.organisation_id
        from noticed n join member m on m.id = n.member_id order by n.expires_at
        """,
        ends_by,
        most,
    )
    return [ExpiringKey(**row) for row in rows]


async def holder_of_key(db: Database, secret_hash: bytes) -> KeyHolder | None:
    """The caller of a key that has not expired, with no more than its creator may do now."""
    row = await db.fetchrow(
        """
        select k.id, k.name, k.permissions, k.member_id, k.physical_asset_ids, k.allowed_networks,
               m.organisation_id, o.kind, m.role, m.username, o.allowed_networks as organisation_networks,
               extract(epoch from k.expires_at - clock_timestamp())::float8 as lasts_s
        from api_key k join member m on m.id = k.member_id join organisation o on o.id = m.organisation_id
        where k.secret_hash = $1 and k.expires_at > clock_timestamp()
        """,
        secret_hash,
    )
    if row is None:
        return None
    creator = permissions_of(Role(row["role"]), OrganisationKind(row["kind"]))
    assets = row["physical_asset_ids"]
    networks = (tuple(map(parse_network, row[name])) for name in ("organisation_networks", "allowed_networks"))
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
        allowed_networks=tuple(listed for listed in networks if listed),
        physical_asset_ids=None if assets is None else frozenset(assets),
    )
    return KeyHolder(caller, UserID(row["member_id"]), row["lasts_s"])
