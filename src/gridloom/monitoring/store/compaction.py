"""Moving segments into chunks, and forgetting chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from gridloom.database.pool import Database
from gridloom.monitoring.store.heads import NewSegment
from gridloom.monitoring.store.series import StoredSegment


@dataclass(frozen=True, slots=True)
class NewChunk:
    signal_id: int
    points: int
    first_us: int
    last_us: int
    first_value: float
    last_value: float
    lowest: float
    highest: float
    total: float
    body: bytes


async def try_fold_lock(db: Database, asset_key: int) -> bool:
    """One replica folds an asset at a time; writers and readers need not know."""
    taken: bool = await db.fetchval("select pg_try_advisory_xact_lock(1480004101, $1)", asset_key)
    return taken


@dataclass(frozen=True, slots=True)
class Pending:
    """The segments of one asset and day, in order, that have had time to settle."""

    asset_key: int
    day: date
    is_closed: bool
    sequences: Sequence[int]
    points: Sequence[int]


async def pending(
    db: Database,
    settle: timedelta,
    closed_for: timedelta,
    busy_segments: int,
    busy_points: int,
    most: int,
    asset_key: int | None,
) -> list[Pending]:
    """Days that are closed, or open and busy; the oldest writes first."""
    closed_before = await _market_day_before(db, closed_for)
    rows = await db.fetch(
        """
        select asset_key, day, day < $2::date as is_closed,
               array_agg(sequence order by sequence) as sequences, array_agg(points order by sequence) as points
        from telemetry_segment
        where written_at <= clock_timestamp() - $1::interval and ($6::int is null or asset_key = $6)
        group by asset_key, day
        having day < $2::date or count(*) >= $3 or sum(points) >= $4
        order by min(written_at), asset_key, day
        limit $5
        """,
        settle, closed_before, busy_segments, busy_points, most, asset_key,
    )  # fmt: skip
    return [Pending(**row) for row in rows]


async def _market_day_before(db: Database, ago: timedelta) -> date:
    """The market day at the moment that is so long ago on the platform's clock."""
    day: date = await db.fetchval("select ((platform_now() - $1::interval) at time zone 'Europe/Berlin')::date", ago)
    return day


async def take_segments(
    db: Database, asset_key: int, day: date, first_sequence: int, last_sequence: int
) -> list[StoredSegment]:
    """Remove segments and have them; they come back if the transaction does not commit."""
    rows = await db.fetch(
        """
        delete from telemetry_segment
        where asset_key = $1 and day = $2 and sequence between $3 and $4
        returning day, sequence, body
        """,
        asset_key, day, first_sequence, last_sequence,
    )  # fmt: skip
    return sorted((StoredSegment(**row) for row in rows), key=lambda segment: segment.sequence)


async def put_segment(db: Database, segment: NewSegment, settle: timedelta) -> None:
    """What replaces several: as settled as they were."""
    await db.execute(
        """
        insert into telemetry_segment (asset_key, sequence, day, points, body, written_at)
        values ($1, $2, $3, $4, $5, clock_timestamp() - $6::interval)
        """,
        segment.asset_key, segment.sequence, segment.day, segment.points, segment.body, settle,
    )  # fmt: skip


async def chunks_on(db: Database, asset_key: int, wanted_ids: Sequence[int], day: date) -> dict[int, bytes]:
    rows = await db.fetch(
        """
        select signal_id, body from telemetry_chunk
        where asset_key = $1 and signal_id = any($2::smallint[]) and day = $3
        """,
        asset_key, wanted_ids, day,
    )  # fmt: skip
    return {row["signal_id"]: row["body"] for row in rows}


async def put_chunks(db: Database, asset_key: int, day: date, chunks: Sequence[NewChunk]) -> None:
    await db.execute(
        """
        insert into telemetry_chunk (asset_key, day, signal_id, points, first_us, last_us, first_value, last_value,
                                     lowest, highest, total, body)
        select $1, $2, * from unnest($3::smallint[], $4::int[], $5::bigint[], $6::bigint[], $7::float8[], $8::float8[],
                                     $9::float8[], $10::float8[], $11::float8[], $12::bytea[])
        on conflict (asset_key, signal_id, day) do update
          set points = excluded.points, first_us = excluded.first_us, last_us = excluded.last_us,
              first_value = excluded.first_value, last_value = excluded.last_value, lowest = excluded.lowest,
              highest = excluded.highest, total = excluded.total, body = excluded.body
        """,
        asset_key, day,
        [chunk.signal_id for chunk in chunks],
        [chunk.points for chunk in chunks],
        [chunk.first_us for chunk in chunks],
        [chunk.last_us for chunk in chunks],
        [chunk.first_value for chunk in chunks],
        [chunk.last_value for chunk in chunks],
        [chunk.lowest for chunk in chunks],
        [chunk.highest for chunk in chunks],
        [chunk.total for chunk in chunks],
        [chunk.body for chunk in chunks],
    )  # fmt: skip


async def backlog(db: Database) -> tuple[int, int]:
    """How many segments and points wait to be folded."""
    row = await db.fetchrow("select count(*), coalesce(sum(points), 0)::bigint from telemetry_segment")
    assert row is not None
    return row[0], row[1]


async def drop_chunks_before(db: Database, keep: timedelta, most: int) -> int:
    """Forget the oldest days, at most so many chunks at once; how many are gone."""
    gone: int = await db.fetchval(
        """
        with old as (
          select asset_key, signal_id, day from telemetry_chunk
          where day < $1
          order by day limit $2
        ), dropped as (
          delete from telemetry_chunk chunk using old
          where chunk.asset_key = old.asset_key and chunk.signal_id = old.signal_id and chunk.day = old.day
          returning 1
        )
        select count(*) from dropped
        """,
        await _market_day_before(db, keep), most,
    )  # fmt: skip
    return gone
