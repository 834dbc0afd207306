"""Reading: segments, chunks and blocks always in one statement, or a point on its way between them could be missed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
    """A day of one signal, as earlier releases stored it."""

    signal_id: int
    day: date
    body: bytes


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """What was asked for of a block: of the signals at some places, their values or their days."""

    first_day: date
    last_day: date
    signal_ids: Sequence[int]
    places: Sequence[int]
    times: bytes
    slices: Sequence[bytes]
    summaries: Sequence[bytes]


@dataclass(slots=True)
class StoredBodies:
    """Each in the order in which later ones win; chunks win over blocks, segments over both."""

    segments: list[StoredSegment] = field(default_factory=list)
    chunks: list[StoredChunk] = field(default_factory=list)
    blocks: list[StoredBlock] = field(default_factory=list)

    @property
    def packed_bytes(self) -> int:
        return (
            sum(len(segment.body) for segment in self.segments)
            + sum(len(chunk.body) for chunk in self.chunks)
            + sum(len(part) for block in self.blocks for part in (*block.slices, block.times))
        )

    @property
    def count(self) -> int:
        return len(self.segments) + len(self.chunks) + len(self.blocks)


async def bodies_between(
    db: Database, asset_key: int, wanted_ids: Sequence[int], first_day: date, last_day: date
) -> StoredBodies:
    rows = await db.fetch(
        """
        select 'segment' as kind, day, sequence, body
             , null::date as last_day, null::smallint[] as signal_ids, null::int[] as places, null::bytea as times
             , null::bytea[] as slices, null::bytea[] as summaries
        from telemetry_segment where asset_key = $1 and day between $3 and $4
        union all
        select 'chunk', day, signal_id, body, null, null, null, null, null, null
        from telemetry_chunk where asset_key = $1 and signal_id = any($2::smallint[]) and day between $3 and $4
        union all
        select 'block', first_day, null, null, last_day, signal_ids
             , array(select place::int from unnest(signal_ids) with ordinality as s (id, place)
                     where id = any($2::smallint[]) order by place)
             , times
             , array(select substring(body from starts[place] + 1 for starts[place + 1] - starts[place])
                     from unnest(signal_ids) with ordinality as s (id, place)
                     where id = any($2::smallint[]) order by place)
             , null
        from telemetry_block
        where asset_key = $1 and last_day between $3 and $4::date + 30 and first_day <= $4
        """,
        asset_key, wanted_ids, first_day, last_day,
    )  # fmt: skip
    return _read_bodies(rows)


async def times_on(db: Database, asset_key: int, wanted_ids: Sequence[int], days: Sequence[date]) -> StoredBodies:
    """What tells which times are stored: of blocks not the values."""
    rows = await db.fetch(
        """
        select 'segment' as kind, day, sequence, body
             , null::date as last_day, null::smallint[] as signal_ids, null::int[] as places, null::bytea as times
             , null::bytea[] as slices, null::bytea[] as summaries
        from telemetry_segment where asset_key = $1 and day = any($3::date[])
        union all
        select 'chunk', day, signal_id, body, null, null, null, null, null, null
        from telemetry_chunk where asset_key = $1 and signal_id = any($2::smallint[]) and day = any($3::date[])
        union all
        select 'block', first_day, null, null, last_day, signal_ids
             , array(select place::int from unnest(signal_ids) with ordinality as s (id, place)
                     where id = any($2::smallint[]) order by place)
             , times, null, null
        from telemetry_block
        where asset_key = $1 and exists (
          select from unnest($3::date[]) as d (day) where d.day between first_day and last_day)
        """,
        asset_key, wanted_ids, days,
    )  # fmt: skip
    return _read_bodies(rows)


async def summaries_between(
    db: Database, asset_key: int, wanted_ids: Sequence[int], first_day: date, last_day: date, partial: Sequence[date]
) -> StoredBodies:
    """Days by the summaries of their blocks; with values where segments or chunks lie over the block, or a day of it is
    asked for in part."""
    rows = await db.fetch(
        """
        with above as materialized (
          select 'segment' as kind, day, sequence, body
          from telemetry_segment where asset_key = $1 and day between $3 and $4
          union all
          select 'chunk', day, signal_id, body
          from telemetry_chunk where asset_key = $1 and signal_id = any($2::smallint[]) and day between $3 and $4
        )
        select kind, day, sequence, body
             , null::date as last_day, null::smallint[] as signal_ids, null::int[] as places, null::bytea as times
             , null::bytea[] as slices, null::bytea[] as summaries
        from above
        union all
        select 'block', first_day, null, null, last_day, signal_ids
             , array(select place::int from unnest(signal_ids) with ordinality as s (id, place)
                     where id = any($2::smallint[]) order by place)
             , times
             , case when exists (select from unnest($5::date[]) as d (day) where d.day between first_day and last_day)
                      or exists (select from above where above.day between first_day and last_day)
               then array(select substring(body from starts[place] + 1 for starts[place + 1] - starts[place])
                          from unnest(signal_ids) with ordinality as s (id, place)
                          where id = any($2::smallint[]) order by place) end
             , array(select substring(summaries from ((place - 1) * 44 * (last_day - first_day + 1))::int + 1
                                                for 44 * (last_day - first_day + 1))
                     from unnest(signal_ids) with ordinality as s (id, place)
                     where id = any($2::smallint[]) order by place)
        from telemetry_block
        where asset_key = $1 and last_day between $3 and $4::date + 30 and first_day <= $4
        """,
        asset_key, wanted_ids, first_day, last_day, partial,
    )  # fmt: skip
    return _read_bodies(rows)


def _read_bodies(rows: Iterable[Iterable[Any]]) -> StoredBodies:
    found = StoredBodies()
    for kind, day, number, body, last_day, signal_ids, places, times, slices, summaries in rows:
        if kind == "segment":
            found.segments.append(StoredSegment(day, number, body))
        elif kind == "chunk":
            found.chunks.append(StoredChunk(number, day, body))
        else:
            places = [place - 1 for place in places]
            found.blocks.append(StoredBlock(day, last_day, signal_ids, places, times, slices or (), summaries or ()))
    found.segments.sort(key=lambda segment: segment.sequence)
    found.blocks.sort(key=lambda block: (block.first_day, -block.last_day.toordinal()))
    return found


async def points_between(
    db: Database, asset_key: int, wanted_ids: Sequence[int], first_day: date, last_day: date
) -> tuple[int, Mapping[int, int]]:
    """How many points the days hold: of all signals in segments, and of each wanted one elsewhere, at most."""
    rows = await db.fetch(
        """
        select null::smallint as signal_id, coalesce(sum(points), 0)::bigint as points from telemetry_segment
        where asset_key = $1 and day between $3 and $4
        union all
        select signal_id, sum(points)::bigint from (
          select signal_id, points from telemetry_chunk
          where asset_key = $1 and signal_id = any($2::smallint[]) and day between $3 and $4
          union all
          select s.id, s.points from telemetry_block b, unnest(b.signal_ids, b.points) as s (id, points)
          where b.asset_key = $1 and b.last_day between $3 and $4::date + 30 and b.first_day <= $4
            and s.id = any($2::smallint[])
        ) compacted
        group by signal_id
        """,
        asset_key, wanted_ids, first_day, last_day,
    )  # fmt: skip
    counts = {row["signal_id"]: row["points"] for row in rows}
    return counts.pop(None), counts


async def next_day(db: Database, asset_key: int, signal_id: int, from_day: date) -> date | None:
    """The first day from the given one on that may hold points of the signal; None if there is none."""
    found: date | None = await db.fetchval(
        """
        select least(
          (select day from telemetry_chunk
           where asset_key = $1 and signal_id = $2 and day >= $3 order by day limit 1),
          (select greatest(first_day, $3) from telemetry_block
           where asset_key = $1 and last_day >= $3 and $2 = any(signal_ids) order by last_day limit 1),
          (select day from telemetry_segment where asset_key = $1 and day >= $3 order by day limit 1))
        """,
        asset_key, signal_id, from_day,
    )  # fmt: skip
    return found


async def first_times(db: Database, asset_key: int) -> tuple[dict[int, int], list[StoredSegment]]:
    """Each signal's first compacted time, and the segments, which may begin before it."""
    rows = await db.fetch(
        """
        select null::date as day, null::bigint as sequence, s.id as signal_id, s.first_us, null::bytea as body
        from telemetry_block b, unnest(b.signal_ids, b.first_us) as s (id, first_us) where b.asset_key = $1
        union all
        select null, null, signal.signal_id, chunk.first_us, null
        from telemetry_signal signal cross join lateral (
          select first_us from telemetry_chunk chunk
          where chunk.asset_key = $1 and chunk.signal_id = signal.signal_id order by day limit 1) chunk
        where signal.asset_key = $1
        union all
        select day, sequence, null, null, body from telemetry_segment where asset_key = $1
        """,
        asset_key,
    )
    firsts: dict[int, int] = {}
    for row in rows:
        if row["sequence"] is None:
            firsts[row["signal_id"]] = min(row["first_us"], firsts.get(row["signal_id"], row["first_us"]))
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
    """Whether every request after the given one still has its segments, none compacted."""
    complete: bool | None = await db.fetchval(
        """
        select head.sequence - $2 = (
          select count(distinct sequence) from telemetry_segment where asset_key = $1 and sequence > $2)
        from telemetry_head head where asset_key = $1
        """,
        asset_key, sequence,
    )  # fmt: skip
    return bool(complete)
