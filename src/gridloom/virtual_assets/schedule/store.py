"""Schedules, daily energy summaries and settled activations in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import Struct

from gridloom.market_calendar import (
    DAYS_PER_SUMMARY_ROW,
    PERIODS_PER_DAY,
    Floats,
    Ints,
    first_period_of_utc_day,
    utc_days_of,
)
from gridloom.platform.database.keyed import fetch_by_keys
from gridloom.platform.database.pool import Database
from gridloom.platform.database.statement import decode_float8_arrays
from gridloom.virtual_assets.energy.trajectory import DaySummaries
from gridloom.virtual_assets.model import LockedAssetKey, VirtualAsset

DayPowers = dict[int, dict[int, Floats]]
"""Lanes' powers by day: `powers[day][lane]` has 96 values; a day without a row is left out."""


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
    return (await read_day_range_of_each(db, [key], days))[key]


async def read_day_range_of_each(db: Database, keys: Sequence[int], days: range) -> dict[int, DayPowers]:
    """The same for several assets, by their keys; one without a schedule on these days has none."""
    rows = await fetch_by_keys(
        db,
        """select asset_key, string_agg(array_send(array[day, lane]::float8[] || power_kw), ''::bytea) as packed
           from virtual_schedule where asset_key = any($1::int[]) and day >= $2 and day < $3 group by asset_key""",
        keys,
        days.start,
        days.stop,
    )
    found: dict[int, DayPowers] = {key: {} for key in keys}
    return found | {row["asset_key"]: powers_of_rows(row["packed"]) for row in rows}


def powers_of_rows(packed: bytes | None) -> DayPowers:
    """From rows of a day, a lane and its 96 powers, as `decode_float8_arrays` takes them."""
    rows = decode_float8_arrays(packed, 2 + PERIODS_PER_DAY)
    powers: DayPowers = {}
    for row, (day, lane) in zip(rows, rows[:, :2].astype(np.int64).tolist(), strict=True):
        powers.setdefault(day, {})[lane] = row[2:]
    return powers


def lane_power_kw(powers: DayPowers, lane: int, first: int, end: int) -> Floats:
    """One lane over the periods [first, end)."""
    power_kw = np.zeros(max(0, end - first))
    for day, lanes in powers.items():
        if lane in lanes:
            copy_overlap(power_kw, first, first_period_of_utc_day(day), lanes[lane])
    return power_kw


def total_power_kw(powers: DayPowers, first: int, end: int) -> Floats:
    """All lanes together over the periods [first, end)."""
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
    """The summaries of all days of the asset's life."""
    packed = await db.fetchval(
        """select string_agg(array_send(span::float8 || change_kwh || lowest_kwh || highest_kwh || exported_kwh),
                             ''::bytea)
           from virtual_energy where asset_key = $1""",
        asset.key,
    )
    return summaries_of_rows(asset, packed)


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
    def is_contiguous(self) -> bool:
        """Whether the periods are consecutive, as in most changes."""
        return int(self.periods[-1]) - int(self.periods[0]) + 1 == len(self.periods)

    def days(self) -> list[int]:
        """The days that are touched, in order."""
        if self.is_contiguous:
            return list(utc_days_of(int(self.periods[0]), int(self.periods[-1]) + 1))
        touched: list[int] = np.unique(self.periods // PERIODS_PER_DAY).tolist()
        return touched

    def intervals(self) -> tuple[list[int], list[int]]:
        """The first periods and the lengths of intervals of consecutive periods."""
        if self.is_contiguous:
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
    for index, day in enumerate(days):
        known = powers.get(day, {}).get(lane)
        if known is not None:
            rows[index] = known
    return rows


async def read_lane_as_of(db: Database, key: int, lane: int, version: int, first: int, end: int) -> Floats:
    """A lane at a version: the overlay of all changes until then."""
    lanes_kw = await read_lanes_as_of(db, key, [lane], version, first, end)
    return lanes_kw.get(lane, np.zeros(max(0, end - first)))


async def read_lanes_as_of(
    db: Database, key: int, lanes: Sequence[int] | None, version: int, first: int, end: int
) -> dict[int, Floats]:
    """Lanes (None: all) at a version; a lane without changes in these periods is left out."""
    lanes_kw: dict[int, Floats] = {}
    for row in await db.fetch(
        """select lane, run_first, run_length, power_kw from schedule_change
           where asset_key = $1 and ($2::int[] is null or lane = any($2)) and version <= $3
             and end_period > $4 and first_period < $5
           order by version""",
        key,
        lanes,
        version,
        first,
        end,
    ):
        power_kw = lanes_kw.setdefault(row["lane"], np.zeros(max(0, end - first)))
        values, index = np.array(row["power_kw"]), 0
        for run_first, run_length in zip(row["run_first"], row["run_length"], strict=True):
            copy_overlap(power_kw, first, run_first, values[index : index + run_length])
            index += run_length
    return lanes_kw


async def read_activated_kwh(db: Database, asset: VirtualAsset, first: int, end: int) -> Floats | None:
    """The stored energy that settled activations add in each period, negative where it is drawn; None for none.

    Grid-side volumes: upward ÷ η_d, downward × η_c.
    """
    if asset.first_activated is None or asset.first_activated >= end or first >= end:
        return None
    days = utc_days_of(first, end)
    rows = await db.fetch(
        "select day, up_kwh, down_kwh from virtual_activation where asset_key = $1 and day >= $2 and day < $3",
        asset.key,
        days.start,
        days.stop,
    )
    if not rows:
        return None
    changes_kwh = np.zeros((len(days), PERIODS_PER_DAY))
    efficiency = asset.terms.efficiency
    for row in rows:
        up_kwh, down_kwh = np.array(row["up_kwh"]), np.array(row["down_kwh"])
        changes_kwh[row["day"] - days.start] = down_kwh * efficiency.charge - up_kwh / efficiency.discharge
    offset = first - first_period_of_utc_day(days.start)
    return changes_kwh.ravel()[offset : offset + end - first]


async def write_activations(db: Database, key: int, days: Mapping[int, tuple[Floats, Floats]]) -> None:
    """Replace the energy activated upward and downward on these days, in kWh per period."""
    await db.execute(
        """
        insert into virtual_activation as known (asset_key, day, up_kwh, down_kwh)
        select $1, d.day, ($3::float8[])[(d.place - 1) * 96 + 1 : d.place * 96],
               ($4::float8[])[(d.place - 1) * 96 + 1 : d.place * 96]
        from unnest($2::int[]) with ordinality d(day, place)
        on conflict (asset_key, day) do update set up_kwh = excluded.up_kwh, down_kwh = excluded.down_kwh
        """,
        key,
        list(days),
        _join_days([up_kwh for up_kwh, _ in days.values()]),
        _join_days([down_kwh for _, down_kwh in days.values()]),
    )


def _join_days(days: Sequence[Floats]) -> list[float]:
    joined: list[float] = np.concatenate(days).tolist()
    return joined


async def set_first_activated(db: Database, key: int, first_period: int) -> LockedAssetKey | None:
    """Lower the first activated period of an asset, and lock its row; None if it is no virtual asset."""
    known = await db.fetchval(
        """
        update virtual_asset
        set first_activated = least(coalesce(first_activated, $2), $2), revision = revision + 1
        where asset_key = $1 returning asset_key
        """,
        key,
        first_period,
    )
    return None if known is None else LockedAssetKey(known)


# --- energy out of reach ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredReach:
    """The energy out of reach, and the available part of the energy capacity, just before a period."""

    period: int
    unreachable_kwh: float
    available_fraction: float


async def read_reach(db: Database, key: int) -> StoredReach | None:
    """The last that was stored; None where nothing was ever out of reach."""
    row = await db.fetchrow(
        "select period, unreachable_kwh, available_fraction from virtual_reach where asset_key = $1", key
    )
    return None if row is None else StoredReach(**row)


async def write_reach(db: Database, key: int, period: int, unreachable_kwh: float, available_fraction: float) -> None:
    await db.execute(
        """insert into virtual_reach (asset_key, period, unreachable_kwh, available_fraction) values ($1, $2, $3, $4)
           on conflict (asset_key) do update set period = excluded.period, unreachable_kwh = excluded.unreachable_kwh,
             available_fraction = excluded.available_fraction""",
        key,
        period,
        unreachable_kwh,
        available_fraction,
    )
