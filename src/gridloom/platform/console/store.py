"""Cookies of the console in the database: only their hashes, each of one login."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row


@dataclass(frozen=True, slots=True)
class ActiveSession:
    """The login behind a cookie, when it was looked up."""

    session_id: UUID
    member_id: UUID
    organisation_id: UUID
    created_at: datetime
    now: datetime


async def insert_cookie(db: Database, cookie_hash: bytes, session_id: UUID) -> None:
    await db.execute(
        "insert into console_session (cookie_hash, session_id) values ($1, $2)",
        cookie_hash,
        session_id,
    )


async def find_session(db: Database, cookie_hash: bytes, *, longest: timedelta) -> ActiveSession | None:
    """The login behind a cookie; None for one that is unknown, over or ended, as it is `longest` after it began."""
    row = await db.fetchrow(
        """
        select s.id, s.member_id, m.organisation_id, s.created_at, statement_timestamp() as now
        from console_session c join session s on s.id = c.session_id join member m on m.id = s.member_id
        where c.cookie_hash = $1 and s.ended_at is null and s.expires_at > statement_timestamp()
          and s.created_at > statement_timestamp() - $2::interval
        """,
        cookie_hash,
        longest,
    )
    return None if row is None else read_row(ActiveSession, row, session_id=row["id"])


async def continue_session(
    db: Database, cookie_hash: bytes, *, idle: timedelta, longest: timedelta
) -> ActiveSession | None:
    """The same, used now: it ends when it has not been used for `idle`."""
    found = await find_session(db, cookie_hash, longest=longest)
    if found is None:
        return None
    # The times are passed: on a distributed database an UPDATE calls no function that is not immutable.
    done = await db.execute(
        "update session set expires_at = $2, last_used_at = $3 where id = $1 and ended_at is null",
        found.session_id,
        min(found.now + idle, found.created_at + longest),
        found.now,
    )
    return None if done == "UPDATE 0" else found


async def begin_console_time(db: Database, session_id: UUID, idle: timedelta) -> None:
    """Let a session that has just begun end when it is not used."""
    created_at = await db.fetchval("select created_at from session where id = $1", session_id)
    await db.execute("update session set expires_at = $2 where id = $1", session_id, created_at + idle)


async def read_organisation(db: Database, organisation_id: UUID) -> tuple[str, str] | None:
    """Name and kind; None where a reset of the sandbox came since the session was read."""
    row = await db.fetchrow("select name, kind from organisation where id = $1", organisation_id)
    return None if row is None else (row["name"], row["kind"])
