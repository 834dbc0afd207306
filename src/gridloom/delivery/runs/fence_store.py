"""Waiting for schedules that were let through a gate before it closed and are not committed yet."""

from __future__ import annotations

import asyncio
from typing import Final

from gridloom.database.pool import Database
from gridloom.virtual_assets.backing.allocation import DISPATCH

LOOK_EVERY_S: Final = 0.002

# Whoever changes a schedule holds its asset's row from before the clock is read until the change is committed, and so
# has a lock on the table: no look at a gate costs them anything. Other zones' runs take such locks too, for cuts.
_WRITERS = """
with held as materialized (
  select pid, virtualtransaction, locktype, database, relation, mode, objsubid,
         classid::bigint << 32 | objid::bigint as key
  from pg_locks where granted and locktype in ('relation', 'advisory')
)
select virtualtransaction from held
where locktype = 'relation' and relation = 'virtual_asset'::regclass
  and database = (select oid from pg_database where datname = current_database())
  and mode in ('RowShareLock', 'RowExclusiveLock') and pid <> pg_backend_pid()
  and pid not in (
    select run.pid from held run join delivery_zone on run.key = job_lock($1, delivery_zone)
    where run.locktype = 'advisory' and run.objsubid = 1)
"""


async def wait_for_writers(db: Database) -> None:
    """Let whoever is changing virtual assets now come to an end; what begins meanwhile is not waited for.

    To be called after the clock was read and before anything is locked: then all that was let through a gate that had
    not closed by that clock is seen by what is read next.
    """
    waiting = await _read_writers(db)
    while waiting:
        await asyncio.sleep(LOOK_EVERY_S)
        waiting &= await _read_writers(db)


async def _read_writers(db: Database) -> set[str]:
    return {row["virtualtransaction"] for row in await db.fetch(_WRITERS, DISPATCH)}
