"""The clocks that the database keeps: the business's, which a sandbox may move, and the real one."""

from __future__ import annotations

from datetime import datetime

from gridloom.platform.database.pool import Database


async def platform_now(db: Database) -> datetime:
    """The business clock of auctions, gates and schedules, the same for every replica."""
    now: datetime = await db.fetchval("select platform_now()")
    return now


async def platform_now_to_the_ms(db: Database) -> datetime:
    """The business clock as the interface shows times, cut off at the millisecond."""
    now: datetime = await db.fetchval("select date_trunc('milliseconds', platform_now())")
    return now


async def real_now(db: Database) -> datetime:
    """The real clock, for what a moved business clock must not hasten or delay."""
    now: datetime = await db.fetchval("select clock_timestamp()")
    return now
