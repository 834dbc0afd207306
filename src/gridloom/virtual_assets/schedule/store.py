"""Schedules and the energy that follows from them in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from gridloom.database.arrays import decode_float8_arrays
from gridloom.database.pool import Database
from gridloom.market_calendar import (
    DAYS_PER_SUMMARY_ROW,
    PERIODS_PER_DAY,
    Floats,
    Ints,
    first_period_of_utc_day,
    utc_days_of,
)
from gridloom.virtual_assets.model import VirtualAsset
from gridloom.virtual_assets.schedule.projection.trajectory import DaySummaries

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
    """From rows of a day, a lane and its 96 powers, as `decode_float8_arrays` takes them."""
    rows = decode_float8_arrays(packed, 2 + PERIODS_PER_DAY)
    powers: DayPowers = {}
    for row, (day, lane) in zip(rows, rows[:, :2].astype(np.int64).tolist(), strict=True):
        powers.setdefault(day, {})[lane] = row[2:]
    return powers


def lane_power_kw(powers: DayPowers, lane: int, first: int, end: int) -> Floats:
    """One lane over the periods `first` up to but not `end`."""
    power_kw = np.zeros(max(0, end - first))
    for day, lanes in powers.items():
        if lane in lanes:
            copy_overlap(power_kw, first, first_period_of_utc_day(day), lanes[lane])
    return power_kw


def total_power_kw(powers: DayPowers, first: int, end: int) -> Floats:
    """All lanes together over the periods `first` up to but not `end`."""
    power_kw = np.zeros(max(0, end - first))
    for day, lanes in powers.items():
        copy_overlap(power_kw, first, first_period_of_utc_day(day), np.sum(list(lanes.values()), axis=0))
    return power_kw


def copy_overlap(target: Floats, first: int, piece_first: int, piece: Floats) -> None:
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
    """From rows of a span and its four columns of 32 days, as `decode_float8_arrays` takes them."""
    days = asset.days
    first_span = days.start // DAYS_PER_SUMMARY_ROW
    count = (days.stop - 1) // DAYS_PER_SUMMARY_ROW - first_span + 1
    rows = decode_float8_arrays(packed, 1 + 4 * DAYS_PER_SUMMARY_ROW)
    columns_kwh = np.zeros((4, count, DAYS_PER_SUMMARY_ROW))
    for span, columns in zip(rows[:, 0].astype(np.int64).tolist(), rows[:, 1:], strict=True):
        columns_kwh[:, span - first_span] = columns.reshape(4, DAYS_PER_SUMMARY_ROW)
    offset = days.start - first_span * DAYS_PER_SUMMARY_ROW
    return DaySummaries(columns_kwh.reshape(4, count * DAYS_PER_SUMMARY_ROW)[:, offset : offset + len(days)])


# --- changes -------------------------------------------------------------------------------------------------------


class LaneChange(Struct, frozen=True):
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
            return list(utc_days_of(int(self.periods[0]), int(self.periods[-1]) + 1))
        touched: list[int] = np.unique(self.periods // PERIODS_PER_DAY).tolist()
        return touched

    def runs(self) -> tuple[list[int], list[int]]:
        """Where runs of consecutive periods start, and how long they are."""
        if self.is_run:
            return [int(self.periods[0])], [len(self.periods)]
        breaks = (np.flatnonzero(self.periods[1:] - self.periods[:-1] != 1) + 1).tolist()
        starts, ends = [0, *breaks], [*breaks, len(self.periods)]
        return self.periods[starts].tolist(), [end - start for start, end in zip(starts, ends, strict=True)]


def lane_days(powers: DayPowers, lane: int, days: Sequence[int]) -> Floats:
    """A lane's powers on these days, a row for each, zero where nothing was scheduled; a copy."""
    if len(days) == 1:
        only = powers.get(days[0], {}).get(lane)
        return np.zeros((1, PERIODS_PER_DAY)) if only is None else only[None].copy()
    rows = np.zeros((len(days), PERIODS_PER_DAY))
    for place, day in enumerate(days):
        known = powers.get(day, {}).get(lane)
        if known is not None:
            rows[place] = known
    return rows
