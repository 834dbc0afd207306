"""Measured days, dispatched days and corrections of plans by measured states of charge, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

import numpy as np

from gridloom.kernel.market_time import market_day_of, period_start
from gridloom.market_calendar import Floats
from gridloom.platform.database.keyed import fetch_by_keys
from gridloom.platform.database.pool import Database

_RECORDING: Final = 7_108_261
"""The advisory lock of the process that records a battery's days, together with the battery's key."""


async def lock_measured(db: Database, asset_key: int) -> None:
    """Until the transaction ends no other process records what was measured of this battery."""
    await db.execute("select pg_advisory_xact_lock($1, $2)", _RECORDING, asset_key)


async def read_measured_days(
    db: Database, asset_key: int, first: date, last: date, as_of: datetime | None = None
) -> dict[date, bytes]:
    """The last version of each day, or the one that was the last at an instant."""
    rows = await db.fetch(
        """select distinct on (day) day, body from measured_day
           where asset_key = $1 and day between $2 and $3 and ($4::timestamptz is null or recorded_at <= $4)
           order by day, version desc""",
        asset_key,
        first,
        last,
        as_of,
    )
    return {row["day"]: row["body"] for row in rows}


async def add_measured_days(
    db: Database, asset_key: int, days: Sequence[date], bodies: Sequence[bytes], now: datetime
) -> None:
    """Under the lock."""
    await db.execute(
        """insert into measured_day (asset_key, day, version, recorded_at, body)
           select $1, n.day, coalesce(known.version, 0) + 1, $4, n.body
           from unnest($2::date[], $3::bytea[]) n(day, body)
           left join (select day, max(version) as version from measured_day
                      where asset_key = $1 and day = any($2) group by day) known on known.day = n.day""",
        asset_key,
        list(days),
        list(bodies),
        now,
    )


async def read_segment_days(db: Database, asset_key: int, first: date, last: date) -> set[date]:
    """Market days with telemetry that is not compacted yet."""
    rows = await db.fetch(
        "select distinct day from telemetry_segment where asset_key = $1 and day between $2 and $3",
        asset_key,
        first,
        last,
    )
    return {row["day"] for row in rows}


async def read_unrecorded_days(db: Database, asset_key: int, first: date, last: date) -> list[date]:
    """Market days with telemetry that is not folded yet, or that an earlier release folded without a record of it."""
    rows = await db.fetch(
        """select day from telemetry_segment where asset_key = $1 and day between $2 and $3
           union
           -- The summary of a signal's day begins with how many points it has.
           select b.first_day + i from telemetry_block b, generate_series(0, b.last_day - b.first_day) i
           where b.asset_key = $1 and b.last_day >= $2 and b.first_day <= $3 and b.first_day + i between $2 and $3
             and exists (
               select 1 from generate_series(0, cardinality(b.signal_ids) - 1) s
               where substring(b.summaries from (s * (b.last_day - b.first_day + 1) + i) * 44 + 1 for 4)
                     <> int4send(0))
             and not exists (select 1 from measured_day m where m.asset_key = b.asset_key and m.day = b.first_day + i)
           order by day""",
        asset_key,
        first,
        last,
    )
    return [row["day"] for row in rows]


# --- dispatched days --------------------------------------------------------------------------------------------------


async def read_dispatched_days(db: Database, asset_key: int, first: int, end: int) -> dict[date, Floats]:
    """The power of each recorded day that the periods [first, end) touch."""
    if first >= end:
        return {}
    rows = await db.fetch(
        "select day, power_kw from dispatched_day where asset_key = $1 and day between $2 and $3",
        asset_key,
        market_day_of(period_start(first)),
        market_day_of(period_start(end - 1)),
    )
    return {row["day"]: np.array(row["power_kw"]) for row in rows}


async def read_last_dispatched_days(db: Database, keys: Sequence[int]) -> dict[int, date]:
    """By battery, the last day that was recorded."""
    rows = await fetch_by_keys(
        db,
        "select asset_key, max(day) as day from dispatched_day where asset_key = any($1::int[]) group by asset_key",
        list(keys),
    )
    return {row["asset_key"]: row["day"] for row in rows}


async def add_dispatched_days(
    db: Database, asset_key: int, days: Sequence[date], powers_kw: Sequence[Sequence[float]]
) -> None:
    """The dispatch of a past day never changes: a second record of it does nothing."""
    await db.executemany(
        "insert into dispatched_day (asset_key, day, power_kw) values ($1, $2, $3) on conflict do nothing",
        [(asset_key, day, power_kw) for day, power_kw in zip(days, powers_kw, strict=True)],
    )


async def read_applied(db: Database, keys: Sequence[int]) -> dict[int, int]:
    """By battery, the first period of its plan that counts its last correction; pending ones are not among them."""
    rows = await db.fetch(
        """select asset_key, applied_from from delivery_anchor
           where asset_key = any($1::int[]) and applied_from is not null""",
        list(keys),
    )
    return {row["asset_key"]: row["applied_from"] for row in rows}


async def put_soc_correction(db: Database, asset_key: int, measured_period: int, offset_kwh: float) -> None:
    """The newest measurement is the one that counts; it is pending until the next run."""
    await db.execute(
        """insert into delivery_anchor as a (asset_key, version, measured_period, offset_kwh) values ($1, 1, $2, $3)
           on conflict (asset_key) do update set version = a.version + 1, measured_period = excluded.measured_period,
             offset_kwh = excluded.offset_kwh, applied_from = null""",
        asset_key,
        measured_period,
        offset_kwh,
    )


@dataclass(frozen=True, slots=True)
class SocCorrection:
    """How much more a battery stores than its plan says, where no plan counts that yet."""

    version: int
    offset_kwh: float


async def read_pending_corrections(db: Database, keys: Sequence[int]) -> dict[int, SocCorrection]:
    rows = await db.fetch(
        """select asset_key, version, offset_kwh from delivery_anchor
           where asset_key = any($1::int[]) and applied_from is null""",
        list(keys),
    )
    return {row["asset_key"]: SocCorrection(row["version"], row["offset_kwh"]) for row in rows}


async def mark_corrections_applied(db: Database, corrections: Mapping[int, SocCorrection], first: int) -> None:
    """The plan from `first` on counts these; what was measured meanwhile is still pending."""
    for key, one in corrections.items():  # a statement each: a distributed table is changed by one key at a time
        await db.execute(
            "update delivery_anchor set applied_from = $3 where asset_key = $1 and version = $2",
            key,
            one.version,
            first,
        )
