"""Invitations in the database."""

from __future__ import annotations

from typing import Final
from uuid import UUID

import asyncpg

from gridloom.kernel.ids import InvitationID
from gridloom.platform.database.clock import real_now
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row
from gridloom.platform.database.statement import NamedStatement
from gridloom.platform.identity.model import Invitation, InvitationStatus
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.tokens import INVITATION_LIFETIME

_INVITATION: Final = """
select id, organisation_id, email, role, invited_by, created_at, expires_at,
       case when accepted_at is not null then 'ACCEPTED' when revoked_at is not null then 'REVOKED'
            when expires_at <= clock_timestamp() then 'EXPIRED' else 'PENDING' end as status
from invitation
"""
_PUT: Final = NamedStatement("""
insert into invitation as i (id, organisation_id, email, role, token_hash, invited_by, expires_at)
values (:id, :organisation_id, :email, :role, :token_hash, :invited_by, :expires_at)
on conflict (organisation_id, lower(email)) where accepted_at is null and revoked_at is null do update
  set email = excluded.email, role = excluded.role, token_hash = excluded.token_hash,
      invited_by = excluded.invited_by, expires_at = excluded.expires_at
returning id, organisation_id, email, role, invited_by, created_at, expires_at, 'PENDING' as status
""")


def _read_invitation(row: asyncpg.Record) -> Invitation:
    return read_row(Invitation, row, role=Role(row["role"]), status=InvitationStatus(row["status"]))


async def put_invitation(
    db: Database,
    *,
    invitation_id: InvitationID,
    organisation_id: UUID,
    email: str,
    role: Role,
    token_hash: bytes,
    invited_by: UUID,
) -> Invitation:
    """The only open one to this address: one that there was is renewed, and its token works no more."""
    row = await _PUT.fetchrow(
        db,
        id=invitation_id,
        organisation_id=organisation_id,
        email=email,
        role=role,
        token_hash=token_hash,
        invited_by=invited_by,
        expires_at=await real_now(db) + INVITATION_LIFETIME,
    )
    return _read_invitation(row)


async def count_open_invitations(db: Database, organisation_id: UUID, *, besides: str | None = None) -> int:
    """Those that can still be accepted, but for the one to the address `besides`. Stays true under the organisation's
    lock."""
    return int(
        await db.fetchval(
            """
            select count(*) from invitation
            where organisation_id = $1 and accepted_at is null and revoked_at is null
              and expires_at > clock_timestamp() and ($2::text is null or lower(email) <> lower($2))
            """,
            organisation_id,
            besides,
        )
    )


async def list_invitations(db: Database, organisation_id: UUID, *, after: UUID | None, limit: int) -> list[Invitation]:
    """By id, which is by age."""
    rows = await db.fetch(
        _INVITATION + "where organisation_id = $1 and ($2::uuid is null or id > $2) order by id limit $3",
        organisation_id,
        after,
        limit,
    )
    return [_read_invitation(row) for row in rows]


async def find_invitation(db: Database, token_hash: bytes) -> Invitation | None:
    row = await db.fetchrow(_INVITATION + "where token_hash = $1", token_hash)
    return None if row is None else _read_invitation(row)


async def find_pending_by_email(db: Database, organisation_id: UUID, email: str) -> Invitation | None:
    """The newest that has not been used."""
    row = await db.fetchrow(
        _INVITATION
        + """where organisation_id = $1 and lower(email) = lower($2) and accepted_at is null and revoked_at is null
               and expires_at > clock_timestamp()
             order by id desc limit 1""",
        organisation_id,
        email,
    )
    return None if row is None else _read_invitation(row)


async def lock_invitation(db: Database, organisation_id: UUID, invitation_id: UUID) -> Invitation | None:
    row = await db.fetchrow(
        _INVITATION + "where id = $2 and organisation_id = $1 for update", organisation_id, invitation_id
    )
    return None if row is None else _read_invitation(row)


async def use_invitation(db: Database, invitation_id: InvitationID) -> bool:
    """Mark it accepted; False when another request was faster, or it was revoked or has expired meanwhile."""
    status = await db.execute(
        """
        update invitation set accepted_at = statement_timestamp()
        where id = $1 and accepted_at is null and revoked_at is null and expires_at > statement_timestamp()
        """,
        invitation_id,
    )
    return str(status) == "UPDATE 1"


async def revoke_invitation(db: Database, invitation_id: InvitationID) -> None:
    await db.execute(
        "update invitation set revoked_at = statement_timestamp() where id = $1 and accepted_at is null", invitation_id
    )
