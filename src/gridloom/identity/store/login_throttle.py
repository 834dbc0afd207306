"""Failed logins in the database: buckets that every replica fills and time empties."""

from __future__ import annotations

from gridloom.database.pool import Database
from gridloom.identity.throttling import Bucket


async def read_wait_s(db: Database, buckets: list[Bucket]) -> float:
    """Seconds until every bucket has room for one more failure; 0 when all have it now."""
    wait_s = await db.fetchval(
        """
        select max((greatest(0, t.level - extract(epoch from clock_timestamp() - t.measured_at) / b.seconds_each)
                    - (b.capacity - 1)) * b.seconds_each)
        from unnest($1::bytea[], $2::float8[], $3::float8[]) as b (subject, capacity, seconds_each)
        join login_throttle t on t.subject = b.subject
        """,
        [bucket.subject for bucket in buckets],
        [float(bucket.capacity) for bucket in buckets],
        [bucket.seconds_each for bucket in buckets],
    )
    return max(0.0, float(wait_s or 0.0))


async def count_failure(db: Database, bucket: Bucket) -> None:
    await db.execute(
        """
        insert into login_throttle as t (subject, level, measured_at, empty_at)
        values ($1, 1, clock_timestamp(), clock_timestamp() + $2::float8 * $3::float8 * interval '1 second')
        on conflict (subject) do update
          set level = least($2, 1 + greatest(0,
                t.level - extract(epoch from clock_timestamp() - t.measured_at) / $3)),
              measured_at = clock_timestamp(), empty_at = excluded.empty_at
        """,
        bucket.subject,
        float(bucket.capacity),
        bucket.seconds_each,
    )


async def forgive(db: Database, bucket: Bucket) -> None:
    """A right password empties the bucket of its user."""
    await db.execute("delete from login_throttle where subject = $1", bucket.subject)


async def forget_empty_buckets(db: Database) -> None:
    await db.execute("delete from login_throttle where empty_at < clock_timestamp()")
