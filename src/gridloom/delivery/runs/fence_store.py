"""Who is changing virtual assets at this moment, as PostgreSQL's locks show it."""

from __future__ import annotations

from gridloom.database.pool import Database
from gridloom.virtual_assets.backing.allocation import DISPATCH

Writer = tuple[int, str]
"""A session and its transaction, as the server names them."""

# Whoever changes a schedule holds its asset's row from before the clock is read until the change is committed, and so
# has a lock on the table: no look at a gate costs them anything. Other zones' runs take such locks too, for cuts.
_WRITERS = """
with held as materialized (
  select pid, virtualtransaction, locktype, database, relation, mode, objsubid,
         classid::bigint << 32 | objid::bigint as key
  from pg_locks where granted and locktype in ('relation', 'advisory')
)
select pid, virtualtransaction from held
where locktype = 'relation' and relation = 'virtual_asset'::regclass
  and database = (select oid from pg_database where datname = current_database())
  and mode in ('RowShareLock', 'RowExclusiveLock') and pid <> pg_backend_pid()
  and pid not in (
    select run.pid from held run join delivery_zone on run.key = job_lock($1, delivery_zone)
    where run.locktype = 'advisory' and run.objsubid = 1)
"""


async def read_writers(db: Database) -> set[Writer]:
    return {(row["pid"], row["virtualtransaction"]) for row in await db.fetch(_WRITERS, DISPATCH)}
