"""The worker nodes of a distributed database (Citus): which of them answer, and which shards lie on each."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gridloom.platform.database.citus import PLACEMENTS
from gridloom.platform.database.pool import Database, Pool

_FIRST_OF_GROUP: Final = {placement.group: placement.table for placement in reversed(PLACEMENTS) if placement.group}


@dataclass(frozen=True, slots=True)
class WorkerNode:
    address: str
    answers: bool
    shards: Mapping[str, int]
    """By group of tables that lie together: how many of the group's shards lie here alone."""


async def read_worker_nodes(db: Database) -> Sequence[WorkerNode]:
    """In the order of their addresses; none where the database is not distributed."""
    if not await db.fetchval("select to_regclass('pg_catalog.pg_dist_node') is not null"):
        return ()
    lying = await _count_shards(db)
    rows = await db.fetch(
        "select nodename || ':' || nodeport as address, success from run_command_on_workers('select 1')"
    )
    found = [WorkerNode(row["address"], row["success"], lying.get(row["address"], {})) for row in rows]
    return sorted(found, key=lambda node: node.address)


async def _count_shards(db: Database) -> Mapping[str, Mapping[str, int]]:
    rows = await db.fetch(
        """
        select n.nodename || ':' || n.nodeport as address, t.group_name, count(*) as shards
        from unnest($1::text[], $2::text[]) as t (group_name, table_name)
          join pg_dist_shard s on s.logicalrelid = to_regclass(t.table_name)
          join pg_dist_placement p on p.shardid = s.shardid
          join pg_dist_node n on n.groupid = p.groupid
        group by 1, 2 order by 1, 2
        """,
        list(_FIRST_OF_GROUP), list(_FIRST_OF_GROUP.values()),
    )  # fmt: skip
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        found.setdefault(row["address"], {})[row["group_name"]] = row["shards"]
    return found


async def try_space(db: Pool, size_bytes: int) -> None:
    """Raise where there is no room for so much more; nothing of it stays."""
    async with db.acquire(timeout=1) as connection:
        attempt = connection.transaction()
        await attempt.start()
        try:
            await connection.execute("insert into space_probe (body) values ($1)", os.urandom(size_bytes))
        finally:
            await attempt.rollback()


async def record_write_probe(db: Database) -> None:
    await db.execute(
        """
        insert into write_probe (is_only, probed_at) values (true, clock_timestamp())
        on conflict (is_only) do update set probed_at = excluded.probed_at
        """
    )
