"""Failures of batteries in PostgreSQL: a row for each battery and period with anything to settle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from gridloom.kernel.market_time import period_number, period_start
from gridloom.market_calendar import Floats
from gridloom.platform.database.keyed import fetch_by_keys
from gridloom.platform.database.pool import Database
from gridloom.platform.database.statement import NamedStatement


@dataclass(frozen=True, slots=True)
class BatteryFailure:
    """Of a battery in a period, kW: see `Failures`."""

    asset_key: int
    period: int
    missed_kw: float
    short_kw: float
    helpers: tuple[tuple[int, float], ...]
    """Batteries that gave instead, and how much."""

    @property
    def helper_keys(self) -> list[int]:
        return [key for key, _ in self.helpers]

    @property
    def helper_kw(self) -> list[float]:
        return [power_kw for _, power_kw in self.helpers]


@dataclass(frozen=True, slots=True, eq=False)
class FailureSeries:
    """Of a battery, kW in each of some periods; by helping battery what that gave instead."""

    missed_kw: Floats
    short_kw: Floats
    taken_over_kw: Mapping[int, Floats]


async def read_first_settled_period(db: Database) -> int:
    """The first period that is settled by failures; before it unannounced cuts are the owners', by share."""
    first: int | None = await db.fetchval("select first_period from failures_settled")
    return 0 if first is None else first


async def read_failures(
    db: Database, keys: Sequence[int], first: int, end: int, as_of: datetime | None = None
) -> list[BatteryFailure]:
    """Of these batteries in the periods [first, end)."""
    rows = await fetch_by_keys(
        db,
        """select asset_key, period, missed_kw, short_kw, helper_keys, helper_kw from battery_failure
           where asset_key = any($1::int[]) and period >= $2 and period < $3
             and ($4::timestamptz is null or recorded_at <= $4) and (superseded_at is null or superseded_at > $4)
           order by asset_key, period""",
        keys,
        first,
        end,
        as_of,
    )
    return [
        BatteryFailure(
            row["asset_key"],
            row["period"],
            row["missed_kw"],
            row["short_kw"],
            tuple(zip(row["helper_keys"], row["helper_kw"], strict=True)),
        )
        for row in rows
    ]


async def read_helped_keys(db: Database, helpers: Sequence[int], first: int, end: int) -> list[int]:
    """The batteries that these stood in for in some of the periods."""
    rows = await db.fetch(
        """select distinct asset_key from battery_failure
           where helper_keys && $1::int[] and period >= $2 and period < $3""",
        list(helpers),
        first,
        end,
    )
    return sorted(row["asset_key"] for row in rows)


def spread_failures(failures: Sequence[BatteryFailure], first: int, end: int) -> dict[int, FailureSeries]:
    """By battery, over the periods [first, end)."""
    found: dict[int, FailureSeries] = {}
    for one in failures:
        if not first <= one.period < end:
            continue
        series = found.setdefault(one.asset_key, FailureSeries(np.zeros(end - first), np.zeros(end - first), {}))
        index = one.period - first
        series.missed_kw[index], series.short_kw[index] = one.missed_kw, one.short_kw
        taken_over = dict(series.taken_over_kw)
        for helper, power_kw in one.helpers:
            taken_over.setdefault(helper, np.zeros(end - first))[index] = power_kw
        found[one.asset_key] = FailureSeries(series.missed_kw, series.short_kw, taken_over)
    return found


_ADD_FAILURE = NamedStatement("""
insert into battery_failure (asset_key, period, missed_kw, short_kw, helper_keys, helper_kw, recorded_at)
values (:asset_key, :period, :missed_kw, :short_kw, :helper_keys, :helper_kw, :now)
on conflict (asset_key, period, recorded_at) do update set missed_kw = excluded.missed_kw,
  short_kw = excluded.short_kw, helper_keys = excluded.helper_keys, helper_kw = excluded.helper_kw,
  superseded_at = null
""")


async def replace_failures(
    db: Database, keys: Sequence[int], first: int, end: int, failures: Sequence[BatteryFailure], now: datetime
) -> None:
    """Record failures of these batteries in the periods [first, end) in place of those known; the same again changes
    nothing."""
    known = {(one.asset_key, one.period): one for one in await read_failures(db, keys, first, end)}
    new = {(one.asset_key, one.period): one for one in failures}
    gone = [name for name, one in known.items() if new.get(name) != one]
    if gone:
        await db.executemany(
            """update battery_failure set superseded_at = $3
               where asset_key = $1 and period = $2 and superseded_at is null""",
            [(key, period, now) for key, period in gone],
        )
    added = [one for name, one in new.items() if known.get(name) != one]
    await _ADD_FAILURE.executemany(db, added, now=now)


async def read_zone_batteries(db: Database, zone: str) -> list[int]:
    rows = await db.fetch("select asset_key from physical_asset where delivery_zone = $1 order by asset_key", zone)
    return [row["asset_key"] for row in rows]


async def read_rerated_keys(db: Database, keys: Sequence[int], end: datetime) -> list[int]:
    """The batteries whose parameters have changed before an instant."""
    rows = await fetch_by_keys(
        db,
        """select distinct asset_key from physical_asset_parameters
           where asset_key = any($1::int[]) and version > 1 and valid_from < $2""",
        list(keys),
        end,
    )
    return sorted(row["asset_key"] for row in rows)


async def find_first_life(db: Database, zone: str, first: int, end: int) -> int | None:
    """The first of the periods [first, end) in which a virtual asset of the zone lives; None where none does."""
    since: datetime | None = await db.fetchval(
        "select min(start_at) from virtual_asset where delivery_zone = $1 and end_at > $2 and start_at < $3",
        zone,
        period_start(first),
        period_start(end),
    )
    return None if since is None else max(first, period_number(since))
