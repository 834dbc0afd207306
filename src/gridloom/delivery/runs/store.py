"""What runs did, and the transactions that they wait for, in PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from gridloom.database.pool import Database
from gridloom.database.statement import NamedStatement
from gridloom.delivery.model import DistributionMethod
from gridloom.virtual_assets.backing.allocation import DISPATCH_JOB


@dataclass(frozen=True, slots=True)
class Run:
    """What a run did: its window in periods, energies in MWh at the grid."""

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


_RUN = """select id, delivery_zone, began_at, first_period, end_period, final_until, virtual_assets, batteries,
  scheduled_export_mwh, scheduled_import_mwh, netted_mwh, spread_mwh, unserved_mwh, reserve_shortfall_mwh,
  forced_periods, changed_batteries, method, solver_s from delivery_run """


_ADD_RUN = NamedStatement("""
insert into delivery_run (
  id, delivery_zone, began_at, first_period, end_period, final_until, virtual_assets, batteries, scheduled_export_mwh,
  scheduled_import_mwh, netted_mwh, spread_mwh, unserved_mwh, reserve_shortfall_mwh,
  forced_periods, changed_batteries, method, solver_s)
values (
  :id, :delivery_zone, :began_at, :first_period, :end_period, :final_until, :virtual_assets, :batteries,
  :scheduled_export_mwh, :scheduled_import_mwh, :netted_mwh, :spread_mwh, :unserved_mwh, :reserve_shortfall_mwh,
  :forced_periods, :changed_batteries, :method, :solver_s)
""")


async def add_run(db: Database, run: Run) -> None:
    await _ADD_RUN.execute(db, **{name: getattr(run, name) for name in Run.__dataclass_fields__})


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
