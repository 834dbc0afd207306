"""Moving segments into blocks, joining blocks, and deleting what has expired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from gridloom.monitoring import compaction_rules as rules
from gridloom.monitoring.store.bodies import StoredSegment
from gridloom.monitoring.store.heads import NewSegment
from gridloom.platform.database.pool import Database
from gridloom.platform.database.statement import NamedStatement


async def try_fold_lock(db: Database, asset_key: int) -> bool:
    """One transaction compacts an asset at a time; readers need not know."""
    return bool(await db.fetchval("select pg_try_advisory_xact_lock(1480004101, $1)", asset_key))


@dataclass(frozen=True, slots=True)
class Pending:
    """The segments of one asset and day, in order, that have had time to settle."""

    asset_key: int
    day: date
    is_closed: bool
    sequences: Sequence[int]
    points: Sequence[int]


async def read_pending(
    db: Database,
    *,
    settle: timedelta = rules.COMPACTION_DELAY,
    closed_for: timedelta = rules.CLOSED_FOR,
    most: int = 100,
    asset_key: int | None = None,
) -> list[Pending]:
    """Days to compact, of one asset or of all: closed, or open and busy; the oldest writes first."""
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
        settle, closed_before, rules.BUSY_SEGMENTS, rules.BUSY_POINTS, most, asset_key,
    )  # fmt: skip
    return [Pending(**row) for row in rows]


async def _market_day_before(db: Database, ago: timedelta) -> date:
    """The market day so long ago on the platform's clock."""
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


async def put_segment(db: Database, segment: NewSegment) -> None:
    """The segment that replaces several: as settled as they were."""
    await db.execute(
        """
        insert into telemetry_segment (asset_key, sequence, day, points, body, written_at)
        values ($1, $2, $3, $4, $5, clock_timestamp() - $6::interval)
        """,
        segment.asset_key, segment.sequence, segment.day, segment.points, segment.body, rules.COMPACTION_DELAY,
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


_INSERT_BLOCK = NamedStatement("""
insert into telemetry_block (
  asset_key, first_day, last_day, signal_ids, points, first_us, starts, times, summaries, body)
values (:asset_key, :first_day, :last_day, :signal_ids, :points, :first_us, :starts, :times, :summaries, :body)
""")


async def put_block(db: Database, asset_key: int, block: PackedBlock, last_sequence: int) -> None:
    """A block in place of all that its days held, segments up to a sequence."""
    await db.execute(
        "delete from telemetry_segment where asset_key = $1 and day between $2 and $3 and sequence <= $4",
        asset_key, block.first_day, block.last_day, last_sequence,
    )  # fmt: skip
    await db.execute(
        "delete from telemetry_block where asset_key = $1 and first_day >= $2 and last_day <= $3",
        asset_key, block.first_day, block.last_day,
    )  # fmt: skip
    await _INSERT_BLOCK.execute(db, block, asset_key=asset_key)


async def joinable_spans(db: Database, asset_key: int) -> list[tuple[date, date]]:
    """The months of an asset of which so many days are still apart, each from its first day to its last, unless they
    hold too many points for one block."""
    rows = await db.fetch(
        """
        select min(first_day) as first_day, max(last_day) as last_day
        from telemetry_block, lateral (select max(n) as densest, sum(n) as total from unnest(points) n) counted
        where asset_key = $1
        group by date_trunc('month', first_day::timestamp)
        having count(*) filter (where first_day = last_day) >= $2 and sum(densest) <= $3 and sum(total) <= $4
        order by 1
        """,
        asset_key, rules.MIN_JOINED_DAYS, rules.MAX_JOINED_SIGNAL_POINTS, rules.MAX_JOINED_POINTS,
    )  # fmt: skip
    return [(row["first_day"], row["last_day"]) for row in rows]


async def may_write_blocks(db: Database, wait: timedelta) -> bool:
    """Whether no replica of an earlier release, which would not find blocks, runs any more: the upgrade that brought
    them is so long ago, or the database was made with it."""
    may: bool = await db.fetchval(
        """
        select applied_at <= clock_timestamp() - $1::interval
          or applied_at < (select min(applied_at) from schema_migration) + interval '30 seconds'
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
    """Delete the blocks whose last day has expired, of so many assets at most; how many are gone."""
    before = await _market_day_before(db, keep)
    expired = await db.fetch(
        "select distinct asset_key from telemetry_block where last_day < $1 limit $2", before, max_assets
    )
    gone = 0
    for row in expired:
        deleted = await db.execute(
            "delete from telemetry_block where asset_key = $1 and last_day < $2", row["asset_key"], before
        )
        gone += int(deleted.split()[-1])
    return gone
