"""Reading: hot and cold always in one statement, or a point on its way from one to the other could be missed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from gridloom.database.pool import Database


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
    return _read_bodies(rows)


async def points_between(
    db: Database, asset_key: int, wanted_ids: Sequence[int], first_day: date, last_day: date
) -> tuple[int, dict[int, int]]:
    """How many points the days hold: of all signals in segments, and of each wanted one in chunks."""
    rows = await db.fetch(
        """
        select null::smallint as signal_id, coalesce(sum(points), 0)::bigint as points from telemetry_segment
        where asset_key = $1 and day between $3 and $4
        union all
        select signal_id, sum(points)::bigint from telemetry_chunk
        where asset_key = $1 and signal_id = any($2::smallint[]) and day between $3 and $4
        group by signal_id
        """,
        asset_key, wanted_ids, first_day, last_day,
    )  # fmt: skip
    hot = next(row["points"] for row in rows if row["signal_id"] is None)
    return hot, {row["signal_id"]: row["points"] for row in rows if row["signal_id"] is not None}


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
    return _read_bodies(rows)


def _read_bodies(rows: Iterable[Iterable[Any]]) -> tuple[list[StoredSegment], list[StoredChunk]]:
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
    hot, cold = _read_bodies([(row["day"], row["sequence"], row["signal_id"], row["body"]) for row in with_points])
    summaries = [
        DaySummary(row["signal_id"], row["day"], *tuple(row.values())[4:]) for row in rows if row["body"] is None
    ]
    return hot, cold, summaries


async def next_day(db: Database, asset_key: int, signal_id: int, from_day: date) -> date | None:
    """The first day from the given one on that may hold points of the signal; None if there is none."""
    found: date | None = await db.fetchval(
        """
        select least(
          (select day from telemetry_chunk
           where asset_key = $1 and signal_id = $2 and day >= $3 order by day limit 1),
          (select day from telemetry_segment where asset_key = $1 and day >= $3 order by day limit 1))
        """,
        asset_key, signal_id, from_day,
    )  # fmt: skip
    return found


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
    return [StoredSegment(**row) for row in rows]


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
