"""The schedules of physical assets in the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from gridloom.capacity.store import LockedBatteries
from gridloom.kernel.window import Window
from gridloom.physical_assets.model import AssetStatus
from gridloom.physical_assets.schedule.model import NewSchedulePoint
from gridloom.platform.database.pool import Database


@dataclass(frozen=True, slots=True, eq=False)
class ScheduleColumns:
    """The scheduled periods of a window in order, and the version of the whole schedule."""

    version: int
    times: NDArray[np.datetime64]
    powers_kw: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """The version of the schedule, the asset's status and the platform's clock."""

    version: int
    status: AssetStatus
    now: datetime


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


async def read_schedule_state(db: Database, locked: LockedBatteries, asset_key: int) -> ScheduleState:
    """Inputs of a change's validation besides the book; to be read under the battery's lock."""
    row = await db.fetchrow(
        """
        select coalesce((select version from physical_schedule_version where asset_key = $1), 0) as version, p.status
        from physical_asset p where p.asset_key = $1
        """,
        asset_key,
    )
    assert row is not None
    return ScheduleState(row["version"], AssetStatus(row["status"]), locked.since)


async def replace_periods(db: Database, asset_key: int, points: Sequence[NewSchedulePoint], updated_by: UUID) -> int:
    """Write the periods and answer the schedule's new version."""
    version: int = await db.fetchval(
        """
        with written as (
          insert into physical_schedule as s (asset_key, period, power_kw)
          select $1, period, power_kw from unnest($2::timestamptz[], $3::float8[]) as given (period, power_kw)
          on conflict (asset_key, period) do update set power_kw = excluded.power_kw
            where s.power_kw <> excluded.power_kw
        ), next as (
          insert into physical_schedule_version as v (asset_key, version, updated_by, updated_at)
          values ($1, 1, $4, clock_timestamp())
          on conflict (asset_key) do update
            set version = v.version + 1, updated_at = excluded.updated_at, updated_by = excluded.updated_by
          returning version
        )
        select version from next
        """,
        asset_key,
        [point.time for point in points],
        [point.power for point in points],
        updated_by,
    )
    return version
