"""Writing the versions of a virtual asset's schedules in PostgreSQL, each along with all that it changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import asyncpg
import numpy as np
from msgspec import Struct

from gridloom.capacity.capacity_json_store import BATTERY_CAPACITY_JSON
from gridloom.database.arrays import format_float8_array, format_int_array
from gridloom.database.commit.deferred_rows import fetchrow_with_collected
from gridloom.database.pool import Database
from gridloom.database.statement import NamedStatement
from gridloom.kernel.ids import BlockID
from gridloom.market_calendar import DAYS_PER_SUMMARY_ROW, PERIODS_PER_DAY, Floats
from gridloom.virtual_assets.model import Author, LockedAsset, VersionKind, VirtualAsset
from gridloom.virtual_assets.schedule.projection.trajectory import DaySummaries
from gridloom.virtual_assets.schedule.store import LaneChange

if TYPE_CHECKING:
    from gridloom.database.commit.single_statement import RowSink

# Days, the summaries of their spans, what was set and the version that set it, in one round trip. Each array of a row
# comes as a text, so that the columns of rows are plain lists. Where the asset has changed since it was read there is
# no next version, and a version without a number breaks off the whole statement.
_WRITE_VERSION = NamedStatement("""
with next as (
  update virtual_asset set version = version + 1, end_kwh = :end_kwh, revision = revision + :step
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
_RUN = """
next as (
  update virtual_asset set version = version + 1, end_kwh = :end_kwh, revision = revision + :step
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
)
"""
_WRITE_RUN = NamedStatement(f"""
with {_RUN}, made as (
  insert into schedule_version (asset_key, version, kind, accepted_at, author_kind, author_id, block_id)
  select :asset_key, max(next.version), :kind, :accepted_at::timestamptz, :author_kind, :author_id::uuid,
         :block_id::uuid
  from next
  returning version
)
select version from made
""")  # noqa: S608 — constants, here and below
# The same for what was judged from memory: it has no number either where the clock has left the span of time for which
# it was judged, or where the batteries are no longer what they were.
_WRITE_RUN_FROM_MEMORY = NamedStatement(f"""
with moment as materialized (select platform_now() as now),
batteries as materialized (select {BATTERY_CAPACITY_JSON} as standing),
{_RUN}, made as (
  insert into schedule_version (asset_key, version, kind, accepted_at, author_kind, author_id, block_id)
  select :asset_key,
         case when moment.now >= :not_before and moment.now < :until
                   and batteries.standing is not distinct from :standing::text then (select version from next) end,
         :kind, moment.now, :author_kind, :author_id::uuid, :block_id::uuid
  from moment, batteries
  returning version
)
select version from made
""")  # noqa: S608


class ScheduleRows(Struct, frozen=True, eq=False):
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
            "day_powers_kw": [format_float8_array(row_kw) for rows_kw in self.lanes_kw.values() for row_kw in rows_kw],
        }


class RevisionConflict(Exception):
    """Nothing was written: somebody has changed, cut or judged the asset's schedules since it was read, or what else a
    change was judged by from memory is no longer so."""


class Memory(Struct, frozen=True):
    """What must still be so when a change is written that was judged from memory, besides the asset's revision."""

    not_before: datetime
    until: datetime
    """The platform's clock lies between these."""
    standing: str | None
    """Of the batteries, as `BATTERY_CAPACITY_JSON` says it where it is asked with these values."""
    asked: Mapping[str, object]


async def write_version(
    db: RowSink,
    asset: VirtualAsset,
    kind: VersionKind,
    author: Author,
    block_id: BlockID | None,
    *,
    rows: ScheduleRows,
    summaries: DaySummaries,
    changes: Mapping[int, LaneChange],
    end_kwh: float,
    accepted_at: datetime,
    step: int = 1,
    memory: Memory | None = None,
) -> int:
    """Write the days, their summaries and the next version, if the asset is as it was read; its number.

    What the transaction writes last and has been told so far goes along. The revision goes up by `step`. What was
    judged from `memory` is a run on a day that has a row, and is accepted when it is written.
    """
    values: dict[str, object] = {
        "asset_key": asset.key,
        "version": asset.version,
        "revision": asset.revision,
        "step": step,
        "end_kwh": end_kwh,
        "kind": kind.value,
        "author_kind": author.kind,
        "author_id": author.id,
        "block_id": block_id,
    }
    run = _find_run(rows, changes)
    if memory is not None:
        if run is None:
            raise RevisionConflict
        statement = _WRITE_RUN_FROM_MEMORY
        values |= {"not_before": memory.not_before, "until": memory.until, "standing": memory.standing, **memory.asked}
    else:
        statement = _WRITE_VERSION if run is None else _WRITE_RUN
        values["accepted_at"] = accepted_at
    if run is not None:
        values |= _run_values(asset, summaries, rows.days[0], *run)
    else:
        values |= rows.columns() | _span_columns(asset, summaries, rows.days) | _change_columns(changes)
    try:
        row = await fetchrow_with_collected(db, statement, **values)
    except asyncpg.NotNullViolationError as error:
        # Its table may be a part of it, on another machine, with a number behind the name.
        if error.column_name != "version" or not (error.table_name or "").startswith("schedule_version"):
            raise
        raise RevisionConflict from None
    version: int = row["version"]
    return version


def _find_run(rows: ScheduleRows, changes: Mapping[int, LaneChange]) -> tuple[int, LaneChange] | None:
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
    span, place = divmod(day, DAYS_PER_SUMMARY_ROW)
    change_kwh, lowest_kwh, highest_kwh, exported_kwh = summaries.rows_kwh[:, day - asset.first_day].tolist()
    first_slot = first % PERIODS_PER_DAY + 1
    return {
        "day": day,
        "lane": lane,
        "first_slot": first_slot,
        "last_slot": first_slot + length - 1,
        "power_kw": format_float8_array(change.power_kw),
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
    spans = sorted({day // DAYS_PER_SUMMARY_ROW for day in days})
    rows_kwh = np.zeros((4, len(spans), DAYS_PER_SUMMARY_ROW))
    for row, span in enumerate(spans):
        place = span * DAYS_PER_SUMMARY_ROW - asset.first_day
        start, end = max(0, place), min(len(summaries), place + DAYS_PER_SUMMARY_ROW)
        rows_kwh[:, row, start - place : end - place] = summaries.rows_kwh[:, start:end]
    changes, lowest, highest, exported = ([format_float8_array(row_kwh) for row_kwh in rows] for rows in rows_kwh)
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
        "runs_first": [format_int_array(firsts) for firsts, _ in runs],
        "runs_length": [format_int_array(lengths) for _, lengths in runs],
        "set_powers_kw": [format_float8_array(change.power_kw) for change in changes.values()],
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
