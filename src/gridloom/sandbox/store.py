"""All SQL of the sandbox."""

from __future__ import annotations

import asyncio
from datetime import datetime
from uuid import UUID

import asyncpg

from gridloom.platform.database.append_only import APPEND_ONLY
from gridloom.platform.database.citus import PLACEMENTS
from gridloom.platform.database.emptying import empty_tables
from gridloom.platform.database.pool import Connection, Database

_TURN = 7_108_090
HOLD_ATTEMPTS = 100

# What a reset leaves: the schema, the environment, the operator's own people with all by which they sign in, the keys
# that sign tokens, and the audit log, which nothing can remove.
PRESERVED_TABLES = (
    "schema_migration",
    "environment",
    "sandbox_clock",
    "sandbox_simulator",
    "organisation",
    "member",
    "session",
    "refresh_token",
    "console_session",
    "sign_in_network",
    "second_factor",
    "recovery_code",
    "identity_provider",
    "external_identity",
    "api_key",
    "signing_key",
    "audit_log",
    "job",
    "two_phase_commit",
)


async def lock_clock(db: Database) -> None:
    """Locks the clock and the reset of the platform until the transaction ends."""
    await db.execute("select pg_advisory_xact_lock($1)", _TURN)
    # This transaction does nothing but hold the turn while years may pass in others.
    await db.execute("set local idle_in_transaction_session_timeout = 0")


async def try_lock_clock(db: Database) -> bool:
    """Try to lock the clock. The transaction may then stay idle while due jobs run."""
    took: bool = await db.fetchval(
        "select pg_try_advisory_xact_lock($1) from set_config('idle_in_transaction_session_timeout', '0', true)", _TURN
    )
    return took


async def is_untouched(db: Database) -> bool:
    """Whether nothing has happened here yet: the operator is alone, and the clock was never moved."""
    untouched: bool = await db.fetchval(
        """
        select not exists (select from organisation offset 1) and not exists (select from asset)
          and (select ahead = interval '0' from sandbox_clock)
        """
    )
    return untouched


async def lock_organisations(db: Database) -> None:
    """Until the transaction ends no organisation is founded: an untouched sandbox stays untouched."""
    await db.execute("lock table organisation in share mode")


# --- a walk of the clock ---------------------------------------------------------------------------------------------
# The walking process holds the advisory lock from the first instant to the last, so a row without the lock is what a
# process that died left behind.


async def begin_walk(db: Database, walk_id: UUID, target: datetime) -> None:
    await db.execute(
        """
        insert into sandbox_walk (id, target) values ($1, $2)
        on conflict (is_only) do update set id = excluded.id, target = excluded.target
        """,
        walk_id, target,
    )  # fmt: skip


async def step_walk(db: Database, walk_id: UUID, instant: datetime) -> bool:
    """Put the clock to an instant, if that is ahead of it; False where the walk was stopped."""
    walks: bool = await db.fetchval(
        """
        with walking as (select from sandbox_walk where id = $1),
        moved as (
          update sandbox_clock set ahead = $2 - clock_timestamp()
          where $2 - clock_timestamp() > ahead and exists (select from walking)
        )
        select exists (select from walking)
        """,
        walk_id, instant,
    )  # fmt: skip
    return walks


async def end_walk(db: Database, walk_id: UUID) -> None:
    await db.execute("delete from sandbox_walk where id = $1", walk_id)


async def read_walk_target(db: Database) -> datetime | None:
    """Where the walk under way leads; None without one."""
    target: datetime | None = await db.fetchval(
        """
        select target from sandbox_walk
        where exists (
          select from pg_locks
          where locktype = 'advisory' and granted and classid = 0 and objid = $1::bigint::oid and objsubid = 1
            and database = (select oid from pg_database where datname = current_database())
        )
        """,
        _TURN,
    )
    return target


async def stop_walk(db: Database) -> bool:
    """Have the walk under way stop at the instant it has reached; False without one."""
    if await read_walk_target(db) is None:
        return False
    return await db.fetchval("delete from sandbox_walk returning true") is not None


async def reset_data(db: Connection, operator_id: UUID) -> list[UUID]:
    """Remove everything but what is kept, and put the clock back to the real time; the organisations that are gone."""
    emptied = [placement for placement in PLACEMENTS if placement.table not in PRESERVED_TABLES]
    # Append-only tables refuse to be emptied: here, and only here, in one transaction of a sandbox, they may be.
    await db.execute(f"grant truncate, delete on {', '.join(APPEND_ONLY)} to current_user")
    await _lock_tables(db, ", ".join(placement.table for placement in emptied))
    await empty_tables(db, emptied)
    await db.execute(f"revoke truncate, delete on {', '.join(APPEND_ONLY)} from current_user")
    await db.execute("delete from job where every is null")
    await db.execute("delete from external_identity where organisation_id <> $1", operator_id)
    await db.execute("delete from identity_provider where organisation_id <> $1", operator_id)
    await db.execute("delete from member where organisation_id <> $1", operator_id)
    kept = [row["id"] for row in await db.fetch("select id from member")]
    # On a distributed database no foreign key does it.
    await db.execute("delete from session where member_id <> all($1::uuid[])", kept)
    await db.execute("delete from sign_in_network where member_id <> all($1::uuid[])", kept)
    gone = await db.fetch("delete from organisation where id <> $1 returning id", operator_id)
    await db.execute("update sandbox_clock set ahead = interval '0', hold_until = null, reset_at = clock_timestamp()")
    await db.execute("update job set due = least(due, clock_timestamp()), not_before = null where every is not null")
    return [row["id"] for row in gone]


async def was_reset_within(db: Database, seconds: float) -> bool:
    """Whether a reset has committed so recently, about: its time is that of its last statements."""
    was_reset: bool = await db.fetchval(
        "select coalesce(reset_at > clock_timestamp() - make_interval(secs => $1), false) from sandbox_clock", seconds
    )
    return was_reset


async def _lock_tables(db: Connection, names: str) -> None:
    """Lock all of these tables or none, so that a transaction that holds some of them and waits for others proceeds."""
    for attempt in range(1, HOLD_ATTEMPTS + 1):
        try:
            async with db.transaction():
                await db.execute("set local lock_timeout = '100ms'")
                await db.execute(f"lock table {names} in access exclusive mode")
        except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):
            if attempt == HOLD_ATTEMPTS:
                raise
            await asyncio.sleep(0.05)
        else:
            await db.execute("set local lock_timeout to default")
            return
