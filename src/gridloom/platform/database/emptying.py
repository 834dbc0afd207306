"""Emptying tables of a sandbox: by TRUNCATE on one server, by DELETE where they are spread over several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gridloom.platform.database.citus import PLACEMENT_OF, Placement, TableKind
from gridloom.platform.database.pool import Connection
from gridloom.platform.database.statement import compose

MAX_S: Final = 600


async def is_distributed(db: Connection) -> bool:
    """Whether the database has the extension (Citus), even if its tables are not spread yet."""
    return bool(await db.fetchval("select exists (select from pg_extension where extname = 'citus')"))


async def empty_tables(db: Connection, placements: Sequence[Placement]) -> None:
    """Remove all rows of these tables, given in the order in which they are placed.

    On a cluster TRUNCATE makes new files for each shard of each table, some ten thousand, which takes half a minute.
    There each table is emptied by DELETE, before those that it points to. A row to which all shards point, as an asset
    is, takes some 20 ms then: the statements of this transaction may take longer than those of others.
    """
    truncated = [one.table for one in placements]
    if await is_distributed(db):
        truncated = [one.table for one in placements if one.kind is TableKind.LOCAL]
        await db.execute("select set_config('statement_timeout', $1, true)", f"{MAX_S}s")
        for placement in reversed(placements):
            if placement.kind is not TableKind.LOCAL:
                await db.execute(
                    compose("delete from {table}", table=PLACEMENT_OF[placement.table].table), timeout=MAX_S
                )
    await db.execute(f"truncate {', '.join(truncated)} restart identity")
