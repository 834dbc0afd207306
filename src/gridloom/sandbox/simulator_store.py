"""The SQL of the simulated world: its progress, and the state that its simulator stores."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from gridloom.platform.database.pool import Database
from gridloom.sandbox.simulation import Simulation

CHANNEL = "gridloom_simulator"


async def read_simulation(db: Database) -> Simulation | None:
    """None where no simulator was ever started."""
    row = await db.fetchrow(
        """
        select world, seed, running, speed, start, step, is_done, history_complete, target, anchor_real,
               anchor_platform, fault, failures, platform_now() as now, clock_timestamp() as real
        from sandbox_simulator
        """
    )
    return None if row is None else Simulation(**dict(row))


async def read_batteries(db: Database) -> set[str]:
    """The ids of the batteries that the simulator runs."""
    known: dict[str, str] = await db.fetchval("select memory -> 'batteries' from sandbox_simulator") or {}
    return set(known.values())


async def order_failures(db: Database, failures: Sequence[dict[str, Any]]) -> None:
    """In place of those ordered before."""
    await db.execute("update sandbox_simulator set failures = $1::jsonb", failures)
    await notify_changed(db)


async def read_memory(db: Database) -> Any:
    return await db.fetchval("select memory from sandbox_simulator")


async def insert_simulation(db: Database, *, seed: int, start: datetime, history_complete: bool) -> None:
    """The first world, from the present time of the clock."""
    await db.execute(
        """
        insert into sandbox_simulator
          (world, seed, running, speed, start, step, is_done, history_complete, anchor_real, anchor_platform)
        values (1, $1, true, 1, $2, $2, false, $3, clock_timestamp(), platform_now())
        on conflict do nothing
        """,
        seed, start, history_complete,
    )  # fmt: skip


async def begin_again(db: Database, start: datetime) -> None:
    """The next world, from its beginning."""
    await db.execute(
        """
        update sandbox_simulator
        set world = world + 1, running = true, start = $1, step = $1, is_done = false, history_complete = false,
            target = null, anchor_real = clock_timestamp(), anchor_platform = $1, memory = null, failures = '[]'
        """,
        start,
    )
    await notify_changed(db)


async def rewind_clock(db: Database, instant: datetime) -> None:
    """Let the clock stand at the beginning of a world, wherever it stood before. Nothing else puts it back, and this
    only in an untouched sandbox or after a reset."""
    await db.execute("update sandbox_clock set ahead = $1::timestamptz - clock_timestamp(), hold_until = $1", instant)
    # What recurs on that clock was due at an instant that is yet to come again.
    await db.execute(
        "update job set due = least(due, $1::timestamptz) where every is not null and clock = 'platform'", instant
    )


async def hold_clock(db: Database) -> None:
    """Let the clock stand where it is."""
    await db.execute(
        """
        update sandbox_clock
        set ahead = reading.now - clock_timestamp(), hold_until = reading.now
        from (select platform_now() as now) reading
        """
    )


async def advance_held_clock(db: Database, instant: datetime) -> None:
    """Take the clock to an instant, if that lies ahead, and let it stand there.

    Without waiting for the disk: the changes at that instant wait, and take the clock's move along.
    """
    await db.execute(
        """
        with quickly as materialized (select set_config('synchronous_commit', 'off', true) as is_off)
        update sandbox_clock set ahead = $1::timestamptz - clock_timestamp(), hold_until = $1 from quickly
        where least(clock_timestamp() + ahead, hold_until) < $1 and is_off = 'off'
        """,
        instant,
    )


async def commit_without_the_disk(db: Database) -> None:
    """For what a crash of the database may take back: it is done again from the time of the clock then."""
    await db.execute("set local synchronous_commit = off")


async def run_clock(db: Database, ahead: timedelta, until: datetime) -> bool:
    """Let the clock run at the real one's pace until an instant; False where it does so already.

    A clock that is ahead of what is asked for runs on from where it is.
    """
    changed = await db.fetchval(
        """
        update sandbox_clock
        set ahead = greatest($1::interval, least(clock_timestamp() + ahead, hold_until) - clock_timestamp()),
            hold_until = $2
        where hold_until is distinct from $2::timestamptz or ahead < $1::interval
        returning true
        """,
        ahead, until,
    )  # fmt: skip
    return changed is not None


async def release_clock(db: Database) -> None:
    """Run the clock from its current instant without waiting for the simulator."""
    await db.execute(
        """
        update sandbox_clock
        set ahead = least(clock_timestamp() + ahead, hold_until) - clock_timestamp(), hold_until = null
        where hold_until is not null
        """
    )


async def acquire_lease(
    db: Database, member_id: UUID, silence: timedelta, reported_until: datetime | None = None
) -> bool:
    """Acquire or renew the lease of the simulator; False while another one holds it.

    One that has not reported up to where the clock has arrived has it from the arrival on, and no longer: so
    `has_reported_since_arrival` tells it from one that has. (Responses have whole milliseconds.)
    """
    taken = await db.fetchval(
        """
        update sandbox_simulator set taken_by = $1, fault = null, taken_at = case
            when $3::timestamptz < anchor_platform - interval '1 ms' then anchor_real else clock_timestamp() end
        where taken_by is null or taken_by = $1 or taken_at < clock_timestamp() - $2::interval
        returning true
        """,
        member_id, silence, reported_until,
    )  # fmt: skip
    return taken is not None


async def store_error(db: Database, sentence: str) -> None:
    """Why there is no simulator; until one takes part again."""
    await db.execute("update sandbox_simulator set fault = $1", sentence)


async def mark_issued(db: Database, step: datetime) -> None:
    await db.execute(
        """
        update sandbox_simulator set step = $1, is_done = false, target = case when target > $1 then target end
        where is_done and step < $1
        """,
        step,
    )


async def complete_step(db: Database, world: int, step: datetime, memory: Any) -> bool:
    """Note that the simulator is through with a step and what it remembers; False if that is not the one awaited.

    While time hurries it may be through with later ones, too: the clock does not wait at those any more.
    """
    noted = await db.fetchval(
        """
        update sandbox_simulator set is_done = true, step = $2, memory = $3::jsonb
        where world = $1 and not is_done and (step = $2 or step < $2 and $2 + interval '15 minutes'
          <= greatest(target, case when not history_complete then clock_timestamp() end))
        returning true
        """,
        world, step, memory,
    )  # fmt: skip
    return noted is not None


async def complete_history(db: Database) -> None:
    """The world has reached the present: from here on the clock goes with the real one, at its speed."""
    await db.execute(
        """
        update sandbox_simulator
        set history_complete = true, anchor_real = clock_timestamp(),
            anchor_platform = greatest(clock_timestamp(), platform_now())
        """
    )


async def set_target(db: Database, target: datetime) -> None:
    """Have the clock hurry until an instant."""
    await db.execute("update sandbox_simulator set target = greatest(target, $1)", target)
    await notify_changed(db)


async def reach_target(db: Database, instant: datetime) -> None:
    """From its present time the clock goes on at its speed."""
    await db.execute(
        "update sandbox_simulator set target = null, anchor_real = clock_timestamp(), anchor_platform = $1", instant
    )


async def has_reported_since_arrival(db: Database) -> bool:
    """Whether the simulator has asked for its next step since the clock arrived, with all reported until then.

    The clock shows the target a moment before the arrival is noted.
    """
    has_reported: bool | None = await db.fetchval(
        """
        select taken_at > anchor_real and (target is null or target > platform_now()) from sandbox_simulator
        """
    )
    return has_reported is not False


async def stop_at_present(db: Database) -> bool:
    """Have the clock go on at its speed from its present time; False where it was not hurrying to an instant."""
    stopped = await db.fetchval(
        """
        update sandbox_simulator set target = null, anchor_real = clock_timestamp(), anchor_platform = platform_now()
        where running and target > platform_now() returning true
        """
    )
    await notify_changed(db)
    return stopped is not None


async def steer(db: Database, *, running: bool, seed: int, speed: float) -> None:
    await db.execute(
        """
        update sandbox_simulator
        set running = $1, seed = $2, speed = $3, target = case when $1 then target end,
            anchor_real = clock_timestamp(), anchor_platform = platform_now()
        """,
        running, seed, speed,
    )  # fmt: skip
    await notify_changed(db)


async def notify_changed(db: Database) -> None:
    """Notify processes that wait for a change of the simulation."""
    await db.execute("select pg_notify($1, '')", CHANNEL)
