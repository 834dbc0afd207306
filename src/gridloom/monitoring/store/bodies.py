"""Reading: segments and blocks always in one statement, or a point on its way between them could be missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from gridloom.platform.database.pool import Database
from gridloom.platform.database.statement import NamedStatement


@dataclass(frozen=True, slots=True)
class StoredSegment:
    day: date
    sequence: int
    body: bytes


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """The requested part of a block: of the signals at some indices, their values, their times or their days."""

    first_day: date
    last_day: date
    signal_ids: Sequence[int]
    indices: Sequence[int]
    times: bytes
    slices: Sequence[bytes] | None
    summaries: Sequence[bytes]


@dataclass(slots=True)
class StoredBodies:
    """Each in the order in which later ones win; segments win over blocks."""

    segments: list[StoredSegment] = field(default_factory=list)
    blocks: list[StoredBlock] = field(default_factory=list)

    @property
    def segment_bytes(self) -> int:
        return sum(len(segment.body) for segment in self.segments)

    @property
    def packed_bytes(self) -> int:
        parts = (part for block in self.blocks for part in (*(block.slices or ()), block.times))
        return self.segment_bytes + sum(map(len, parts))


class BlockPart(StrEnum):
    """The part of a block that is read. SUMMARIES: with the values where segments lie over it, or only a part of a day
    is requested."""

    VALUES = "VALUES"
    TIMES = "TIMES"
    SUMMARIES = "SUMMARIES"


_READ_BODIES = NamedStatement("""
with hot as materialized (
  select day, sequence, body from telemetry_segment
  where asset_key = :asset_key and day between :first_day and :last_day and (:only::date[] is null or day = any(:only))
)
select day, day as last_day, sequence, body as times, null::smallint[] as signal_ids, null::int[] as indices,
       null::bytea[] as slices, null::bytea[] as summaries
from hot union all
select first_day, last_day, null, times, signal_ids,
       array(select number::int - 1 from unnest(signal_ids) with ordinality as s (id, number)
             where id = any(:wanted_ids::smallint[]) order by number),
       case when :part = 'VALUES' or :part = 'SUMMARIES' and (
         exists (select from unnest(:partial::date[]) as d (day) where day between first_day and last_day)
         or exists (select from hot where hot.day between first_day and last_day))
       then array(select substring(body from starts[number] + 1 for starts[number + 1] - starts[number])
                  from unnest(signal_ids) with ordinality as s (id, number)
                  where id = any(:wanted_ids::smallint[]) order by number) end,
       case when :part = 'SUMMARIES'
       then array(select substring(summaries from ((number - 1) * 44 * (last_day - first_day + 1))::int + 1
                                             for 44 * (last_day - first_day + 1))
                  from unnest(signal_ids) with ordinality as s (id, number)
                  where id = any(:wanted_ids::smallint[]) order by number) end
from telemetry_block
where asset_key = :asset_key and last_day between :first_day and :last_day::date + 30 and first_day <= :last_day
  and (:only is null or exists (select from unnest(:only) as d (day) where day between first_day and last_day))
""")


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
    rows = await _READ_BODIES.fetch(
        db, asset_key=asset_key, wanted_ids=wanted_ids, first_day=first_day, last_day=last_day, part=part.value,
        only=only, partial=partial,
    )  # fmt: skip
    found = StoredBodies()
    for day, last, sequence, times, signal_ids, indices, slices, summaries in rows:
        if sequence is not None:
            found.segments.append(StoredSegment(day, sequence, times))
        else:
            found.blocks.append(StoredBlock(day, last, signal_ids, indices, times, slices, summaries or ()))
    found.segments.sort(key=lambda segment: segment.sequence)
    # The narrower is the newer.
    found.blocks.sort(key=lambda block: (block.first_day, -block.last_day.toordinal()))
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
        select s.id, sum(s.points)::bigint from telemetry_block b, unnest(b.signal_ids, b.points) as s (id, points)
        where b.asset_key = $1 and b.last_day between $3 and $4::date + 30 and b.first_day <= $4
          and s.id = any($2::smallint[])
        group by s.id
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
        select day, sequence, null, null, body from telemetry_segment where asset_key = $1
        """,
        asset_key,
    )
    firsts: dict[int, int] = {}
    segments: list[StoredSegment] = []
    for day, sequence, signal_id, first_us, body in rows:
        if sequence is not None:
            segments.append(StoredSegment(day, sequence, body))
        else:
            firsts[signal_id] = min(first_us, firsts.get(signal_id, first_us))
    return firsts, segments


async def segments_after(db: Database, asset_key: int, sequence: int, day: date, limit: int) -> list[StoredSegment]:
    """The asset's segments after a position in the order of writing, the first `limit` of them."""
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
