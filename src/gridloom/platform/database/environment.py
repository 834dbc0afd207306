"""Production or sandbox: a database is one of the two for good, and only a sandbox's clock can be moved."""

from __future__ import annotations

import asyncpg

from gridloom.kernel.environment import Environment

_LOCK = 7_108_002

# In a sandbox the platform's clock is the real one shifted by what this table says, and it stops where that says
# hold. Production has no such tables, and its platform_now() reads nothing but the real clock. In plpgsql, since what
# reads a table in plain SQL is set up anew in each statement that calls it, and nearly every change does.
_SANDBOX_CLOCK = """
create table if not exists sandbox_clock (
  is_only boolean primary key default true constraint sandbox_clock_is_one check (is_only),
  ahead interval not null default interval '0'
);
alter table sandbox_clock drop constraint if exists sandbox_clock_never_behind;
alter table sandbox_clock add column if not exists hold_until timestamptz;
alter table sandbox_clock add column if not exists reset_at timestamptz;
insert into sandbox_clock default values on conflict do nothing;
create table if not exists sandbox_walk (           -- a move of the clock under way where no simulator runs
  is_only boolean primary key default true constraint sandbox_walk_is_one check (is_only),
  id uuid not null,
  target timestamptz not null
);
create or replace function platform_now() returns timestamptz language plpgsql volatile as $$
begin
  return (select least(clock_timestamp() + ahead, hold_until) from sandbox_clock);
end $$;
create or replace function platform_pace() returns float8 language sql volatile
  return (select case when clock_timestamp() + ahead >= hold_until then 0.0 else 1.0 end::float8 from sandbox_clock);
"""

# The simulated world: there once a simulator was started.
_SANDBOX_SIMULATOR = """
create table if not exists sandbox_simulator (
  is_only boolean primary key default true constraint sandbox_simulator_is_one check (is_only),
  world integer not null,                           -- rises with each reset
  seed bigint not null,
  running boolean not null,
  speed float8 not null constraint sandbox_simulator_speed_positive check (speed > 0),
  start timestamptz(3) not null,                    -- where the world begins
  step timestamptz(3) not null,                     -- the quarter-hour that was handed out last
  is_done boolean not null,                         -- whether the simulator is through with it
  history_complete boolean not null,
  target timestamptz(3),                            -- as fast as it goes until then
  anchor_real timestamptz(3) not null,              -- at this real time the clock stood at anchor_platform
  anchor_platform timestamptz(3) not null,
  memory jsonb                                      -- what the simulator gave to keep with its last quarter-hour
);
alter table sandbox_simulator add column if not exists taken_by uuid;         -- one simulator at a time: which one
alter table sandbox_simulator add column if not exists taken_at timestamptz;  -- and when it was last heard of
alter table sandbox_simulator add column if not exists fault text;            -- why no simulator was let in
alter table sandbox_simulator add column if not exists failures jsonb not null default '[]';  -- on purpose
"""


class EnvironmentMismatchError(Exception):
    """A production service on a sandbox's database, or the reverse."""


async def establish_environment(connection: asyncpg.Connection, name: Environment) -> None:
    """Mark an empty database as this environment's, or refuse one that is the other's."""
    async with connection.transaction():
        await connection.execute("select pg_advisory_xact_lock($1)", _LOCK)
        await connection.execute("insert into environment (name) values ($1) on conflict do nothing", name)
        established = await connection.fetchval("select name from environment")
        if established != name:
            raise EnvironmentMismatchError(f"This database belongs to a {established} service and cannot serve {name}.")
        if name == "sandbox":
            await connection.execute(_SANDBOX_CLOCK)
            await connection.execute(_SANDBOX_SIMULATOR)
