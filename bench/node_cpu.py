"""Processor time of the PostgreSQL nodes behind a database, counted by the sessions of that database alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg

COORDINATOR = "coordinator"


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a cluster, or a plain PostgreSQL as its own coordinator."""

    name: str
    session: asyncpg.Connection[asyncpg.Record]
    own_pid: int


class Nodes:
    """Sessions to all nodes; every node has to run on this machine, where its processes can be read."""

    def __init__(self, nodes: list[Node]) -> None:
        self._nodes = nodes

    async def read_cpu_ns(self) -> dict[str, dict[int, int]]:
        """By node, what each of the database's sessions has used so far."""
        return {node.name: await _read_sessions(node) for node in self._nodes}

    async def fetchval(self, statement: str) -> Any:
        """On the coordinator."""
        return await self._nodes[0].session.fetchval(statement)

    async def fetch(self, statement: str) -> list[asyncpg.Record]:
        return await self._nodes[0].session.fetch(statement)

    async def close(self) -> None:
        for node in self._nodes:
            await node.session.close()


async def connect_nodes(url: str) -> Nodes:
    first = await asyncpg.connect(url)
    nodes = [Node(COORDINATOR, first, await first.fetchval("select pg_backend_pid()"))]
    if await is_distributed(first):
        for row in await first.fetch("select nodename, nodeport from pg_dist_node where groupid > 0 order by groupid"):
            session = await asyncpg.connect(name_node(url, row["nodename"], row["nodeport"]))
            pid = await session.fetchval("select pg_backend_pid()")
            nodes.append(Node(f"worker {len(nodes)}", session, pid))
    return Nodes(nodes)


async def is_distributed(connection: asyncpg.Connection[asyncpg.Record]) -> bool:
    found: bool = await connection.fetchval("select exists (select from pg_extension where extname = 'citus')")
    return found


def name_node(url: str, host: str, port: int) -> str:
    """The same database on another server."""
    parts = urlsplit(url)
    credentials, at, _ = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{credentials}{at}{host}:{port}"))


async def _read_sessions(node: Node) -> dict[int, int]:
    rows = await node.session.fetch(
        "select pid from pg_stat_activity where datname = current_database() and pid <> $1", node.own_pid
    )
    used = {}
    for row in rows:
        path = Path(f"/proc/{row['pid']}/schedstat")
        if path.exists():  # else it has ended since
            used[row["pid"]] = int(path.read_text().split()[0])
    return used


def used_ms(before: dict[int, int], after: dict[int, int]) -> float:
    """A session that is new has used what it used since."""
    return sum(ns - before.get(pid, 0) for pid, ns in after.items()) / 1e6
