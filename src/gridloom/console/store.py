"""Cookies of the console in the database: only their hashes, each of one login."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from gridloom.database.pool import Database


@dataclass(frozen=True, slots=True)
class LivingSession:
    """A login that a cookie stands for, at the moment it was looked up."""

    session_id: UUID
    member_id: UUID
    organisation_id: UUID
    now: datetime


async def insert_cookie(db: Database, cookie_hash: bytes, session_id: UUID) -> None:
    await db.execute(
        "insert into console_session (cookie_hash, session_id) values ($1, $2)",
        cookie_hash,
        session_id,
    )


async def continue_session(db: Database, cookie_hash: bytes, lifetime: timedelta) -> LivingSession | None:
    """The login behind a cookie, whose days start again; None for one that is unknown, over or ended."""
    row = await db.fetchrow(
        """
        with continued as (
          update session s set expires_at = statement_timestamp() + $2::interval
          from console_session c, member m
          where c.cookie_hash = $1 and s.id = c.session_id and m.id = s.member_id
            and s.ended_at is null and s.expires_at > statement_timestamp()
          returning s.id, s.member_id, m.organisation_id
        )
        select id, member_id, organisation_id, statement_timestamp() as now from continued
        """,
        cookie_hash,
        lifetime,
    )
    if row is None:
        return None
    return LivingSession(row["id"], row["member_id"], row["organisation_id"], row["now"])


async def read_organisation(db: Database, organisation_id: UUID) -> tuple[str, str]:
    """Name and kind."""
    row = await db.fetchrow("select name, kind from organisation where id = $1", organisation_id)
    assert row is not None, "a member has an organisation"
    return row["name"], row["kind"]
