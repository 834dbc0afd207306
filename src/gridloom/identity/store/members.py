"""Members in the database: every change is announced to all workers."""

from __future__ import annotations

from uuid import UUID

import asyncpg

from gridloom.database.pool import Database
from gridloom.identity.model import Account, Member
from gridloom.identity.permissions import OrganisationKind, Role
from gridloom.identity.store.revocations import member_subject, notify_revoked
from gridloom.kernel.ids import OrganisationID, UserID
from gridloom.kernel.networks import parse_network


def _read_member(row: asyncpg.Record) -> Member:
    return Member(
        id=UserID(row["id"]),
        organisation_id=OrganisationID(row["organisation_id"]),
        organisation_kind=OrganisationKind(row["organisation_kind"]),
        username=row["username"],
        display_name=row["display_name"],
        role=Role(row["role"]),
        version=row["version"],
        created_at=row["created_at"],
        email=row["email"],
        has_second_factor=row["has_second_factor"],
    )


def _read_account(row: asyncpg.Record) -> Account:
    return Account(
        _read_member(row),
        row["password_hash"],
        allowed_networks=tuple(map(parse_network, row["allowed_networks"])),
        must_use_single_sign_on=row["must_use_single_sign_on"],
    )


async def insert_member(
    db: Database,
    *,
    member_id: UserID,
    organisation_id: UUID,
    username: str,
    display_name: str,
    role: Role,
    password_hash: str | None,
    email: str | None = None,
) -> Member | None:
    """The new member; None when somebody has this user name already."""
    row = await db.fetchrow(
        """
        with new as (
          insert into member (id, organisation_id, username, display_name, role, password_hash, email)
          values ($1, $2, $3, $4, $5, $6, $7)
          on conflict (lower(username)) do nothing
          returning id, organisation_id, username, display_name, role, version, created_at, email
        )
        select new.*, o.kind as organisation_kind, false as has_second_factor
        from new join organisation o on o.id = new.organisation_id
        """,
        member_id,
        organisation_id,
        username,
        display_name,
        role,
        password_hash,
        email,
    )
    return None if row is None else _read_member(row)


async def find_account(db: Database, username: str) -> Account | None:
    row = await db.fetchrow(
        """
        select m.id, m.organisation_id, o.kind as organisation_kind, m.username, m.display_name, m.role, m.version,
               m.created_at, m.email, m.password_hash, o.allowed_networks,
               exists (select from second_factor f where f.member_id = m.id and f.confirmed_at is not null)
                 as has_second_factor,
               m.role <> 'ADMIN' and exists (
                 select from identity_provider p where p.organisation_id = m.organisation_id and p.required
               ) as must_use_single_sign_on
        from member m join organisation o on o.id = m.organisation_id
        where lower(m.username) = lower($1)
        """,
        username,
    )
    return None if row is None else _read_account(row)


async def read_account(db: Database, member_id: UUID) -> Account | None:
    row = await db.fetchrow(
        """
        select m.id, m.organisation_id, o.kind as organisation_kind, m.username, m.display_name, m.role, m.version,
               m.created_at, m.email, m.password_hash, o.allowed_networks,
               exists (select from second_factor f where f.member_id = m.id and f.confirmed_at is not null)
                 as has_second_factor,
               m.role <> 'ADMIN' and exists (
                 select from identity_provider p where p.organisation_id = m.organisation_id and p.required
               ) as must_use_single_sign_on
        from member m join organisation o on o.id = m.organisation_id
        where m.id = $1
        """,
        member_id,
    )
    return None if row is None else _read_account(row)


async def read_member(db: Database, organisation_id: UUID, member_id: UUID) -> Member | None:
    row = await db.fetchrow(
        """
        select m.id, m.organisation_id, o.kind as organisation_kind, m.username, m.display_name, m.role, m.version,
               m.created_at, m.email,
               exists (select from second_factor f where f.member_id = m.id and f.confirmed_at is not null)
                 as has_second_factor
        from member m join organisation o on o.id = m.organisation_id
        where m.id = $2 and m.organisation_id = $1
        """,
        organisation_id,
        member_id,
    )
    return None if row is None else _read_member(row)


async def list_members(db: Database, organisation_id: UUID, *, after: UUID | None, limit: int) -> list[Member]:
    """By id, which is by the time of joining."""
    rows = await db.fetch(
        """
        select m.id, m.organisation_id, o.kind as organisation_kind, m.username, m.display_name, m.role, m.version,
               m.created_at, m.email,
               exists (select from second_factor f where f.member_id = m.id and f.confirmed_at is not null)
                 as has_second_factor
        from member m join organisation o on o.id = m.organisation_id
        where m.organisation_id = $1 and ($2::uuid is null or m.id > $2)
        order by m.id limit $3
        """,
        organisation_id,
        after,
        limit,
    )
    return [_read_member(row) for row in rows]


async def count_admins(db: Database, organisation_id: UUID) -> int:
    """Only under the organisation's lock does this number stay true."""
    return int(
        await db.fetchval("select count(*) from member where organisation_id = $1 and role = 'ADMIN'", organisation_id)
    )


async def change_role(db: Database, member_id: UUID, role: Role) -> None:
    await db.execute(
        "update member set role = $2, version = version + 1, updated_at = statement_timestamp() where id = $1",
        member_id,
        role,
    )
    await notify_revoked(db, member_subject(member_id))


async def change_password(db: Database, member_id: UUID, *, known_hash: str | None, new_hash: str) -> bool:
    """Whether the password was still the one that was checked; if not, nothing has changed."""
    status = await db.execute(
        """
        update member set password_hash = $3, updated_at = statement_timestamp() where id = $1 and password_hash = $2
        """,
        member_id,
        known_hash,
        new_hash,
    )
    return str(status) == "UPDATE 1"


async def delete_member(db: Database, member_id: UUID) -> None:
    """Their sessions and API keys go with them."""
    await db.execute("delete from member where id = $1", member_id)
    await notify_revoked(db, member_subject(member_id))
