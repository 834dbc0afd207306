"""The schedules of physical assets in the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from gridloom.database.pool import Database
from gridloom.kernel.window import Window
from gridloom.physical_assets.availability import AvailabilityRun
from gridloom.physical_assets.schedule.model import NewSchedulePoint
from gridloom.physical_assets.schedule.rules import TOLERANCE_KW


@dataclass(frozen=True, slots=True, eq=False)
class ScheduleColumns:
    """The scheduled periods of a window in order, and the version of the whole schedule."""

    version: int
    times: NDArray[np.datetime64]
    powers_kw: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Excess:
    """A scheduled period that asks for more than is available."""

    period: datetime
    power_kw: float
    available_kw: float


async def read_schedule(db: Database, asset_key: int, window: Window) -> ScheduleColumns:
    """One statement, one snapshot; the columns come as two arrays, which is the quickest way into numpy."""
    row = await db.fetchrow(
        """
        select coalesce((select version from physical_schedule_version where asset_key = $1), 0) as version,
               array_agg((extract(epoch from period) * 1000)::bigint order by period) as times,
               array_agg(power_kw order by period) as powers
        from physical_schedule where asset_key = $1 and period >= $2 and period < $3
        """,
        asset_key,
        window.start,
        window.end,
    )
    assert row is not None
    return ScheduleColumns(
        version=row["version"],
        times=np.array(row["times"] or [], dtype="datetime64[ms]"),
        powers_kw=np.array(row["powers"] or [], dtype=np.float64),
    )


async def read_version(db: Database, asset_key: int) -> int:
    version: int | None = await db.fetchval(
        "select version from physical_schedule_version where asset_key = $1", asset_key
    )
    return version or 0


async def replace_periods(db: Database, asset_key: int, points: Sequence[NewSchedulePoint], updated_by: UUID) -> int:
    """Write the periods and answer the schedule's new version."""
    await db.execute(
        """
        insert into physical_schedule as s (asset_key, period, power_kw)
        select $1, period, power_kw from unnest($2::timestamptz[], $3::float8[]) as given (period, power_kw)
        on conflict (asset_key, period) do update set power_kw = excluded.power_kw
          where s.power_kw <> excluded.power_kw
        """,
        asset_key,
        [point.time for point in points],
        [point.power for point in points],
    )
    version: int = await db.fetchval(
        """
        insert into physical_schedule_version as v (asset_key, version, updated_by) values ($1, 1, $2)
        on conflict (asset_key) do update
          set version = v.version + 1, updated_at = clock_timestamp(), updated_by = excluded.updated_by
        returning version
        """,
        asset_key,
        updated_by,
    )
    return version


async def read_last_period(db: Database, asset_key: int) -> datetime | None:
    last: datetime | None = await db.fetchval(
        "select period from physical_schedule where asset_key = $1 order by period desc limit 1", asset_key
    )
    return last


async def find_excesses(db: Database, asset_key: int, runs: Sequence[AvailabilityRun], limit: int) -> list[Excess]:
    """Scheduled periods beyond what the runs have available, in order; compared where the rows are."""
    rows = await db.fetch(
        """
        select s.period, s.power_kw, case when s.power_kw > 0 then r.discharge_kw else r.charge_kw end as available_kw
        from unnest($2::timestamptz[], $3::timestamptz[], $4::float8[], $5::float8[])
          as r (start_at, end_at, charge_kw, discharge_kw)
        join physical_schedule s on s.asset_key = $1 and s.period >= r.start_at and s.period < r.end_at
        where s.power_kw > r.discharge_kw + $6 or s.power_kw < -r.charge_kw - $6
        order by s.period limit $7
        """,
        asset_key,
        [run.start for run in runs],
        [run.end for run in runs],
        [run.charge_power_kw for run in runs],
        [run.discharge_power_kw for run in runs],
        TOLERANCE_KW,
        limit,
    )
    return [Excess(row["period"], row["power_kw"], row["available_kw"]) for row in rows]
