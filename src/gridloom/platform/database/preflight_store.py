"""A server's version, settings and the role's privileges, read before a service starts on it."""

from __future__ import annotations

from dataclasses import dataclass

import asyncpg

from gridloom.platform.database.migrate import pending_migrations
from gridloom.platform.database.rows import read_row

EXTENSIONS = ("btree_gist", "btree_gin", "pg_trgm")


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    version: int
    role: str
    is_read_only: bool
    may_create: bool
    missing_extensions: tuple[str, ...]
    free_connections: int
    has_schema: bool
    schema_state: str
    clock: float
    """Seconds since 1970."""


async def read_database_facts(dsn: str, timeout_s: float) -> DatabaseFacts:
    connection = await asyncpg.connect(dsn, timeout=timeout_s)
    try:
        row = await connection.fetchrow(
            """
            select current_setting('server_version_num')::int as version, current_user as role,
              pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as is_read_only,
              has_schema_privilege('public', 'create') as may_create,
              current_setting('max_connections')::int - (select count(*) from pg_stat_activity) as free_connections,
              array(select name from unnest($1::text[]) name
                where not exists (select from pg_available_extensions e where e.name = name.name)) as missing,
              extract(epoch from clock_timestamp())::float8 as clock
            """,
            EXTENSIONS,
        )
        assert row is not None
        has_schema = await connection.fetchval("select to_regclass('schema_migration')") is not None
        missing = await pending_migrations(connection)
        return read_row(
            DatabaseFacts,
            row,
            missing_extensions=tuple(row["missing"]),
            has_schema=has_schema,
            schema_state=_describe_schema(has_schema, len(missing)),
        )
    finally:
        await connection.close()


async def read_environment(connection: asyncpg.Connection) -> str | None:
    """The environment to which a database with a schema belongs; None until a service has started on it."""
    name: str | None = await connection.fetchval("select name from environment")
    return name


def _describe_schema(has_schema: bool, missing: int) -> str:
    if not has_schema:
        return "empty: the first start creates the schema"
    return f"{missing} migrations to apply" if missing else "schema up to date"
