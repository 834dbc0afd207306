"""The contents of a database as one count and one checksum per table: equal for a database and its restored copy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

import asyncpg

from gridloom.platform.database.citus import PLACEMENTS

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@dataclass(frozen=True, slots=True)
class TableContents:
    rows: int
    checksum: int
    """Sum of a hash of every row's text, so that the order of rows does not matter."""


Contents = dict[str, TableContents]


@asynccontextmanager
async def exported_snapshot(connection: Connection) -> AsyncIterator[str]:
    """A transaction whose snapshot other sessions can share by its name."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        yield await connection.fetchval("select pg_export_snapshot()")


async def read_contents(connection: Connection) -> Contents:
    """Count every table of the schema; one after the other, since each is read whole."""
    # The text of a timestamp depends on these two.
    await connection.execute("set time zone 'UTC'; set extra_float_digits = 1")
    contents: Contents = {}
    for table in sorted({placement.table for placement in PLACEMENTS}):
        if await connection.fetchval("select to_regclass($1)", table) is None:
            continue  # a database of an earlier release
        row = await connection.fetchrow(
            # A table's name cannot be a parameter; these come from the list above.
            f"select count(*) as rows, coalesce(sum(('x' || left(md5(t::text), 15))::bit(60)::bigint), 0) as checksum "  # noqa: S608 — of a table's own name
            f'from "{table}" t'
        )
        assert row is not None
        contents[table] = TableContents(row["rows"], int(row["checksum"]))
    return contents


def difference(expected: Contents, found: Contents) -> list[str]:
    """A sentence for each table that is not the same."""
    sentences = []
    for table, one in expected.items():
        other = found.get(table)
        if other is None:
            sentences.append(f"{table} is missing")
        elif other.rows != one.rows:
            sentences.append(f"{table} has {other.rows} rows instead of {one.rows}")
        elif other != one:
            sentences.append(f"{table} has other values")
    return sentences


async def has_schema(connection: Connection) -> bool:
    return await connection.fetchval("select to_regclass('schema_migration')") is not None


async def read_parameter_names(connection: Connection) -> frozenset[str]:
    """Configuration parameters that this server has."""
    return frozenset(row["name"] for row in await connection.fetch("select name from pg_settings"))


async def read_server_major(connection: Connection) -> int:
    return int(await connection.fetchval("show server_version_num")) // 10000


async def is_slot_active(connection: Connection, slot: str) -> bool:
    """Whether a process receives from this replication slot now."""
    return bool(await connection.fetchval("select active from pg_replication_slots where slot_name = $1", slot))
