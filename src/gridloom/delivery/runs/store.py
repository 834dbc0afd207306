"""Runs, placed drift and the transactions that runs wait for, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

import numpy as np

from gridloom.delivery.model import DistributionMethod
from gridloom.delivery.planning.drift import NoonDrift
from gridloom.kernel.copying import field_names_of
from gridloom.market_calendar import Floats
from gridloom.platform.database.keyed import fetch_by_keys
from gridloom.platform.database.pool import Database
from gridloom.platform.database.statement import NamedStatement, compose
from gridloom.virtual_assets.allocation import DISPATCH_JOB


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run: its window in periods, energies in MWh at the grid."""

    id: UUID
    delivery_zone: str
    began_at: datetime
    first_period: int
    end_period: int
    final_until: int
    virtual_assets: int
    batteries: int
    scheduled_export_mwh: float
    scheduled_import_mwh: float
    netted_mwh: float
    spread_mwh: float
    unserved_mwh: float
    reserve_shortfall_mwh: float
    forced_periods: int
    changed_batteries: int
    method: DistributionMethod
    solver_s: float


_COLUMNS: Final = ", ".join(field_names_of(Run))
_VALUES: Final = ", ".join(f":{name}" for name in field_names_of(Run))
_RUN: Final = compose("select {columns} from delivery_run ", columns=_COLUMNS)
_ADD_RUN = NamedStatement("insert into delivery_run ({columns}) values ({values})", columns=_COLUMNS, values=_VALUES)


async def add_run(db: Database, run: Run) -> None:
    await _ADD_RUN.execute(db, run)


async def read_run(db: Database, run_id: UUID) -> Run | None:
    row = await db.fetchrow(_RUN + "where id = $1", run_id)
    return None if row is None else _read_run(row)


async def read_runs(
    db: Database,
    *,
    zone: str | None,
    start: datetime | None,
    end: datetime | None,
    before: tuple[datetime, UUID] | None,
    limit: int,
) -> list[Run]:
    """The newest first."""
    rows = await db.fetch(
        _RUN
        + """where ($1::text is null or delivery_zone = $1) and ($2::timestamptz is null or began_at >= $2)
               and ($3::timestamptz is null or began_at < $3)
               and ($4::timestamptz is null or (began_at, id) < ($4, $5::uuid))
             order by began_at desc, id desc limit $6""",
        zone,
        start,
        end,
        *(before or (None, None)),
        limit,
    )
    return [_read_run(row) for row in rows]


def _read_run(row: Any) -> Run:
    return Run(**{**dict(row), "method": DistributionMethod(row["method"])})


# --- failures and shortfalls -----------------------------------------------------------------------------------------


async def record_failure(db: Database, zone: str, now: datetime, reason: str) -> bool:
    """Whether the run before has succeeded."""
    first: bool = await db.fetchval(
        """update delivery_zone z set failed_at = $2, failure = $3
           from (select failed_at is null as is_first from delivery_zone where delivery_zone = $1) before
           where z.delivery_zone = $1 returning before.is_first""",
        zone,
        now,
        reason,
    )
    return first


async def clear_failure(db: Database, zone: str) -> None:
    await db.execute(
        "update delivery_zone set failed_at = null, failure = null where delivery_zone = $1 and failed_at is not null",
        zone,
    )


async def read_failed_at(db: Database, asset_key: int) -> datetime | None:
    """Since when runs of the battery's zone fail; None where the last one has succeeded."""
    failed_at: datetime | None = await db.fetchval(
        """select z.failed_at from physical_asset p join delivery_zone z on z.delivery_zone = p.delivery_zone
           where p.asset_key = $1""",
        asset_key,
    )
    return failed_at


async def read_owners(db: Database, zone: str) -> list[UUID]:
    """The organisations that own batteries in a zone."""
    rows = await db.fetch(
        """select distinct a.organisation_id from physical_asset p join asset a on a.key = p.asset_key
           where p.delivery_zone = $1 order by a.organisation_id""",
        zone,
    )
    return [row["organisation_id"] for row in rows]


@dataclass(frozen=True, slots=True)
class UnheldReserve:
    """Reserve of a virtual asset that no battery held in a period, by the battery that failed."""

    asset_key: int
    period: int
    market: str
    physical_asset_key: int
    power_kw: float
    is_announced: bool


_ADD_SHORTFALLS = NamedStatement("""
insert into reserve_shortfall (asset_key, period, market, physical_asset_key, power_kw, is_announced, recorded_at)
values (:asset_key, :period, :market, :physical_asset_key, :power_kw, :is_announced, :now) on conflict do nothing
""")


async def add_shortfalls(db: Database, shortfalls: Sequence[UnheldReserve], now: datetime) -> None:
    await _ADD_SHORTFALLS.executemany(db, shortfalls, now=now)


async def read_shortfalls(
    db: Database, keys: Sequence[int], first: int, end: int, as_of: datetime | None
) -> dict[int, list[UnheldReserve]]:
    """By virtual asset, of those that have any, in the order of time."""
    found: dict[int, list[UnheldReserve]] = {}
    for row in await fetch_by_keys(
        db,
        """select asset_key, period, market, physical_asset_key, power_kw, is_announced from reserve_shortfall
           where asset_key = any($1::int[]) and period >= $2 and period < $3
             and ($4::timestamptz is null or recorded_at <= $4)
           order by period, market, physical_asset_key""",
        keys,
        first,
        end,
        as_of,
    ):
        found.setdefault(row["asset_key"], []).append(UnheldReserve(**row))
    return found


# --- writers ---------------------------------------------------------------------------------------------------------

Writer = tuple[int, str]
"""A session and its transaction, as the server names them."""

# A transaction that changes a schedule locks its asset's row from before the clock is read until it commits, and so
# has a lock on the table. Other zones' runs take such locks too, for cuts.
_WRITERS = """
with locks as materialized (
  select pid, virtualtransaction, locktype, database, relation, mode, objsubid,
         classid::bigint << 32 | objid::bigint as key
  from pg_locks where granted and locktype in ('relation', 'advisory')
)
select pid, virtualtransaction from locks
where locktype = 'relation' and relation = 'virtual_asset'::regclass
  and database = (select oid from pg_database where datname = current_database())
  and mode in ('RowShareLock', 'RowExclusiveLock') and pid <> pg_backend_pid()
  and pid not in (
    select run.pid from locks run join delivery_zone on run.key = job_lock($1, delivery_zone)
    where run.locktype = 'advisory' and run.objsubid = 1)
"""


async def read_writers(db: Database) -> set[Writer]:
    return {(row["pid"], row["virtualtransaction"]) for row in await db.fetch(_WRITERS, DISPATCH_JOB)}


async def read_noons(db: Database, zone: str, since: date) -> dict[date, NoonDrift]:
    rows = await db.fetch(
        "select day, drift_kwh, placed_kwh from delivery_zone_drift where delivery_zone = $1 and day >= $2", zone, since
    )
    return {row["day"]: NoonDrift(row["drift_kwh"], row["placed_kwh"]) for row in rows}


async def put_noon(db: Database, zone: str, day: date, noon: NoonDrift) -> None:
    await db.execute(
        """insert into delivery_zone_drift (delivery_zone, day, drift_kwh, placed_kwh) values ($1, $2, $3, $4)
           on conflict (delivery_zone, day) do update set drift_kwh = excluded.drift_kwh,
             placed_kwh = excluded.placed_kwh""",
        zone,
        day,
        noon.drift_kwh,
        noon.placed_kwh,
    )


async def add_placement(
    db: Database, asset_key: int, day: date, first_period: int, power_kw: Floats, now: datetime
) -> None:
    """Drift of a battery is placed once for a day; a second placement changes nothing."""
    await db.execute(
        """insert into delivery_drift (asset_key, day, first_period, power_kw, recorded_at)
           values ($1, $2, $3, $4, $5) on conflict (asset_key, day) do nothing""",
        asset_key,
        day,
        first_period,
        power_kw.tolist(),
        now,
    )


@dataclass(frozen=True, slots=True, eq=False)
class PlacedDrift:
    """A battery's placed drift over the periods of a market day from `first` on."""

    asset_key: int
    day: date
    first: int
    power_kw: Floats
    recorded_at: datetime


async def read_placements(db: Database, day: date) -> list[PlacedDrift]:
    """Of all batteries."""
    rows = await db.fetch(
        """select asset_key, day, first_period, power_kw, recorded_at from delivery_drift where day = $1
           order by asset_key""",
        day,
    )
    return [
        PlacedDrift(row["asset_key"], row["day"], row["first_period"], np.array(row["power_kw"]), row["recorded_at"])
        for row in rows
    ]
