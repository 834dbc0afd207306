"""PostgreSQL for tests: one server a run, started when a test first needs a database.

With GRIDLOOM_TEST_STANDBY=1 there is a standby too. What is imported here is light: a file of pure tests pays for
neither a server nor a driver.
"""

from __future__ import annotations

import asyncio
import os
import signal
import uuid
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from tests.scratch import make_scratch, remove_scratch

if TYPE_CHECKING:
    from bench.standby import StandbyPostgres

    from gridloom.platform.database.server.embedded import EmbeddedPostgres
    from gridloom.settings import Settings

SERVER = "GRIDLOOM_TEST_SERVER"
WANTS_STANDBY = "GRIDLOOM_TEST_STANDBY"
STANDBY = "GRIDLOOM_TEST_STANDBY_SERVER"
TEMPLATE = "gridloom_template"
# Tests of durability start a server of their own.
QUICK = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "wal_compression": "off"}
# Hundreds of databases, each for a second: without upkeep (counters of rows read are what tests ask for).
SHORT_LIVED = {
    "autovacuum": "off",
    "update_process_title": "off",
    "max_parallel_workers_per_gather": "0",
    "checkpoint_timeout": "1h",
    "max_wal_size": "8GB",
    "bgwriter_lru_maxpages": "0",
}
WITHOUT_STANDBY = {"wal_level": "minimal", "max_wal_senders": "0"}
_server: EmbeddedPostgres | None = None
_standby: StandbyPostgres | None = None
_scratch: Path | None = None
_spent_before_s = 0.0
"""Processor time of the server before it was last interrupted."""


def open_scratch() -> None:
    """A directory for the files of this run; the processes that it starts find it in their environment."""
    global _scratch
    _scratch = make_scratch()


def server_url() -> str:
    """The address of this run's server, which starts now if no test has needed it so far."""
    if SERVER not in os.environ:
        _start_servers()
    return os.environ[SERVER]


def stop_servers() -> None:
    """Stop what this process started, and remove its files."""
    global _server, _standby, _scratch
    if _standby is not None:
        _standby.stop()
        os.environ.pop(STANDBY, None)
    if _server is not None:
        _server.stop()
        os.environ.pop(SERVER, None)
    if _scratch is not None:
        remove_scratch(_scratch)
    _server = _standby = _scratch = None


def read_server_cpu_s() -> float:
    """Processor time that this process' server and its sessions, those that ended among them, have used."""
    import psutil

    if _server is None or _server.pid is None:
        return _spent_before_s
    postmaster = psutil.Process(_server.pid)
    spent = [postmaster.cpu_times()]
    for session in postmaster.children():
        with suppress(psutil.NoSuchProcess):  # it has ended since
            spent.append(session.cpu_times())
    ended = spent[0].children_user + spent[0].children_system
    return float(_spent_before_s + ended + sum(one.user + one.system for one in spent))


def interrupt_server() -> None:
    """Shut this process' server down as a restart does: sessions end, and what is committed is kept."""
    global _spent_before_s
    _spent_before_s = read_server_cpu_s()
    pid = _server.pid if _server is not None else None
    assert pid is not None, "a server of this process"
    os.kill(pid, signal.SIGINT)


def revive_server() -> None:
    """Start it again where its clients know it."""
    assert _server is not None
    _server.revive()


def _start_servers() -> None:
    """Processes that this one starts find the servers in their environment."""
    global _server, _standby
    from bench.standby import StandbyPostgres

    from gridloom.platform.database.server.embedded import EmbeddedPostgres

    assert _scratch is not None, "a server of tests starts after open_scratch()"
    # A standby gets to know what is flushed.
    standby = {"synchronous_commit": "on"} if os.environ.get(WANTS_STANDBY) else WITHOUT_STANDBY
    _server = EmbeddedPostgres(_scratch / "server", settings={**QUICK, **SHORT_LIVED, **standby})
    os.environ[SERVER] = _server.start()
    with ThreadPoolExecutor(1) as thread:  # a test that asks may have a loop running in this one
        thread.submit(lambda: asyncio.run(make_template(os.environ[SERVER]))).result()
    if os.environ.get(WANTS_STANDBY):
        (_scratch / "server").chmod(0o711)  # the account that the servers run as passes through
        _standby = StandbyPostgres(_scratch / "standby", os.environ[SERVER], "tests", QUICK)
        os.environ[STANDBY] = _standby.start()


async def make_template(server: str) -> None:
    import asyncpg

    from gridloom.platform.database.environment import establish_environment
    from gridloom.platform.database.migrate import migrate

    await execute(server, f"create database {TEMPLATE}")
    connection = await asyncpg.connect(url_of(server, TEMPLATE))
    try:
        await migrate(connection)
        await establish_environment(connection, "sandbox")
    finally:
        await connection.close()


async def execute(url: str, statement: str) -> None:
    import asyncpg

    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def url_of(server: str, database: str) -> str:
    return urlunsplit(urlsplit(server)._replace(path=f"/{database}"))


@asynccontextmanager
async def migrated_database() -> AsyncIterator[str]:
    """The address of a new database with the whole schema and no rows."""
    server, name = server_url(), f"test_{uuid.uuid4().hex}"
    await execute(server, f"create database {name} template {TEMPLATE} strategy file_copy")
    try:
        yield url_of(server, name)
    finally:
        await execute(server, f"drop database {name} with (force)")


def find_standby(database_url: str | None) -> tuple[str, ...]:
    """The same database on the standby, if there is one and the database is of this run's server."""
    if STANDBY not in os.environ or database_url is None:
        return ()
    name = urlsplit(database_url).path.removeprefix("/")
    return (url_of(os.environ[STANDBY], name),) if database_url == url_of(os.environ[SERVER], name) else ()


async def read_from_standby(settings: Settings) -> Settings:
    """The same, with the standby to read from, if there is one; the database has arrived there by then."""
    standby = find_standby(settings.database_url)
    if not standby or settings.database_url is None:
        return settings
    await _await_copy(settings.database_url, *standby)
    return replace(settings, read_database_urls=standby)


async def _await_copy(url: str, standby_url: str) -> None:
    """Until the standby has all that there is by now, and have it answer from then on whatever it may: however busy the
    machine is, no read is left to the primary because the standby took too long."""
    import asyncpg

    from gridloom.platform.database import replicas

    for name, seconds in (("WAIT_S", 30.0), ("POLL_TIMEOUT_S", 30.0), ("MAX_REPLAY_LAG_S", 60.0)):
        setattr(replicas, name, seconds)
    primary = await asyncpg.connect(url)
    position = await primary.fetchval("select pg_current_wal_flush_lsn()::text")
    await primary.close()
    async with asyncio.timeout(120):
        while not await _has_replayed(standby_url, position):
            await asyncio.sleep(0.05)


async def _has_replayed(standby_url: str, position: str) -> bool:
    import asyncpg

    try:
        standby = await asyncpg.connect(standby_url)
    except asyncpg.InvalidCatalogNameError:  # it has not heard of the database
        return False
    try:
        return bool(await standby.fetchval("select pg_last_wal_replay_lsn() >= $1::text::pg_lsn", position))
    finally:
        await standby.close()


@asynccontextmanager
async def empty_database() -> AsyncIterator[str]:
    server, name = server_url(), f"test_{uuid.uuid4().hex}"
    await execute(server, f"create database {name}")
    try:
        yield url_of(server, name)
    finally:
        await execute(server, f"drop database {name} with (force)")
