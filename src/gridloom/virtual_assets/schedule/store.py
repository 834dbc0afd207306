"""Schedules, the energy that follows from them, and writing their versions in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import asyncpg
import numpy as np

from gridloom.database.arrays import array_text, integers_text, number_rows
from gridloom.database.last_rows import fetchrow_with_collected
from gridloom.database.pool import Database
from gridloom.database.statement import Statement
from gridloom.kernel.ids import BlockID
from gridloom.market_calendar import DAYS_PER_SPAN, PERIODS_PER_DAY, Floats, Ints, days_of, first_period
from gridloom.virtual_assets.model import (
    Author,
    LockedAsset,
    VersionKind,
    VirtualAsset,
)
from gridloom.virtual_assets.schedule.trajectory import DaySummaries

if TYPE_CHECKING:
    from gridloom.database.at_once import WriteOnly

DayPowers = dict[int, dict[int, Floats]]
"""Lanes' powers by day: `powers[day][lane]` has 96 values; what was never scheduled is not there."""


async def read_days(db: Database, key: int, days: Iterable[int]) -> DayPowers:
    """The schedules of all lanes on these days."""
    return powers_of_rows(
        await db.fetchval(
            """select string_agg(array_send(array[day, lane]::float8[] || power_kw), ''::bytea)
               from virtual_schedule where asset_key = $1 and day = any($2::int[])""",
            key,
            list(days),
        )
    )


async def read_day_range(db: Database, key: int, days: range) -> DayPowers:
    return powers_of_rows(
        await db.fetchval(
            """select string_agg(array_send(array[day, lane]::float8[] || power_kw), ''::bytea)
               from virtual_schedule where asset_key = $1 and day >= $2 and day < $3""",
            key,
            days.start,
            days.stop,
        )
    )


def powers_of_rows(packed: bytes | None) -> DayPowers:
    """From rows of a day, a lane and its 96 powers, as `number_rows` takes them."""
    rows = number_rows(packed, 2 + PERIODS_PER_DAY)
    powers: DayPowers = {}
    for row, (day, lane) in zip(rows, rows[:, :2].astype(np.int64).tolist(), strict=True):
        powers.setdefault(day, {})[lane] = row[2:]
    return powers


def lane_power_kw(powers: DayPowers, lane: int, first: int, end: int) -> Floats:
    """One lane over the periods `first` up to but not `end`."""
    power_kw = np.zeros(max(0, end - first))
    for day, lanes in powers.items():
        if lane in lanes:
            lay(power_kw, first, first_period(day), lanes[lane])
    return power_kw


def total_power_kw(powers: DayPowers, first: int, end: int) -> Floats:
    """All lanes together over the periods `first` up to but not `end`."""
    power_kw = np.zeros(max(0, end - first))
    for day, lanes in powers.items():
        lay(power_kw, first, first_period(day), np.sum(list(lanes.values()), axis=0))
    return power_kw


def lay(target: Floats, first: int, piece_first: int, piece: Floats) -> None:
    """Copy the part of a piece that falls into the target."""
    start, end = max(first, piece_first), min(first + len(target), piece_first + len(piece))
    if start < end:
        target[start - first : end - first] = piece[start - piece_first : end - piece_first]


# --- energy by days ------------------------------------------------------------------------------------------------


async def read_summaries(db: Database, asset: VirtualAsset) -> DaySummaries:
    """What each day of the asset's life does to the stored energy."""
    packed = await db.fetchval(
        """select string_agg(array_send(span::float8 || change_kwh || lowest_kwh || highest_kwh || exported_kwh),
                             ''::bytea)
           from virtual_energy where asset_key = $1""",
        asset.key,
    )
    return summaries_of_rows(asset, packed)


async def read_days_and_summaries(
    db: Database, asset: VirtualAsset, days: Sequence[int]
) -> tuple[DayPowers, DaySummaries]:
    """The schedules of all lanes on these days, and the summaries of all days, in one round trip."""
    row = await db.fetchrow(
        """
        select (select string_agg(array_send(array[day, lane]::float8[] || power_kw), ''::bytea)
                from virtual_schedule where asset_key = $1 and day = any($2::int[])) as days,
               (select string_agg(array_send(span::float8 || change_kwh || lowest_kwh || highest_kwh || exported_kwh),
                                  ''::bytea)
                from virtual_energy where asset_key = $1) as spans
        """,
        asset.key,
        days,
    )
    assert row is not None, "sums of nothing are a row too"
    return powers_of_rows(row["days"]), summaries_of_rows(asset, row["spans"])


def summaries_of_rows(asset: VirtualAsset, packed: bytes | None) -> DaySummaries:
    """From rows of a span and its four columns of 32 days, as `number_rows` takes them."""
    days = asset.days
    first_span = days.start // DAYS_PER_SPAN
    count = (days.stop - 1) // DAYS_PER_SPAN - first_span + 1
    rows = number_rows(packed, 1 + 4 * DAYS_PER_SPAN)
    columns_kwh = np.zeros((4, count, DAYS_PER_SPAN))
    for span, columns in zip(rows[:, 0].astype(np.int64).tolist(), rows[:, 1:], strict=True):
        columns_kwh[:, span - first_span] = columns.reshape(4, DAYS_PER_SPAN)
    offset = days.start - first_span * DAYS_PER_SPAN
    return DaySummaries(columns_kwh.reshape(4, count * DAYS_PER_SPAN)[:, offset : offset + len(days)])


# --- versions ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LaneChange:
    """The periods set on a lane, in the order of time, and their powers."""

    periods: Ints
    power_kw: Floats

    @property
    def is_run(self) -> bool:
        """Whether the periods follow each other without a gap, as they do in most changes."""
        return int(self.periods[-1]) - int(self.periods[0]) + 1 == len(self.periods)

    def days(self) -> list[int]:
        """The days that are touched, in order."""
        if self.is_run:
            return list(days_of(int(self.periods[0]), int(self.periods[-1]) + 1))
        touched: list[int] = np.unique(self.periods // PERIODS_PER_DAY).tolist()
        return touched

    def runs(self) -> tuple[list[int], list[int]]:
        """Where runs of consecutive periods start, and how long they are."""
        if self.is_run:
            return [int(self.periods[0])], [len(self.periods)]
        breaks = (np.flatnonzero(self.periods[1:] - self.periods[:-1] != 1) + 1).tolist()
        starts, ends = [0, *breaks], [*breaks, len(self.periods)]
        return self.periods[starts].tolist(), [end - start for start, end in zip(starts, ends, strict=True)]


# Days, the summaries of their spans, what was set and the version that set it, in one round trip. Each array of a row
# comes as a text, so that the columns of rows are plain lists. Where the asset has changed since it was read there is
# no next version, and a version without a number breaks off the whole statement.
_WRITE_VERSION = Statement("""
with next as (
  update virtual_asset set version = version + 1, end_kwh = :end_kwh, revision = revision + 1
  where asset_key = :asset_key and version = :version and revision = :revision returning version
), day as (
  insert into virtual_schedule (asset_key, lane, day, power_kw)
  select :asset_key, d.lane, d.day, d.power_kw::float8[]
  from unnest(:day_lanes::int[], :days::int[], :day_powers_kw::text[]) d(lane, day, power_kw)
  on conflict (asset_key, day, lane) do update set power_kw = excluded.power_kw
), span as (
  insert into virtual_energy (asset_key, span, change_kwh, lowest_kwh, highest_kwh, exported_kwh)
  select :asset_key, s.span, s.change_kwh::float8[], s.lowest_kwh::float8[], s.highest_kwh::float8[],
         s.exported_kwh::float8[]
  from unnest(:spans::int[], :changes_kwh::text[], :lowest_kwh::text[], :highest_kwh::text[], :exported_kwh::text[])
    s(span, change_kwh, lowest_kwh, highest_kwh, exported_kwh)
  on conflict (asset_key, span) do update
    set change_kwh = excluded.change_kwh, lowest_kwh = excluded.lowest_kwh,
        highest_kwh = excluded.highest_kwh, exported_kwh = excluded.exported_kwh
), change as (
  insert into schedule_change (asset_key, version, lane, first_period, end_period, run_first, run_length, power_kw)
  select :asset_key, next.version, c.lane, c.first_period, c.end_period, c.run_first::int[], c.run_length::int[],
         c.power_kw::float8[]
  from next, unnest(:lanes::int[], :first_periods::int[], :end_periods::int[], :runs_first::text[],
                    :runs_length::text[], :set_powers_kw::text[])
    c(lane, first_period, end_period, run_first, run_length, power_kw)
), made as (
  insert into schedule_version (asset_key, version, kind, accepted_at, author_kind, author_id, block_id)
  select :asset_key, max(next.version), :kind, :accepted_at::timestamptz, :author_kind, :author_id::uuid,
         :block_id::uuid
  from next
  returning version
)
select version from made
""")


# The same for a run of periods on one lane of a day that has a row: most changes are of one period.
_WRITE_RUN = Statement("""
with next as (
  update virtual_asset set version = version + 1, end_kwh = :end_kwh, revision = revision + 1
  where asset_key = :asset_key and version = :version and revision = :revision returning version
), day as (
  update virtual_schedule set power_kw[:first_slot : :last_slot] = :power_kw::text::float8[]
  where asset_key = :asset_key and day = :day and lane = :lane::int
), span as (
  update virtual_energy
  set change_kwh[:place] = :change_kwh, lowest_kwh[:place] = :lowest_kwh, highest_kwh[:place] = :highest_kwh,
      exported_kwh[:place] = :exported_kwh
  where asset_key = :asset_key and span = :span
), change as (
  insert into schedule_change (asset_key, version, lane, first_period, end_period, run_first, run_length, power_kw)
  select :asset_key, next.version, :lane::int, :first_period::int, :first_period::int + :length::int,
         array[:first_period::int], array[:length::int], :power_kw::text::float8[]
  from next
), made as (
  insert into schedule_version (asset_key, version, kind, accepted_at, author_kind, author_id, block_id)
  select :asset_key, max(next.version), :kind, :accepted_at::timestamptz, :author_kind, :author_id::uuid,
         :block_id::uuid
  from next
  returning version
)
select version from made
""")


@dataclass(frozen=True, slots=True, eq=False)
class DayRows:
    """Lanes' powers on some days, as they are to be written: for each lane a row of 96 powers for each day."""

    days: Sequence[int]
    lanes_kw: Mapping[int, Floats]
    is_known_row: bool = False
    """Whether it is one row, and there already."""

    def columns(self) -> dict[str, object]:
        """The lane, the day and the powers of each row."""
        return {
            "day_lanes": [lane for lane in self.lanes_kw for _ in self.days],
            "days": [*self.days] * len(self.lanes_kw),
            "day_powers_kw": [array_text(row_kw) for rows_kw in self.lanes_kw.values() for row_kw in rows_kw],
        }


class ChangedSince(Exception):
    """Nothing was written: somebody has changed, cut or judged the asset's schedules since it was read."""


async def write_version(
    db: WriteOnly,
    asset: VirtualAsset,
    kind: VersionKind,
    author: Author,
    block_id: BlockID | None,
    *,
    rows: DayRows,
    summaries: DaySummaries,
    changes: Mapping[int, LaneChange],
    end_kwh: float,
    accepted_at: datetime,
) -> int:
    """Write the days, their summaries and the next version, if the asset is as it was read; its number.

    What the transaction writes last and has been told so far goes along.
    """
    values: dict[str, object] = {
        "asset_key": asset.key,
        "version": asset.version,
        "revision": asset.revision,
        "end_kwh": end_kwh,
        "kind": kind.value,
        "author_kind": author.kind,
        "author_id": author.id,
        "block_id": block_id,
        "accepted_at": accepted_at,
    }
    statement, run = _WRITE_VERSION, _find_run(rows, changes)
    if run is not None:
        statement = _WRITE_RUN
        values |= _run_values(asset, summaries, rows.days[0], *run)
    else:
        values |= rows.columns() | _span_columns(asset, summaries, rows.days) | _change_columns(changes)
    try:
        row = await fetchrow_with_collected(db, statement, **values)
    except asyncpg.NotNullViolationError as fault:
        # Its table may be a part of it, on another machine, with a number behind the name.
        if fault.column_name != "version" or not (fault.table_name or "").startswith("schedule_version"):
            raise
        raise ChangedSince from None
    version: int = row["version"]
    return version


def _find_run(rows: DayRows, changes: Mapping[int, LaneChange]) -> tuple[int, LaneChange] | None:
    """The lane and its change, where one run of periods is all that is set, on a day that has a row."""
    if not rows.is_known_row or len(changes) != 1:
        return None
    [(lane, change)] = changes.items()
    return (lane, change) if change.is_run else None


def _run_values(
    asset: VirtualAsset, summaries: DaySummaries, day: int, lane: int, change: LaneChange
) -> dict[str, object]:
    """What a run sets in the row of its day, and what that makes of the day."""
    first, length = int(change.periods[0]), len(change.periods)
    span, place = divmod(day, DAYS_PER_SPAN)
    change_kwh, lowest_kwh, highest_kwh, exported_kwh = summaries.rows_kwh[:, day - asset.first_day].tolist()
    first_slot = first % PERIODS_PER_DAY + 1
    return {
        "day": day,
        "lane": lane,
        "first_slot": first_slot,
        "last_slot": first_slot + length - 1,
        "power_kw": array_text(change.power_kw),
        "span": span,
        "place": place + 1,
        "change_kwh": change_kwh,
        "lowest_kwh": lowest_kwh,
        "highest_kwh": highest_kwh,
        "exported_kwh": exported_kwh,
        "first_period": first,
        "length": length,
    }


def _span_columns(asset: VirtualAsset, summaries: DaySummaries, days: Sequence[int]) -> dict[str, object]:
    """The spans in which these days lie, and the four rows of summaries in each."""
    spans = sorted({day // DAYS_PER_SPAN for day in days})
    rows_kwh = np.zeros((4, len(spans), DAYS_PER_SPAN))
    for row, span in enumerate(spans):
        place = span * DAYS_PER_SPAN - asset.first_day
        start, end = max(0, place), min(len(summaries), place + DAYS_PER_SPAN)
        rows_kwh[:, row, start - place : end - place] = summaries.rows_kwh[:, start:end]
    changes, lowest, highest, exported = ([array_text(row_kwh) for row_kwh in rows] for rows in rows_kwh)
    return {
        "spans": spans,
        "changes_kwh": changes,
        "lowest_kwh": lowest,
        "highest_kwh": highest,
        "exported_kwh": exported,
    }


def _change_columns(changes: Mapping[int, LaneChange]) -> dict[str, object]:
    """What was set on each lane."""
    runs = [change.runs() for change in changes.values()]
    return {
        "lanes": list(changes),
        "first_periods": [firsts[0] for firsts, _ in runs],
        "end_periods": [firsts[-1] + lengths[-1] for firsts, lengths in runs],
        "runs_first": [integers_text(firsts) for firsts, _ in runs],
        "runs_length": [integers_text(lengths) for _, lengths in runs],
        "set_powers_kw": [array_text(change.power_kw) for change in changes.values()],
    }


async def add_first_version(db: Database, asset: LockedAsset, author: Author, block_id: BlockID) -> None:
    await db.execute(
        """insert into schedule_version (asset_key, version, kind, accepted_at, author_kind, author_id, block_id)
           values ($1, 1, 'ALLOCATION', $2, $3, $4, $5)""",
        asset.key,
        asset.created_at,
        author.kind,
        author.id,
        block_id,
    )


def whole_days(powers: DayPowers, lane: int, days: Sequence[int]) -> Floats:
    """A lane's powers on these days, a row for each, zero where nothing was scheduled."""
    rows = np.zeros((len(days), PERIODS_PER_DAY))
    for place, day in enumerate(days):
        known = powers.get(day, {}).get(lane)
        if known is not None:
            rows[place] = known
    return rows
