"""Moving segments into blocks, joining blocks, and deleting what has expired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from gridloom.database.pool import Database
from gridloom.monitoring.store.heads import NewSegment
from gridloom.monitoring.store.series import StoredSegment


async def try_fold_lock(db: Database, asset_key: int) -> bool:
    """One transaction compacts an asset at a time; readers need not know."""
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


@dataclass(frozen=True, slots=True)
class PackedBlock:
    first_day: date
    last_day: date
    signal_ids: list[int]
    points: list[int]
    first_us: list[int]
    starts: list[int]
    times: bytes
    summaries: bytes
    body: bytes


async def put_block(db: Database, asset_key: int, block: PackedBlock, last_sequence: int) -> None:
    """A block in place of all that its days held, segments up to a sequence."""
    await db.execute(
        "delete from telemetry_segment where asset_key = $1 and day between $2 and $3 and sequence <= $4",
        asset_key, block.first_day, block.last_day, last_sequence,
    )  # fmt: skip
    await db.execute(
        "delete from telemetry_chunk where asset_key = $1 and day between $2 and $3",
        asset_key, block.first_day, block.last_day,
    )  # fmt: skip
    await db.execute(
        "delete from telemetry_block where asset_key = $1 and first_day >= $2 and last_day <= $3",
        asset_key, block.first_day, block.last_day,
    )  # fmt: skip
    await db.execute(
        """
        insert into telemetry_block
          (asset_key, first_day, last_day, signal_ids, points, first_us, starts, times, summaries, body)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        """,
        asset_key, block.first_day, block.last_day, block.signal_ids, block.points, block.first_us, block.starts,
        block.times, block.summaries, block.body,
    )  # fmt: skip


async def joinable_spans(
    db: Database, asset_key: int, min_days: int, max_signal_points: int, max_points: int
) -> list[tuple[date, date]]:
    """The months of an asset of which so many days are still apart, each from its first day to its last, unless they
    hold too many points for one block."""
    rows = await db.fetch(
        """
        with part as (
          select first_day, last_day, (select max(n) from unnest(points) n) as densest,
                 (select sum(n) from unnest(points) n) as total
          from telemetry_block where asset_key = $1
          union all
          select day, day, max(points), sum(points) from telemetry_chunk where asset_key = $1 group by day
        )
        select min(first_day) as first_day, max(last_day) as last_day from part
        group by date_trunc('month', first_day::timestamp)
        having count(*) filter (where first_day = last_day) >= $2 and sum(densest) <= $3 and sum(total) <= $4
        order by 1
        """,
        asset_key, min_days, max_signal_points, max_points,
    )  # fmt: skip
    return [(row["first_day"], row["last_day"]) for row in rows]


async def may_write_blocks(db: Database, wait: timedelta) -> bool:
    """Whether the upgrade that brought blocks is so long ago that no replica of an earlier release, which would not
    find them, runs any more."""
    may: bool = await db.fetchval(
        """
        select applied_at <= clock_timestamp() - $1::interval
        from schema_migration where name = '0340_telemetry_blocks'
        """,
        wait,
    )
    return may


async def backlog(db: Database) -> tuple[int, int]:
    """How many segments and points wait to be compacted."""
    row = await db.fetchrow("select count(*), coalesce(sum(points), 0)::bigint from telemetry_segment")
    assert row is not None
    return row[0], row[1]


async def drop_before(db: Database, keep: timedelta, max_assets: int) -> int:
    """Delete the telemetry of expired days, of so many assets at most; how many rows are gone. A block goes when its
    last day has expired."""
    before = await _market_day_before(db, keep)
    expired = await db.fetch(
        """
        select asset_key from telemetry_block where last_day < $1
        union
        select asset_key from telemetry_chunk where day < $1
        limit $2
        """,
        before, max_assets,
    )  # fmt: skip
    gone = 0
    for row in expired:
        for statement in (
            "delete from telemetry_block where asset_key = $1 and last_day < $2",
            "delete from telemetry_chunk where asset_key = $1 and day < $2",
        ):
            gone += int((await db.execute(statement, row["asset_key"], before)).split()[-1])
    return gone
