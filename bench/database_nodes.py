"""The nodes of a database that run on this machine: their processes, `kill -9`, and a start as they were started."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import time
import urllib.parse
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import asyncpg
import psutil


@dataclass(frozen=True)
class Node:
    """What is needed to start a killed node again; `is_coordinator` also of a database that has no other node."""

    address: str
    dsn: str
    is_coordinator: bool
    command: list[str]
    environment: Mapping[str, str]
    directory: str
    user: int
    group: int

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def kill(self) -> None:
        """With its sessions, as a machine that loses its power; until nothing of it is left."""
        postmaster = _find_listener(self.port)
        assert postmaster is not None, f"nothing listens at {self.address}"
        processes = [postmaster, *postmaster.children(recursive=True)]
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
        psutil.wait_procs(processes, timeout=30)

    def start(self, seconds: float = 120) -> None:
        subprocess.Popen(
            self.command,
            env=dict(self.environment),
            cwd=self.directory,
            user=self.user,
            group=self.group,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + seconds
        while not asyncio.run(_answers(self.dsn)):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.address} does not come back")
            time.sleep(0.2)


def find_local_nodes(database: str) -> list[Node]:
    """The coordinator first, then the worker nodes; those alone that listen on this machine."""
    parts = urllib.parse.urlsplit(database)
    if not parts.port:
        return []  # over a socket: the service's own server, which it starts again itself
    found = []
    for number, address in enumerate([f"{parts.hostname}:{parts.port}", *asyncio.run(_read_workers(database))]):
        process = _find_listener(int(address.rpartition(":")[2]))
        if process is None:
            continue
        user = f"{parts.username}@" if parts.username else ""
        found.append(
            Node(
                address=address,
                dsn=f"postgresql://{user}{address}{parts.path}",
                is_coordinator=number == 0,
                command=process.cmdline(),
                environment=process.environ(),
                directory=process.cwd(),
                user=process.uids().real,
                group=process.gids().real,
            )
        )
    return found


def _find_listener(port: int) -> psutil.Process | None:
    for connection in psutil.net_connections("tcp"):
        if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port and connection.pid:
            return psutil.Process(connection.pid)
    return None


async def _read_workers(database: str) -> list[str]:
    connection = await asyncpg.connect(database)
    try:
        if await connection.fetchval("select to_regclass('pg_catalog.pg_dist_node')") is None:
            return []
        rows = await connection.fetch(
            "select nodename || ':' || nodeport as address from pg_dist_node where groupid <> 0 and isactive order by 1"
        )
        return [row["address"] for row in rows]
    finally:
        await connection.close()


async def _answers(dsn: str) -> bool:
    try:
        connection = await asyncpg.connect(dsn, timeout=2)
        await connection.close()
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return False
    return True
