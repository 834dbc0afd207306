"""Writing the versions of a virtual asset's schedules in PostgreSQL, each along with all that it changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np

from gridloom.kernel.ids import BlockID
from gridloom.market_calendar import DAYS_PER_SUMMARY_ROW, PERIODS_PER_DAY
from gridloom.platform.database.arrays import format_float8_array, format_int_array
from gridloom.platform.database.pool import Database, is_distributed
from gridloom.platform.database.statement import NamedStatement
from gridloom.virtual_assets.energy.trajectory import DaySummaries
from gridloom.virtual_assets.model import Author, LockedAsset, VersionKind, VirtualAsset
from gridloom.virtual_assets.schedule.change.draft import Draft
from gridloom.virtual_assets.schedule.store import LaneChange

# Days, the summaries of their spans, the powers that were set and the version, in one statement. Each array of a row is
# sent as text, so that the columns of rows are plain lists.
_WRITE_VERSION = NamedStatement("""
with next as (
  update virtual_asset set version = version + 1, end_kwh = :end_kwh, revision = revision + 1
  where asset_key = :asset_key returning version
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


# Consecutive periods on one lane of a day that has a row, on a distributed database: one command to the asset's shard.
_WRITE_ON_SHARD = NamedStatement("""
select write_schedule_interval(:asset_key, :version, :revision, :end_kwh, :day, :lane, :first_slot, :last_slot,
  :power_kw, :span, :index, :change_kwh, :lowest_kwh, :highest_kwh, :exported_kwh, :first_period,
  :length, :kind, :accepted_at, :author_kind, :author_id, :block_id)
""")


async def write_version(
    db: Database,
    asset: LockedAsset,
    draft: Draft,
    kind: VersionKind,
    author: Author,
    block_id: BlockID | None,
    accepted_at: datetime,
) -> int:
    """Write the days of the draft, their summaries and the next version, whose number is the answer."""
    values: dict[str, object] = {
        "asset_key": asset.key,
        "end_kwh": draft.end_kwh,
        "kind": kind.value,
        "accepted_at": accepted_at,
        "author_kind": author.kind,
        "author_id": author.id,
        "block_id": block_id,
    }
    interval = _find_interval(draft) if is_distributed(db) else None
    if interval is None:
        values |= _day_columns(draft) | _span_columns(asset, draft.after, draft.days) | _change_columns(draft.changes)
        await _WRITE_VERSION.execute(db, **values)
    else:
        values |= _interval_values(asset, draft.after, draft.days[0], *interval)
        values |= {"version": asset.version, "revision": asset.revision}
        assert await _WRITE_ON_SHARD.fetchval_part(db, values), "a locked asset has the version that was read"
    return asset.version + 1


def _find_interval(draft: Draft) -> tuple[int, LaneChange] | None:
    """The lane and its change, if the draft sets consecutive periods of one lane on a day that has a row."""
    if not draft.is_of_known_row:
        return None
    [(lane, change)] = draft.changes.items()
    return (lane, change) if change.is_contiguous else None


def _interval_values(
    asset: VirtualAsset, summaries: DaySummaries, day: int, lane: int, change: LaneChange
) -> dict[str, object]:
    """The powers of consecutive periods of a day, and the day's summary."""
    first, length = int(change.periods[0]), len(change.periods)
    span, index = divmod(day, DAYS_PER_SUMMARY_ROW)
    change_kwh, lowest_kwh, highest_kwh, exported_kwh = summaries.rows_kwh[:, day - asset.first_day].tolist()
    first_slot = first % PERIODS_PER_DAY + 1
    return {
        "day": day,
        "lane": lane,
        "first_slot": first_slot,
        "last_slot": first_slot + length - 1,
        "power_kw": format_float8_array(change.power_kw),
        "span": span,
        "index": index + 1,
        "change_kwh": change_kwh,
        "lowest_kwh": lowest_kwh,
        "highest_kwh": highest_kwh,
        "exported_kwh": exported_kwh,
        "first_period": first,
        "length": length,
    }


def _day_columns(draft: Draft) -> dict[str, object]:
    """The lane, the day and the 96 powers of each row."""
    return {
        "day_lanes": [lane for lane in draft.lanes_kw for _ in draft.days],
        "days": draft.days * len(draft.lanes_kw),
        "day_powers_kw": [format_float8_array(row_kw) for rows_kw in draft.lanes_kw.values() for row_kw in rows_kw],
    }


def _span_columns(asset: VirtualAsset, summaries: DaySummaries, days: Sequence[int]) -> dict[str, object]:
    """The spans in which these days lie, and the four rows of summaries in each."""
    spans = sorted({day // DAYS_PER_SUMMARY_ROW for day in days})
    rows_kwh = np.zeros((4, len(spans), DAYS_PER_SUMMARY_ROW))
    for row, span in enumerate(spans):
        index = span * DAYS_PER_SUMMARY_ROW - asset.first_day
        start, end = max(0, index), min(len(summaries), index + DAYS_PER_SUMMARY_ROW)
        rows_kwh[:, row, start - index : end - index] = summaries.rows_kwh[:, start:end]
    changes, lowest, highest, exported = ([format_float8_array(row_kwh) for row_kwh in rows] for rows in rows_kwh)
    return {
        "spans": spans,
        "changes_kwh": changes,
        "lowest_kwh": lowest,
        "highest_kwh": highest,
        "exported_kwh": exported,
    }


def _change_columns(changes: Mapping[int, LaneChange]) -> dict[str, object]:
    """The periods and powers that were set on each lane."""
    intervals = [change.intervals() for change in changes.values()]
    return {
        "lanes": list(changes),
        "first_periods": [firsts[0] for firsts, _ in intervals],
        "end_periods": [firsts[-1] + lengths[-1] for firsts, lengths in intervals],
        "runs_first": [format_int_array(firsts) for firsts, _ in intervals],
        "runs_length": [format_int_array(lengths) for _, lengths in intervals],
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
