"""Members in the database: every change is announced to all workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias
from uuid import UUID

import asyncpg

from gridloom.kernel.ids import UserID
from gridloom.kernel.networks import parse_network
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row
from gridloom.platform.database.statement import NamedStatement, compose
from gridloom.platform.identity.model import Account, Member
from gridloom.platform.identity.permissions import OrganisationKind, Role
from gridloom.platform.identity.store.revocations import member_subject, notify_revoked

MemberRow: TypeAlias = asyncpg.Record | Mapping[str, Any]

_MEMBER: Final = """
select m.id, m.organisation_id, o.kind as organisation_kind, m.username, m.display_name, m.role, m.version,
       m.created_at, m.email, m.password_hash, o.allowed_networks,
       exists (select from second_factor f where f.member_id = m.id and f.confirmed_at is not null)
         as has_second_factor,
       m.role <> 'ADMIN' and exists (
         select from identity_provider p where p.organisation_id = m.organisation_id and p.required
       ) as must_use_single_sign_on
from member m join organisation o on o.id = m.organisation_id
"""
_READ_ACCOUNT: Final = compose("{member} where m.id = $1", member=_MEMBER)
_READ_MEMBER: Final = compose("{member} where m.id = $2 and m.organisation_id = $1", member=_MEMBER)
_LIST_MEMBERS: Final = compose(
    "{member} where m.organisation_id = $1 and ($2::uuid is null or m.id > $2) order by m.id limit $3", member=_MEMBER
)


# By a statement for each table: a distributed database plans each of them once, and a join every time.
_FIND_BY_USERNAME: Final = """
select id, organisation_id, username, display_name, role, version, created_at, email, password_hash
from member where lower(username) = lower($1)
"""
_READ_ORGANISATION: Final = """
select kind as organisation_kind, allowed_networks, require_second_factor from organisation where id = $1
"""
_HAS_SECOND_FACTOR: Final = "select true from second_factor where member_id = $1 and confirmed_at is not null"
_REQUIRES_SINGLE_SIGN_ON: Final = "select true from identity_provider where organisation_id = $1 and required"


def _read_member(row: MemberRow) -> Member:
    return read_row(Member, row, organisation_kind=OrganisationKind(row["organisation_kind"]), role=Role(row["role"]))


def _read_account(row: MemberRow) -> Account:
    return Account(
        _read_member(row),
        row["password_hash"],
        allowed_networks=tuple(map(parse_network, row["allowed_networks"])),
        must_use_single_sign_on=row["must_use_single_sign_on"],
    )


_INSERT: Final = NamedStatement("""
with new as (
  insert into member (id, organisation_id, username, display_name, role, password_hash, email)
  values (:id, :organisation_id, :username, :display_name, :role, :password_hash, :email)
  on conflict (lower(username)) do nothing
  returning id, organisation_id, username, display_name, role, version, created_at, email
)
select new.*, o.kind as organisation_kind, false as has_second_factor
from new join organisation o on o.id = new.organisation_id
""")


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
    """The new member; None when the user name is taken."""
    rows = await _INSERT.fetch(
        db,
        id=member_id,
        organisation_id=organisation_id,
        username=username,
        display_name=display_name,
        role=role,
        password_hash=password_hash,
        email=email,
    )
    return _read_member(rows[0]) if rows else None


async def find_account(db: Database, username: str) -> Account | None:
    member = await db.fetchrow(_FIND_BY_USERNAME, username)
    if member is None:
        return None
    must_use_single_sign_on = member["role"] != Role.ADMIN and await db.fetchval(
        _REQUIRES_SINGLE_SIGN_ON, member["organisation_id"]
    )
    policy = await read_policy(db, member["id"], member["organisation_id"])
    if policy is None:
        return None
    return _read_account({**member, **policy, "must_use_single_sign_on": bool(must_use_single_sign_on)})


async def read_policy(db: Database, member_id: UUID, organisation_id: UUID) -> dict[str, Any] | None:
    """The columns of a member's organisation, and `has_second_factor`, by statements of one table each; None where a
    reset of the sandbox came since the member was read."""
    organisation = await db.fetchrow(_READ_ORGANISATION, organisation_id)
    if organisation is None:
        return None
    return {**organisation, "has_second_factor": bool(await db.fetchval(_HAS_SECOND_FACTOR, member_id))}


async def read_account(db: Database, member_id: UUID) -> Account | None:
    row = await db.fetchrow(_READ_ACCOUNT, member_id)
    return None if row is None else _read_account(row)


async def read_member(db: Database, organisation_id: UUID, member_id: UUID) -> Member | None:
    row = await db.fetchrow(_READ_MEMBER, organisation_id, member_id)
    return None if row is None else _read_member(row)


async def list_members(db: Database, organisation_id: UUID, *, after: UUID | None, limit: int) -> list[Member]:
    """By id, which is by the time of joining."""
    rows = await db.fetch(_LIST_MEMBERS, organisation_id, after, limit)
    return [_read_member(row) for row in rows]


async def count_admins(db: Database, organisation_id: UUID) -> int:
    """Only under the organisation's lock does this number stay true."""
    return int(
        await db.fetchval("select count(*) from member where organisation_id = $1 and role = 'ADMIN'", organisation_id)
    )


async def list_admin_addresses(db: Database, organisation_id: UUID) -> list[str]:
    rows = await db.fetch(
        "select email from member where organisation_id = $1 and role = 'ADMIN' and email is not null order by id",
        organisation_id,
    )
    return [row["email"] for row in rows]


async def change_role(db: Database, member_id: UUID, role: Role) -> None:
    await db.execute(
        "update member set role = $2, version = version + 1, updated_at = statement_timestamp() where id = $1",
        member_id,
        role,
    )
    await notify_revoked(db, member_subject(member_id))


async def share_credentials_lock(db: Database, member_id: UUID) -> None:
    """Until this transaction ends neither the member's password changes nor the member is removed.

    Not a lock of the row: a distributed database would take it on another node as well.
    """
    await db.execute("select pg_advisory_xact_lock_shared(hashtextextended($1::text, 6132))", str(member_id))


async def _lock_credentials(db: Database, member_id: UUID) -> None:
    await db.execute("select pg_advisory_xact_lock(hashtextextended($1::text, 6132))", str(member_id))


async def change_password(db: Database, member_id: UUID, *, known_hash: str | None, new_hash: str) -> bool:
    """Whether the password was still the one that was checked; if not, nothing has changed."""
    await _lock_credentials(db, member_id)
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
    await _lock_credentials(db, member_id)
    await db.execute("delete from member where id = $1", member_id)
    # On a distributed database no foreign key does it.
    await db.execute("delete from session where member_id = $1", member_id)
    await db.execute("delete from sign_in_network where member_id = $1", member_id)
    await notify_revoked(db, member_subject(member_id))
