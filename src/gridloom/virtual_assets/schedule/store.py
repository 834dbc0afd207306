"""Schedules, the energy that follows from them, and writing their versions in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg
import numpy as np

from gridloom.database.arrays import array_text
from gridloom.database.last_rows import fetchrow_with_collected
from gridloom.database.pool import Database
from gridloom.database.statement import Statement
from gridloom.kernel.ids import BlockID
from gridloom.market_calendar import DAYS_PER_SPAN, PERIODS_PER_DAY, Floats, Ints, first_period
from gridloom.virtual_assets.model import (
    Author,
    LockedAsset,
    VersionKind,
    VirtualAsset,
)
from gridloom.virtual_assets.schedule.trajectory import DaySummaries

DayPowers = dict[int, dict[int, Floats]]
"""Lanes' powers by day: `powers[day][lane]` has 96 values; what was never scheduled is not there."""


async def read_days(db: Database, key: int, days: Iterable[int]) -> DayPowers:
    """The schedules of all lanes on these days."""
    powers: DayPowers = {}
    for row in await db.fetch(
        "select day, lane, power_kw from virtual_schedule where asset_key = $1 and day = any($2::int[])",
        key,
        list(days),
    ):
        powers.setdefault(row["day"], {})[row["lane"]] = np.array(row["power_kw"])
    return powers


async def read_day_range(db: Database, key: int, days: range) -> DayPowers:
    powers: DayPowers = {}
    for row in await db.fetch(
        """select day, lane, power_kw from virtual_schedule
           where asset_key = $1 and day >= $2 and day < $3""",
        key,
        days.start,
        days.stop,
    ):
        powers.setdefault(row["day"], {})[row["lane"]] = np.array(row["power_kw"])
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
    rows = await db.fetch(
        "select span, change_kwh, lowest_kwh, highest_kwh, exported_kwh from virtual_energy where asset_key = $1",
        asset.key,
    )
    return summaries_of_rows(asset, rows)


async def read_days_and_summaries(
    db: Database, asset: VirtualAsset, days: Sequence[int]
) -> tuple[DayPowers, DaySummaries]:
    """The schedules of all lanes on these days, and the summaries of all days, in one round trip."""
    rows = await db.fetch(
        """
        select day, lane, power_kw, null::int as span, null::float8[] as change_kwh, null::float8[] as lowest_kwh,
               null::float8[] as highest_kwh, null::float8[] as exported_kwh
        from virtual_schedule where asset_key = $1 and day = any($2::int[])
        union all
        select null, null, null, span, change_kwh, lowest_kwh, highest_kwh, exported_kwh
        from virtual_energy where asset_key = $1
        """,
        asset.key,
        days,
    )
    powers: DayPowers = {}
    for row in rows:
        if row["span"] is None:
            powers.setdefault(row["day"], {})[row["lane"]] = np.array(row["power_kw"])
    return powers, summaries_of_rows(asset, [row for row in rows if row["span"] is not None])


def summaries_of_rows(asset: VirtualAsset, rows: Sequence[asyncpg.Record | Mapping[str, Any]]) -> DaySummaries:
    days = asset.days
    first_span = days.start // DAYS_PER_SPAN
    spans = (days.stop - 1) // DAYS_PER_SPAN - first_span + 1
    columns = np.zeros((4, spans * DAYS_PER_SPAN))
    for row in rows:
        place = (row["span"] - first_span) * DAYS_PER_SPAN
        columns[:, place : place + DAYS_PER_SPAN] = (
            row["change_kwh"],
            row["lowest_kwh"],
            row["highest_kwh"],
            row["exported_kwh"],
        )
    offset = days.start - first_span * DAYS_PER_SPAN
    return DaySummaries(*(column[offset : offset + len(days)] for column in columns))


# --- versions ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LaneChange:
    """The periods set on a lane, in the order of time, and their powers."""

    periods: Ints
    power_kw: Floats

    def runs(self) -> tuple[list[int], list[int]]:
        """Where runs of consecutive periods start, and how long they are."""
        starts = np.flatnonzero(np.diff(self.periods, prepend=self.periods[0] - 2) != 1)
        lengths = np.diff(np.append(starts, len(self.periods)))
        return self.periods[starts].tolist(), lengths.tolist()


# Days, the summaries of their spans, what was set and the version that set it, in one round trip. Columns of arrays
# (powers, summaries, runs) are one long list each; every row says where its part of the list lies.
_WRITE_VERSION = Statement("""
with given as materialized (
  select :day_powers_kw::text::float8[] as day_powers_kw,
         :set_powers_kw::text::float8[] as set_powers_kw,
         :change_kwh::text::float8[] as change_kwh, :lowest_kwh::text::float8[] as lowest_kwh,
         :highest_kwh::text::float8[] as highest_kwh, :exported_kwh::text::float8[] as exported_kwh
), next as (
  update virtual_asset set version = version + 1, end_kwh = :end_kwh where asset_key = :asset_key returning version
), day as (
  insert into virtual_schedule (asset_key, lane, day, power_kw)
  select :asset_key, d.lane, d.day, given.day_powers_kw[(d.place - 1) * 96 + 1 : d.place * 96]
  from given, unnest(:day_lanes::int[], :days::int[]) with ordinality d(lane, day, place)
  on conflict (asset_key, day, lane) do update set power_kw = excluded.power_kw
), span as (
  insert into virtual_energy (asset_key, span, change_kwh, lowest_kwh, highest_kwh, exported_kwh)
  select :asset_key, s.span, given.change_kwh[s.low : s.low + 31], given.lowest_kwh[s.low : s.low + 31],
         given.highest_kwh[s.low : s.low + 31], given.exported_kwh[s.low : s.low + 31]
  from given, (select span, (span - (:spans::int[])[1]) * 32 + 1 as low from unnest(:spans::int[]) span) s
  on conflict (asset_key, span) do update
    set change_kwh = excluded.change_kwh, lowest_kwh = excluded.lowest_kwh,
        highest_kwh = excluded.highest_kwh, exported_kwh = excluded.exported_kwh
), change as (
  insert into schedule_change (asset_key, version, lane, first_period, end_period, run_first, run_length, power_kw)
  select :asset_key, next.version, c.lane, c.first_period, c.end_period,
         (:run_firsts::int[])[c.run_low : c.run_high], (:run_lengths::int[])[c.run_low : c.run_high],
         given.set_powers_kw[c.power_low : c.power_low + c.power_count - 1]
  from given, next, unnest(:lanes::int[], :first_periods::int[], :end_periods::int[], :run_lows::int[],
                           :run_highs::int[], :power_lows::int[], :power_counts::int[])
    c(lane, first_period, end_period, run_low, run_high, power_low, power_count)
), made as (
  insert into schedule_version (asset_key, version, kind, accepted_at, author_kind, author_id, block_id)
  select :asset_key, next.version, :kind, :accepted_at::timestamptz, :author_kind, :author_id, :block_id from next
  returning version
)
select version from made
""")


@dataclass(frozen=True, slots=True, eq=False)
class DayRows:
    """Lanes' powers on some days, as they are to be written: for each lane a row of 96 powers for each day."""

    days: Ints
    lanes_kw: Mapping[int, Floats]

    def columns(self) -> dict[str, Sequence[float] | str]:
        """The lane and day of each row, and all powers one after the other."""
        lanes = np.repeat(np.fromiter(self.lanes_kw, np.int64), len(self.days)).tolist()
        days = np.tile(self.days, len(self.lanes_kw)).tolist()
        powers_kw = [rows_kw.ravel() for rows_kw in self.lanes_kw.values()]
        return {"day_lanes": lanes, "days": days, "day_powers_kw": array_text(powers_kw)}


async def write_version(
    db: Database,
    asset: LockedAsset,
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
    """Write the days, their summaries and the next version; its number.

    What the transaction writes last and has been told so far goes along.
    """
    row = await fetchrow_with_collected(
        db,
        _WRITE_VERSION,
        asset_key=asset.key,
        end_kwh=end_kwh,
        kind=kind.value,
        author_kind=author.kind,
        author_id=author.id,
        block_id=block_id,
        accepted_at=accepted_at,
        **rows.columns(),
        **_span_columns(asset, summaries, rows.days),
        **_change_columns(changes),
    )
    version: int = row["version"]
    return version


def _span_columns(asset: VirtualAsset, summaries: DaySummaries, days: Ints) -> dict[str, Sequence[float] | str]:
    """The spans in which these days lie, and the four columns from the first to the last of them."""
    spans = np.unique(days // DAYS_PER_SPAN).tolist()
    columns = np.zeros((4, (spans[-1] - spans[0] + 1) * DAYS_PER_SPAN if spans else 0))
    if spans:
        place = spans[0] * DAYS_PER_SPAN - asset.first_day
        start, end = max(0, place), min(len(summaries.change_kwh), place + columns.shape[1])
        for column, values in zip(
            columns,
            (summaries.change_kwh, summaries.lowest_kwh, summaries.highest_kwh, summaries.exported_kwh),
            strict=True,
        ):
            column[start - place : end - place] = values[start:end]
    change, lowest, highest, exported = (array_text([column]) for column in columns)
    return {
        "spans": spans,
        "change_kwh": change,
        "lowest_kwh": lowest,
        "highest_kwh": highest,
        "exported_kwh": exported,
    }


def _change_columns(changes: Mapping[int, LaneChange]) -> dict[str, Sequence[float] | str]:
    """What was set on each lane, as columns: its periods' runs and powers are places in the lists behind."""
    lanes = list(changes)
    runs = [change.runs() for change in changes.values()]
    counts = [len(change.periods) for change in changes.values()]
    run_highs = np.cumsum([len(starts) for starts, _ in runs], dtype=np.int64)
    power_highs = np.cumsum(counts, dtype=np.int64)
    return {
        "lanes": lanes,
        "first_periods": [int(change.periods[0]) for change in changes.values()],
        "end_periods": [int(change.periods[-1]) + 1 for change in changes.values()],
        "run_lows": [high - len(starts) + 1 for high, (starts, _) in zip(run_highs.tolist(), runs, strict=True)],
        "run_highs": run_highs.tolist(),
        "run_firsts": [first for starts, _ in runs for first in starts],
        "run_lengths": [length for _, lengths in runs for length in lengths],
        "set_powers_kw": array_text([change.power_kw for change in changes.values()]),
        "power_lows": [high - count + 1 for high, count in zip(power_highs.tolist(), counts, strict=True)],
        "power_counts": counts,
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


def whole_days(powers: DayPowers, lane: int, days: Ints) -> Floats:
    """A lane's powers on these days, a row for each, zero where nothing was scheduled."""
    rows = np.zeros((len(days), PERIODS_PER_DAY))
    for place, day in enumerate(days.tolist()):
        known = powers.get(day, {}).get(lane)
        if known is not None:
            rows[place] = known
    return rows
