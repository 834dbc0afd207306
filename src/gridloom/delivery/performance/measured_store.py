"""What was measured of batteries by market day, with versions, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Final

from gridloom.database.pool import Database

_RECORDING: Final = 7_108_261
"""The advisory lock of the process that records a battery's days, together with the battery's key."""


async def lock_measured(db: Database, asset_key: int) -> None:
    """Until the transaction ends no other process records what was measured of this battery."""
    await db.execute("select pg_advisory_xact_lock($1, $2)", _RECORDING, asset_key)


async def read_measured_days(
    db: Database, asset_key: int, first: date, last: date, as_of: datetime | None = None
) -> dict[date, bytes]:
    """The last version of each day, or the one that was the last at a moment."""
    rows = await db.fetch(
        """select distinct on (day) day, body from measured_day
           where asset_key = $1 and day between $2 and $3 and ($4::timestamptz is null or recorded_at <= $4)
           order by day, version desc""",
        asset_key,
        first,
        last,
        as_of,
    )
    return {row["day"]: row["body"] for row in rows}


async def add_measured_days(
    db: Database, asset_key: int, days: Sequence[date], bodies: Sequence[bytes], now: datetime
) -> None:
    """Under the lock."""
    await db.execute(
        """insert into measured_day (asset_key, day, version, recorded_at, body)
           select $1, n.day, coalesce(known.version, 0) + 1, $4, n.body
           from unnest($2::date[], $3::bytea[]) n(day, body)
           left join (select day, max(version) as version from measured_day
                      where asset_key = $1 and day = any($2) group by day) known on known.day = n.day""",
        asset_key,
        list(days),
        list(bodies),
        now,
    )


async def read_unfolded_days(db: Database, asset_key: int, first: date, last: date) -> list[date]:
    """Market days with telemetry that is not folded yet."""
    rows = await db.fetch(
        """select distinct day from telemetry_segment where asset_key = $1 and day between $2 and $3 order by day""",
        asset_key,
        first,
        last,
    )
    return [row["day"] for row in rows]
