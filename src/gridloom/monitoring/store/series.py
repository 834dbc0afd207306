"""Reading: segments and blocks always in one statement, or a point on its way between them could be missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from gridloom.database.pool import Database


@dataclass(frozen=True, slots=True)
class StoredSegment:
    day: date
    sequence: int
    body: bytes


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """What was asked for of a block: of the signals at some places, their values, their times or their days.

    A day of one signal, as earlier releases stored it, is one without `times`: its slice holds them too.
    """

    first_day: date
    last_day: date
    signal_ids: Sequence[int]
    places: Sequence[int]
    times: bytes | None
    slices: Sequence[bytes] | None
    summaries: Sequence[bytes]


@dataclass(slots=True)
class StoredBodies:
    """Each in the order in which later ones win; segments win over blocks."""

    segments: list[StoredSegment] = field(default_factory=list)
    blocks: list[StoredBlock] = field(default_factory=list)

    @property
    def packed_bytes(self) -> int:
        return sum(len(segment.body) for segment in self.segments) + sum(
            len(part) for block in self.blocks for part in (*(block.slices or ()), block.times or b"")
        )


class BlockPart(StrEnum):
    """What of a block is read. SUMMARIES: with the values where segments lie over it, or of a day only a part is asked
    for."""

    VALUES = "VALUES"
    TIMES = "TIMES"
    SUMMARIES = "SUMMARIES"


async def read_bodies(
    db: Database,
    asset_key: int,
    wanted_ids: Sequence[int],
    first_day: date,
    last_day: date,
    part: BlockPart = BlockPart.VALUES,
    *,
    only: Sequence[date] | None = None,
    partial: Sequence[date] = (),
) -> StoredBodies:
    """The days from the first to the last, or only some of them."""
    rows = await db.fetch(
        """
        with hot as materialized (
          select day, sequence, body from telemetry_segment
          where asset_key = $1 and day between $3 and $4 and ($6::date[] is null or day = any($6))
        )
        select day, day as last_day, sequence, body as times, null::smallint[] as signal_ids, null::int[] as places,
               null::bytea[] as slices, null::bytea[] as summaries
        from hot
        union all
        select first_day, last_day, null, times, signal_ids,
               array(select place::int - 1 from unnest(signal_ids) with ordinality as s (id, place)
                     where id = any($2::smallint[]) order by place),
               case when $5 = 'VALUES' or $5 = 'SUMMARIES' and (
                 exists (select from unnest($7::date[]) as d (day) where day between first_day and last_day)
                 or exists (select from hot where hot.day between first_day and last_day))
               then array(select substring(body from starts[place] + 1 for starts[place + 1] - starts[place])
                          from unnest(signal_ids) with ordinality as s (id, place)
                          where id = any($2::smallint[]) order by place) end,
               case when $5 = 'SUMMARIES'
               then array(select substring(summaries from ((place - 1) * 44 * (last_day - first_day + 1))::int + 1
                                                     for 44 * (last_day - first_day + 1))
                          from unnest(signal_ids) with ordinality as s (id, place)
                          where id = any($2::smallint[]) order by place) end
        from telemetry_block
        where asset_key = $1 and last_day between $3 and $4::date + 30 and first_day <= $4
          and ($6 is null or exists (select from unnest($6) as d (day) where day between first_day and last_day))
        union all
        select day, day, null, null, array[signal_id], array[0],
               case when $5 <> 'SUMMARIES' or day = any($7) or day in (select day from hot) then array[body] end,
               array[int4send(points) || float8send(first_value) || float8send(last_value) || float8send(lowest)
                     || float8send(highest) || float8send(total)]
        from telemetry_chunk
        where asset_key = $1 and signal_id = any($2::smallint[]) and day between $3 and $4
          and ($6 is null or day = any($6))
        """,
        asset_key, wanted_ids, first_day, last_day, part.value, only, partial,
    )  # fmt: skip
    found = StoredBodies()
    for day, last, sequence, times, signal_ids, places, slices, summaries in rows:
        if sequence is not None:
            found.segments.append(StoredSegment(day, sequence, times))
        else:
            found.blocks.append(StoredBlock(day, last, signal_ids, places, times, slices, summaries or ()))
    found.segments.sort(key=lambda segment: segment.sequence)
    # The narrower is the newer; so is, of one day, what an earlier release compacts during an upgrade.
    found.blocks.sort(key=lambda block: (block.first_day, -block.last_day.toordinal(), block.times is None))
    return found


async def points_between(
    db: Database, asset_key: int, wanted_ids: Sequence[int], first_day: date, last_day: date
) -> tuple[int, dict[int, int]]:
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
        select null, null, signal_id, min(first_us), null from telemetry_chunk where asset_key = $1 group by signal_id
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
