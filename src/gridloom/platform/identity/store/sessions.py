"""Sessions and their refresh tokens in the database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from gridloom.kernel.ids import SessionID, UserID
from gridloom.kernel.networks import parse_network
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row
from gridloom.platform.http.caller import Caller
from gridloom.platform.identity.model import NewSession, Session, SessionEnd, SessionKind, SignInMethod
from gridloom.platform.identity.permissions import OrganisationKind, Role, permissions_of
from gridloom.platform.identity.store.members import read_policy, share_credentials_lock
from gridloom.platform.identity.store.revocations import (
    member_subject,
    notify_revoked,
    organisation_subject,
    session_subject,
)
from gridloom.platform.identity.tokens import REFRESH_LIFETIME

LAST_USE_STEP: Final = timedelta(minutes=5)
"""How exactly the last use of a session is known: a write for each request would be more than it is worth."""


@dataclass(frozen=True, slots=True)
class SpentToken:
    session_id: SessionID
    member_id: UserID
    is_first_use: bool
    """False when the token had been spent before: then there is a copy of it."""


@dataclass(frozen=True, slots=True)
class LiveSession:
    """A session that has not ended, at an instant of the database's clock in seconds since 1970."""

    caller: Caller
    now: float
    lasts_s: float
    """Until it ends by itself."""
    is_use_outdated: bool
    """Whether the time of its last use should be stored anew."""


_READ_ALLOWED: Final = "select id from member where id = $1 and ($2::text is null or password_hash = $2)"
_INSERT_SESSION: Final = """
    insert into session (id, address, user_agent, expires_at, sign_in_method, member_id)
    values ($1, $2, $3, clock_timestamp() + $4::interval, $5, $6) returning created_at
"""


async def begin_session(
    db: Database,
    session_id: SessionID,
    *,
    member_id: UUID,
    password_hash: str | None,
    refresh_hash: bytes,
    address: str | None,
    user_agent: str | None,
    method: SignInMethod = SignInMethod.PASSWORD,
) -> NewSession | None:
    """Record a login; None when the password was changed or the member removed since it was checked.

    The share lock makes a change of password wait, or be seen: no session outlives the password it was begun with.
    password_hash: None where something else than the password, stored with the member, was checked under that lock.
    """
    await share_credentials_lock(db, member_id)
    if await db.fetchrow(_READ_ALLOWED, member_id, password_hash) is None:
        return None
    session = (session_id, address, user_agent, REFRESH_LIFETIME, method, member_id)
    created_at = await db.fetchval(_INSERT_SESSION, *session)
    await _insert_refresh_token(db, session_id, refresh_hash)
    return NewSession(session_id, created_at)


async def spend_refresh_token(db: Database, token_hash: bytes) -> SpentToken | None:
    """Use a refresh token up; None for one that is unknown or expired or whose session has ended.

    Of two at once the row lock lets one through; the other sees a spent token.
    """
    spent = await db.fetchrow(
        """
        update refresh_token t set spent_at = statement_timestamp()
        from session s
        where t.token_hash = $1 and t.spent_at is null and t.expires_at > statement_timestamp()
          and s.id = t.session_id and s.ended_at is null
        returning t.session_id, s.member_id
        """,
        token_hash,
    )
    if spent is not None:
        return SpentToken(SessionID(spent["session_id"]), UserID(spent["member_id"]), is_first_use=True)
    reused = await db.fetchrow(
        """
        select t.session_id, s.member_id from refresh_token t join session s on s.id = t.session_id
        where t.token_hash = $1 and t.spent_at is not null
        """,
        token_hash,
    )
    if reused is None:
        return None
    return SpentToken(SessionID(reused["session_id"]), UserID(reused["member_id"]), is_first_use=False)


async def continue_session(db: Database, session_id: SessionID, refresh_hash: bytes) -> NewSession:
    """Give the session its next refresh token; its thirty days start again."""
    now = await db.fetchval(
        """
        with continued as (
          update session set expires_at = statement_timestamp() + $2::interval, last_used_at = statement_timestamp()
          where id = $1 returning id
        )
        select statement_timestamp() from continued
        """,
        session_id,
        REFRESH_LIFETIME,
    )
    await _insert_refresh_token(db, session_id, refresh_hash)
    return NewSession(session_id, now)


async def _insert_refresh_token(db: Database, session_id: SessionID, token_hash: bytes) -> None:
    await db.execute(
        """
        insert into refresh_token (token_hash, session_id, expires_at)
        values ($1, $2, clock_timestamp() + $3::interval)
        """,
        token_hash,
        session_id,
        REFRESH_LIFETIME,
    )


async def end_session(db: Database, session_id: UUID, cause: SessionEnd) -> bool:
    """Whether it was still running."""
    status = await db.execute(
        "update session set ended_at = statement_timestamp(), ended_because = $2 where id = $1 and ended_at is null",
        session_id,
        cause,
    )
    await notify_revoked(db, session_subject(session_id))
    return str(status) == "UPDATE 1"


async def end_other_sessions(db: Database, member_id: UUID, *, kept: UUID, cause: SessionEnd) -> None:
    await db.execute(
        """
        update session set ended_at = statement_timestamp(), ended_because = $3
        where member_id = $1 and id <> $2 and ended_at is null
        """,
        member_id,
        kept,
        cause,
    )
    await notify_revoked(db, member_subject(member_id))


async def end_password_sessions(db: Database, organisation_id: UUID) -> None:
    """End what members other than ADMINs began with a password."""
    members = await db.fetch("select id from member where organisation_id = $1 and role <> 'ADMIN'", organisation_id)
    await db.execute(
        """
        update session set ended_at = statement_timestamp(), ended_because = $2
        where member_id = any($1::uuid[]) and ended_at is null and sign_in_method = 'PASSWORD'
        """,
        [member["id"] for member in members],
        SessionEnd.PASSWORDS_DISALLOWED,
    )
    await notify_revoked(db, organisation_subject(organisation_id))


async def list_sessions(db: Database, member_id: UUID, *, after: UUID | None, limit: int) -> list[Session]:
    """Where a member is signed in now, by id, which is by age."""
    rows = await db.fetch(
        """
        select s.id, s.member_id, s.created_at, s.last_used_at, s.address, s.user_agent,
               exists (select from console_session c where c.session_id = s.id) as is_console
        from session s
        where s.member_id = $1 and s.ended_at is null and s.expires_at > clock_timestamp()
          and ($2::uuid is null or s.id > $2)
        order by s.id limit $3
        """,
        member_id,
        after,
        limit,
    )
    return [
        read_row(Session, row, kind=SessionKind.CONSOLE if row["is_console"] else SessionKind.TOKEN) for row in rows
    ]


async def find_session_owner(db: Database, session_id: UUID) -> UserID | None:
    """Whose session it is, while it runs."""
    member_id = await db.fetchval(
        "select member_id from session where id = $1 and ended_at is null and expires_at > clock_timestamp()",
        session_id,
    )
    return None if member_id is None else UserID(member_id)


async def has_signed_in_within(db: Database, session_id: UUID, time: timedelta) -> bool:
    """Whether the session began so recently."""
    return bool(
        await db.fetchval(
            "select exists (select from session where id = $1 and created_at > clock_timestamp() - $2::interval)",
            session_id,
            time,
        )
    )


async def store_last_use(db: Database, session_id: UUID) -> None:
    await db.execute("update session set last_used_at = statement_timestamp() where id = $1", session_id)


# By a statement for each table: a distributed database plans each of them once, and a join every time.
_LIVE_SESSION: Final = """
    select sign_in_method, extract(epoch from clock_timestamp())::float8 as now,
           extract(epoch from expires_at - clock_timestamp())::float8 as lasts_s,
           last_used_at < clock_timestamp() - $3::interval as is_use_outdated
    from session
    where id = $1 and member_id = $2 and ended_at is null and expires_at > clock_timestamp()
"""
_MEMBER: Final = "select organisation_id, role, username, display_name from member where id = $1"


async def find_live_session(db: Database, session_id: UUID, member_id: UUID) -> LiveSession | None:
    """The caller of a session that has not ended, with what its role allows now."""
    session = await db.fetchrow(_LIVE_SESSION, session_id, member_id, LAST_USE_STEP)
    member = None if session is None else await db.fetchrow(_MEMBER, member_id)
    if session is None or member is None:
        return None
    policy = await read_policy(db, member_id, member["organisation_id"])
    if policy is None:
        return None
    networks = tuple(map(parse_network, policy["allowed_networks"]))
    needs_second_factor = policy["require_second_factor"] and session["sign_in_method"] == SignInMethod.PASSWORD
    caller = Caller(
        id=member_id,
        kind="USER",
        organisation_id=member["organisation_id"],
        organisation_kind=policy["organisation_kind"],
        role=member["role"],
        permissions=frozenset(permissions_of(Role(member["role"]), OrganisationKind(policy["organisation_kind"]))),
        session_id=session_id,
        username=member["username"],
        display_name=member["display_name"],
        allowed_networks=(networks,) if networks else (),
        has_second_factor=policy["has_second_factor"],
        must_enrol=needs_second_factor and not policy["has_second_factor"],
    )
    return LiveSession(caller, session["now"], session["lasts_s"], session["is_use_outdated"])
