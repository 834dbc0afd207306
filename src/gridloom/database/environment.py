"""Production or sandbox: a database is one of the two for good, and only a sandbox's clock can be moved."""

from __future__ import annotations

from typing import Literal

import asyncpg

Environment = Literal["production", "sandbox"]

_LOCK = 7_108_002

# In a sandbox the platform runs ahead of the real clock by what this table says. Production has no such table, and its
# platform_now() reads nothing but the real clock.
_SANDBOX_CLOCK = """
create table if not exists sandbox_clock (
  is_only boolean primary key default true constraint sandbox_clock_is_one check (is_only),
  ahead interval not null default interval '0' constraint sandbox_clock_never_behind check (ahead >= interval '0')
);
insert into sandbox_clock default values on conflict do nothing;
create or replace function platform_now() returns timestamptz language sql volatile
  return clock_timestamp() + (select ahead from sandbox_clock);
"""


class WrongEnvironment(Exception):
    """A production service on a sandbox's database, or the reverse."""


async def establish_environment(connection: asyncpg.Connection, name: Environment) -> None:
    """Mark an empty database as this environment's, or refuse one that is the other's."""
    async with connection.transaction():
        await connection.execute("select pg_advisory_xact_lock($1)", _LOCK)
        await connection.execute("insert into environment (name) values ($1) on conflict do nothing", name)
        established = await connection.fetchval("select name from environment")
        if established != name:
            raise WrongEnvironment(f"This database belongs to a {established} service and cannot serve {name}.")
        if name == "sandbox":
            await connection.execute(_SANDBOX_CLOCK)
