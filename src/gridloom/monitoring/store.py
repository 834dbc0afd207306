"""All SQL of monitoring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg

from gridloom.database.pool import Database

CHANNEL = "telemetry"


@dataclass(frozen=True, slots=True)
class Head:
    """An asset's telemetry as a whole; whoever wrote it holds the lock."""

    asset_key: int
    born: UUID
    sequence: int
    signal_count: int
    latest: bytes
    is_watched: bool


@dataclass(frozen=True, slots=True)
class NewSegment:
    asset_key: int
    sequence: int
    day: date
    points: int
    body: bytes


@dataclass(frozen=True, slots=True)
class StoredSegment:
    day: date
    sequence: int
    body: bytes


@dataclass(frozen=True, slots=True)
class StoredChunk:
    signal_id: int
    day: date
    body: bytes


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


async def platform_now(db: Database) -> datetime:
    now: datetime = await db.fetchval("select platform_now()")
    return now


# --- writing ---------------------------------------------------------------------------------------------------------


async def lock_heads(db: Database, asset_keys: Sequence[int]) -> dict[int, Head]:
    """Take the next sequence of each asset; its other writers wait until this transaction ends.

    Sorted, so that two requests with the same assets never wait for each other.
    """
    rows = await db.fetch(
        """
        insert into telemetry_head as head (asset_key, sequence) select unnest($1::int[]), 1
        on conflict (asset_key) do update set sequence = head.sequence + 1
        returning asset_key, born, sequence, signal_count, latest,
                  coalesce(watched_until > clock_timestamp(), false) as is_watched
        """,
        sorted(asset_keys),
    )
    return {row["asset_key"]: _head(row) for row in rows}


def _head(row: asyncpg.Record) -> Head:
    return Head(*row.values())


async def signal_ids(db: Database, asset_key: int) -> dict[str, int]:
    rows = await db.fetch("select name, signal_id from telemetry_signal where asset_key = $1", asset_key)
    return {row["name"]: row["signal_id"] for row in rows}


async def add_signals(db: Database, asset_key: int, names: Mapping[str, int]) -> None:
    """Under the head's lock, so ids are given once and without gaps."""
    await db.execute(
        """
        with added as (
          insert into telemetry_signal (asset_key, signal_id, name)
          select $1, * from unnest($2::smallint[], $3::text[])
          returning 1
        )
        update telemetry_head set signal_count = signal_count + (select count(*) from added) where asset_key = $1
        """,
        asset_key, list(names.values()), list(names),
    )  # fmt: skip


async def append(db: Database, segments: Sequence[NewSegment], latest: Mapping[int, bytes]) -> None:
    """The new segments of all assets of a request, and each asset's latest points."""
    await db.execute(
        """
        with moved as (
          update telemetry_head head set latest = new.latest
          from unnest($6::int[], $7::bytea[]) as new (asset_key, latest)
          where head.asset_key = new.asset_key
        )
        insert into telemetry_segment (asset_key, sequence, day, points, body)
        select * from unnest($1::int[], $2::bigint[], $3::date[], $4::int[], $5::bytea[])
        """,
        [segment.asset_key for segment in segments],
        [segment.sequence for segment in segments],
        [segment.day for segment in segments],
        [segment.points for segment in segments],
        [segment.body for segment in segments],
        list(latest.keys()),
        list(latest.values()),
    )


async def notify(db: Database, asset_keys: Sequence[int]) -> None:
    """Notifying commits wait for each other, so only what is watched is told."""
    await db.execute("select pg_notify($1, key::text) from unnest($2::int[]) as key", CHANNEL, list(asset_keys))


# --- reading: hot and cold always in one statement, or a point on its way from one to the other could be missed


async def find_head(db: Database, asset_key: int) -> Head | None:
    row = await db.fetchrow(
        """
        select asset_key, born, sequence, signal_count, latest,
               coalesce(watched_until > clock_timestamp(), false) as is_watched
        from telemetry_head where asset_key = $1
        """,
        asset_key,
    )
    return None if row is None else _head(row)


async def bodies_between(
    db: Database, asset_key: int, wanted_ids: Sequence[int], first_day: date, last_day: date
) -> tuple[list[StoredSegment], list[StoredChunk]]:
    rows = await db.fetch(
        """
        select day, sequence, null::smallint as signal_id, body from telemetry_segment
        where asset_key = $1 and day between $3 and $4
        union all
        select day, null, signal_id, body from telemetry_chunk
        where asset_key = $1 and signal_id = any($2::smallint[]) and day between $3 and $4
        """,
        asset_key, wanted_ids, first_day, last_day,
    )  # fmt: skip
    return _bodies(rows)


async def bodies_on(
    db: Database, asset_key: int, wanted_ids: Sequence[int], days: Sequence[date]
) -> tuple[list[StoredSegment], list[StoredChunk]]:
    rows = await db.fetch(
        """
        select day, sequence, null::smallint as signal_id, body from telemetry_segment
        where asset_key = $1 and day = any($3::date[])
        union all
        select day, null, signal_id, body from telemetry_chunk
        where asset_key = $1 and signal_id = any($2::smallint[]) and day = any($3::date[])
        """,
        asset_key, wanted_ids, days,
    )  # fmt: skip
    return _bodies(rows)


def _bodies(rows: Iterable[Iterable[Any]]) -> tuple[list[StoredSegment], list[StoredChunk]]:
    segments, chunks = [], []
    for day, sequence, signal_id, body in rows:
        if sequence is not None:
            segments.append(StoredSegment(day, sequence, body))
        else:
            chunks.append(StoredChunk(signal_id, day, body))
    segments.sort(key=lambda segment: segment.sequence)
    chunks.sort(key=lambda chunk: chunk.day)
    return segments, chunks


@dataclass(frozen=True, slots=True)
class DaySummary:
    """A closed day of a signal, without its points."""

    signal_id: int
    day: date
    points: int
    first_value: float
    last_value: float
    lowest: float
    highest: float
    total: float


async def summaries_between(
    db: Database, asset_key: int, wanted_ids: Sequence[int], first_day: date, last_day: date, partial: Sequence[date]
) -> tuple[list[StoredSegment], list[StoredChunk], list[DaySummary]]:
    """Days by their summaries; with their points where segments lie over them, the sum overflows, or only a part is
    asked for."""
    rows = await db.fetch(
        """
        with hot as materialized (
          select day, sequence, body from telemetry_segment where asset_key = $1 and day between $3 and $4
        )
        select day, sequence, null::smallint as signal_id, body, null::int as points, null::float8 as first_value,
               null::float8 as last_value, null::float8 as lowest, null::float8 as highest, null::float8 as total
        from hot
        union all
        select day, null, signal_id,
               case when day = any($5::date[]) or day in (select day from hot)
                      or not (total > '-infinity' and total < 'infinity') then body end,
               points, first_value, last_value, lowest, highest, total
        from telemetry_chunk
        where asset_key = $1 and signal_id = any($2::smallint[]) and day between $3 and $4
        """,
        asset_key, wanted_ids, first_day, last_day, partial,
    )  # fmt: skip
    with_points = [row for row in rows if row["body"] is not None]
    hot, cold = _bodies([(row["day"], row["sequence"], row["signal_id"], row["body"]) for row in with_points])
    summaries = [
        DaySummary(row["signal_id"], row["day"], *tuple(row.values())[4:]) for row in rows if row["body"] is None
    ]
    return hot, cold, summaries


async def typical_points_a_day(db: Database, asset_key: int, signal_id: int) -> int:
    """What a day of the signal held when it was last folded; 0 where no day was."""
    points = await db.fetchval(
        "select points from telemetry_chunk where asset_key = $1 and signal_id = $2 order by day desc limit 1",
        asset_key, signal_id,
    )  # fmt: skip
    return points or 0


async def first_times(db: Database, asset_key: int) -> tuple[dict[int, int], list[StoredSegment]]:
    """Each signal's first folded time, and the segments, which may begin before it."""
    rows = await db.fetch(
        """
        select null::date as day, null::bigint as sequence, signal.signal_id, chunk.first_us, null::bytea as body
        from telemetry_signal signal cross join lateral (
          select first_us from telemetry_chunk chunk
          where chunk.asset_key = $1 and chunk.signal_id = signal.signal_id order by day limit 1) chunk
        where signal.asset_key = $1
        union all
        select day, sequence, null, null, body from telemetry_segment where asset_key = $1
        """,
        asset_key,
    )
    firsts = {row["signal_id"]: row["first_us"] for row in rows if row["sequence"] is None}
    return firsts, [
        StoredSegment(row["day"], row["sequence"], row["body"]) for row in rows if row["sequence"] is not None
    ]


# --- streaming -------------------------------------------------------------------------------------------------------


async def watch(db: Database, asset_key: int, lease: timedelta) -> Head:
    """Have writers notify for a while."""
    row = await db.fetchrow(
        """
        insert into telemetry_head as head (asset_key, watched_until) values ($1, clock_timestamp() + $2::interval)
        on conflict (asset_key) do update set watched_until = greatest(head.watched_until, excluded.watched_until)
        returning asset_key, born, sequence, signal_count, latest, true as is_watched
        """,
        asset_key, lease,
    )  # fmt: skip
    assert row is not None
    return _head(row)


async def segments_after(db: Database, asset_key: int, sequence: int, day: date, limit: int) -> list[StoredSegment]:
    """The asset's segments after a place in the order of writing, the first `limit` of them."""
    rows = await db.fetch(
        """
        select day, sequence, body from telemetry_segment
        where asset_key = $1 and (sequence, day) > ($2, $3)
        order by sequence, day limit $4
        """,
        asset_key, sequence, day, limit,
    )  # fmt: skip
    return [StoredSegment(*row.values()) for row in rows]


async def is_complete_after(db: Database, asset_key: int, sequence: int) -> bool:
    """Whether every request after the given one still has its segments, none folded away."""
    complete: bool | None = await db.fetchval(
        """
        select head.sequence - $2 = (
          select count(distinct sequence) from telemetry_segment where asset_key = $1 and sequence > $2)
        from telemetry_head head where asset_key = $1
        """,
        asset_key, sequence,
    )  # fmt: skip
    return bool(complete)


# --- folding ---------------------------------------------------------------------------------------------------------


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
    rows = await db.fetch(
        """
        with closed as materialized (
          select ((platform_now() - $2::interval) at time zone 'Europe/Berlin')::date as before
        )
        select asset_key, day, day < closed.before as is_closed,
               array_agg(sequence order by sequence) as sequences, array_agg(points order by sequence) as points
        from telemetry_segment, closed
        where written_at <= clock_timestamp() - $1::interval and ($6::int is null or asset_key = $6)
        group by asset_key, day, closed.before
        having day < closed.before or count(*) >= $3 or sum(points) >= $4
        order by min(written_at), asset_key, day
        limit $5
        """,
        settle, closed_for, busy_segments, busy_points, most, asset_key,
    )  # fmt: skip
    return [Pending(*row.values()) for row in rows]


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
    return sorted((StoredSegment(*row.values()) for row in rows), key=lambda segment: segment.sequence)


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
          where day < ((platform_now() - $1::interval) at time zone 'Europe/Berlin')::date
          order by day limit $2
        ), dropped as (
          delete from telemetry_chunk chunk using old
          where chunk.asset_key = old.asset_key and chunk.signal_id = old.signal_id and chunk.day = old.day
          returning 1
        )
        select count(*) from dropped
        """,
        keep, most,
    )  # fmt: skip
    return gone
