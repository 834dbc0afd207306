"""Attempts to log in, in the database: buckets that every replica fills and time empties."""

from __future__ import annotations

from uuid import UUID

from gridloom.platform.database.pool import Database
from gridloom.platform.identity.login.throttling import KNOWN_NETWORK_RETENTION, Bucket


async def count_attempt(db: Database, buckets: list[Bucket]) -> float:
    """0 when the attempt is counted; otherwise the seconds until every bucket has room for it."""
    wait_s = await db.fetchval(
        "select login_attempt($1, $2, $3)",
        [bucket.subject for bucket in buckets],
        [float(bucket.capacity) for bucket in buckets],
        [bucket.seconds_each for bucket in buckets],
    )
    return float(wait_s)


async def give_back_attempt(db: Database, buckets: list[Bucket]) -> None:
    """An attempt that succeeded, or never got to the password, has not happened."""
    await give_back_attempts(db, [bucket.subject for bucket in buckets])


async def give_back_attempts(db: Database, subjects: list[bytes]) -> None:
    """The same, by the subjects of the buckets."""
    await db.execute(
        """
        with locked as (select subject from login_throttle where subject = any($1::bytea[]) order by subject for update)
        update login_throttle t set level = greatest(0, t.level - 1) from locked where t.subject = locked.subject
        """,
        subjects,
    )


async def is_known_network(db: Database, member_id: UUID, network: str) -> bool:
    """Whether the member has signed in from there lately."""
    return bool(
        await db.fetchval(
            """
            select exists (select from sign_in_network
                           where member_id = $1 and network = $2 and last_at > clock_timestamp() - $3::interval)
            """,
            member_id,
            network,
            KNOWN_NETWORK_RETENTION,
        )
    )


async def store_known_network(db: Database, member_id: UUID, network: str) -> None:
    await db.execute(
        """
        insert into sign_in_network (member_id, network, last_at) values ($1, $2, clock_timestamp())
        on conflict (member_id, network) do update set last_at = excluded.last_at
        """,
        member_id,
        network,
    )
