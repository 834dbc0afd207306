"""Schedules, the energy that follows from them, and all their versions in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from gridloom.database.pool import Database
from gridloom.kernel.ids import BlockID
from gridloom.virtual_assets.grid import DAYS_PER_SPAN, PERIODS_PER_DAY, Floats, Ints, first_period
from gridloom.virtual_assets.model import (
    Adjustment,
    AdjustmentReason,
    Author,
    ScheduleVersion,
    VersionKind,
    VirtualAsset,
)
from gridloom.virtual_assets.trajectory import DaySummaries

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
            _lay(power_kw, first, first_period(day), lanes[lane])
    return power_kw


def total_power_kw(powers: DayPowers, first: int, end: int) -> Floats:
    """All lanes together over the periods `first` up to but not `end`."""
    power_kw = np.zeros(max(0, end - first))
    for day, lanes in powers.items():
        _lay(power_kw, first, first_period(day), np.sum(list(lanes.values()), axis=0))
    return power_kw


def _lay(target: Floats, first: int, piece_first: int, piece: Floats) -> None:
    """Copy the part of a piece that falls into the target."""
    start, end = max(first, piece_first), min(first + len(target), piece_first + len(piece))
    if start < end:
        target[start - first : end - first] = piece[start - piece_first : end - piece_first]


async def write_days(db: Database, key: int, lane: int, days: Ints, power_kw: Floats) -> None:
    """Set a lane's days: a row of 96 powers for each."""
    await db.execute(
        """
        insert into virtual_schedule (asset_key, lane, day, power_kw)
        select $1, $2, d.day, ($4::float8[])[(d.place - 1) * 96 + 1 : d.place * 96]
        from unnest($3::int[]) with ordinality d(day, place)
        on conflict (asset_key, day, lane) do update set power_kw = excluded.power_kw
        """,
        key,
        lane,
        days.tolist(),
        power_kw.ravel().tolist(),
    )


# --- energy by days ------------------------------------------------------------------------------------------------


async def read_summaries(db: Database, asset: VirtualAsset) -> DaySummaries:
    """What each day of the asset's life does to the stored energy."""
    days = asset.days
    first_span = days.start // DAYS_PER_SPAN
    spans = (days.stop - 1) // DAYS_PER_SPAN - first_span + 1
    columns = np.zeros((4, spans * DAYS_PER_SPAN))
    for row in await db.fetch(
        "select span, change_kwh, lowest_kwh, highest_kwh, exported_kwh from virtual_energy where asset_key = $1",
        asset.key,
    ):
        place = (row["span"] - first_span) * DAYS_PER_SPAN
        columns[:, place : place + DAYS_PER_SPAN] = (
            row["change_kwh"],
            row["lowest_kwh"],
            row["highest_kwh"],
            row["exported_kwh"],
        )
    offset = days.start - first_span * DAYS_PER_SPAN
    return DaySummaries(*(column[offset : offset + len(days)] for column in columns))


async def write_summaries(db: Database, asset: VirtualAsset, summaries: DaySummaries, days: Iterable[int]) -> None:
    """Write the rows in which these days lie."""
    spans = sorted({day // DAYS_PER_SPAN for day in days})
    if not spans:
        return
    place = spans[0] * DAYS_PER_SPAN - asset.first_day
    columns = np.zeros((4, (spans[-1] - spans[0] + 1) * DAYS_PER_SPAN))
    start, end = max(0, place), min(len(summaries.change_kwh), place + columns.shape[1])
    for column, values in zip(
        columns,
        (summaries.change_kwh, summaries.lowest_kwh, summaries.highest_kwh, summaries.exported_kwh),
        strict=True,
    ):
        column[start - place : end - place] = values[start:end]
    await db.execute(
        """insert into virtual_energy (asset_key, span, change_kwh, lowest_kwh, highest_kwh, exported_kwh)
           select $1, s.span, ($4::float8[])[s.low : s.low + 31], ($5::float8[])[s.low : s.low + 31],
                  ($6::float8[])[s.low : s.low + 31], ($7::float8[])[s.low : s.low + 31]
           from (select span, (span - $2) * 32 + 1 as low from unnest($3::int[]) span) s
           on conflict (asset_key, span) do update
             set change_kwh = excluded.change_kwh, lowest_kwh = excluded.lowest_kwh,
                 highest_kwh = excluded.highest_kwh, exported_kwh = excluded.exported_kwh""",
        asset.key,
        spans[0],
        spans,
        *(column.tolist() for column in columns),
    )


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


async def add_version(
    db: Database,
    asset: VirtualAsset,
    kind: VersionKind,
    author: Author,
    *,
    end_kwh: float,
    block_id: BlockID | None = None,
    changes: Mapping[int, LaneChange] | None = None,
) -> tuple[int, datetime]:
    """Note the next version and what it set on each lane; its number and the moment it was accepted."""
    changed = [(lane, change) for lane, change in (changes or {}).items() if len(change.periods)]
    first, others = (changed[0], changed[1:]) if changed else (None, [])
    row = await db.fetchrow(
        """
        with next as (
          update virtual_asset set version = version + 1, end_kwh = $2 where asset_key = $1 returning version
        ), change as (
          insert into schedule_change
            (asset_key, version, lane, first_period, end_period, run_first, run_length, power_kw)
          select $1, version, $7::smallint, $8::int, $9::int, $10::int[], $11::int[], $12::float8[]
          from next where $7::smallint is not null
        )
        insert into schedule_version (asset_key, version, kind, accepted_at, author_kind, author_id, block_id)
        select $1, version, $3, platform_now(), $4, $5, $6 from next
        returning version, accepted_at
        """,
        asset.key,
        end_kwh,
        kind.value,
        author.kind,
        author.id,
        block_id,
        *((None,) * 6 if first is None else _change_row(*first)),
    )
    assert row is not None
    version: int = row["version"]
    for lane, change in others:
        await db.execute(
            """insert into schedule_change
                 (asset_key, version, lane, first_period, end_period, run_first, run_length, power_kw)
               values ($1, $2, $3, $4, $5, $6, $7, $8)""",
            asset.key,
            version,
            *_change_row(lane, change),
        )
    return version, row["accepted_at"]


def _change_row(lane: int, change: LaneChange) -> tuple[int, int, int, list[int], list[int], list[float]]:
    run_first, run_length = change.runs()
    first, last = int(change.periods[0]), int(change.periods[-1])
    return lane, first, last + 1, run_first, run_length, change.power_kw.tolist()


async def add_first_version(db: Database, asset: VirtualAsset, author: Author, block_id: BlockID) -> None:
    await db.execute(
        """insert into schedule_version (asset_key, version, kind, accepted_at, author_kind, author_id, block_id)
           values ($1, 1, 'ALLOCATION', $2, $3, $4, $5)""",
        asset.key,
        asset.created_at,
        author.kind,
        author.id,
        block_id,
    )


async def version_at(db: Database, key: int, moment: datetime) -> int | None:
    """The version that stood at a moment; None before the asset was there."""
    version: int | None = await db.fetchval(
        "select max(version) from schedule_version where asset_key = $1 and accepted_at <= $2", key, moment
    )
    return version


async def read_versions(
    db: Database,
    key: int,
    *,
    below: int | None,
    limit: int,
    start: datetime | None = None,
    end: datetime | None = None,
) -> list[ScheduleVersion]:
    """The newest first."""
    rows = await db.fetch(
        """select version, kind, accepted_at, author_kind, author_id, block_id from schedule_version
           where asset_key = $1 and ($2::int is null or version < $2)
             and ($4::timestamptz is null or accepted_at >= $4) and ($5::timestamptz is null or accepted_at < $5)
           order by version desc limit $3""",
        key,
        below,
        limit,
        start,
        end,
    )
    return [
        ScheduleVersion(
            row["version"],
            VersionKind(row["kind"]),
            row["accepted_at"],
            Author(row["author_kind"], row["author_id"]),
            None if row["block_id"] is None else BlockID(row["block_id"]),
        )
        for row in rows
    ]


@dataclass(frozen=True, slots=True)
class StoredChange:
    """What a version set on a lane; the powers may have been left where they are."""

    version: int
    lane: int
    run_first: list[int]
    run_length: list[int]
    power_kw: list[float] | None

    def periods(self) -> Ints:
        runs = zip(self.run_first, self.run_length, strict=True)
        return np.concatenate([np.arange(first, first + count) for first, count in runs])


async def read_changes(
    db: Database, key: int, versions: Sequence[int], listed_periods: int | None = None
) -> list[StoredChange]:
    """What these versions set, with the powers of those that set no more than `listed_periods` (None: of all)."""
    rows = await db.fetch(
        """select version, lane, run_first, run_length,
                  case when $3::int is null or cardinality(power_kw) <= $3 then power_kw end
           from schedule_change where asset_key = $1 and version = any($2::int[]) order by version, lane""",
        key,
        list(versions),
        listed_periods,
    )
    return [StoredChange(*row) for row in rows]


async def read_lane_as_of(db: Database, key: int, lane: int, version: int, first: int, end: int) -> Floats:
    """A lane as it stood at a version, made of all that was set until then."""
    power_kw = np.zeros(max(0, end - first))
    for row in await db.fetch(
        """select run_first, run_length, power_kw from schedule_change
           where asset_key = $1 and lane = $2 and version <= $3 and end_period > $4 and first_period < $5
           order by version""",
        key,
        lane,
        version,
        first,
        end,
    ):
        values, place = np.array(row["power_kw"]), 0
        for run_first, run_length in zip(row["run_first"], row["run_length"], strict=True):
            _lay(power_kw, first, run_first, values[place : place + run_length])
            place += run_length
    return power_kw


# --- adjustments ---------------------------------------------------------------------------------------------------


async def write_adjustments(db: Database, key: int, version: int, adjustments: Sequence[Adjustment]) -> None:
    await db.executemany(
        """insert into schedule_adjustment (asset_key, period, version, accepted_kw, adjusted_kw, reason)
           values ($1, $2, $3, $4, $5, $6)""",
        [(key, a.period, version, a.accepted_kw, a.adjusted_kw, a.reason.value) for a in adjustments],
    )


async def read_adjustments(
    db: Database, key: int, first: int, end: int, *, after: int | None = None, limit: int = 100
) -> list[Adjustment]:
    rows = await db.fetch(
        """select period, accepted_kw, adjusted_kw, reason from schedule_adjustment
           where asset_key = $1 and period >= $2 and period < $3 and ($4::int is null or period > $4)
           order by period limit $5""",
        key,
        first,
        end,
        after,
        limit,
    )
    return [
        Adjustment(row["period"], row["accepted_kw"], row["adjusted_kw"], AdjustmentReason(row["reason"]))
        for row in rows
    ]


def whole_days(powers: DayPowers, lane: int, days: Ints) -> Floats:
    """A lane's powers on these days, a row for each, zero where nothing was scheduled."""
    rows = np.zeros((len(days), PERIODS_PER_DAY))
    for place, day in enumerate(days.tolist()):
        known = powers.get(day, {}).get(lane)
        if known is not None:
            rows[place] = known
    return rows
