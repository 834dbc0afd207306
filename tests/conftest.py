"""What tests share: one PostgreSQL a run, one migrated database and one service a test process.

With GRIDLOOM_TEST_STANDBY=1 there is a standby too, and every service made here reads from it what it may.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import httpx2
import hypothesis
import pytest
import structlog
from tests.people import OrganisationUnderTest, People, client_of
from tests.scratch import make_scratch, remove_scratch
from xdist.scheduler import LoadScopeScheduling

from gridloom.app import create_edge
from gridloom.database import replicas
from gridloom.database.environment import establish_environment
from gridloom.database.migrate import migrate
from gridloom.database.server.embedded import EmbeddedPostgres
from gridloom.database.server.standby import StandbyPostgres
from gridloom.edge.application import Application
from gridloom.settings import Settings

# A test that fails says why; the log of every refused request would bury it.
# (A traceback drawn with frames and locals takes a tenth of a second.)
structlog.configure(
    wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
    processors=[
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso"),
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ],
)

# How quick a rule is, benches measure; a busy machine is no reason for it to be wrong.
hypothesis.settings.register_profile("gridloom", deadline=None)
hypothesis.settings.load_profile("gridloom")

ROOT = Path(__file__).parents[1]
SERVER = "GRIDLOOM_TEST_SERVER"
WANTS_STANDBY = "GRIDLOOM_TEST_STANDBY"
STANDBY = "GRIDLOOM_TEST_STANDBY_SERVER"
TEMPLATE = "gridloom_template"
# Tests of durability start a server of their own.
QUICK = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
_server: EmbeddedPostgres | None = None
_standby: StandbyPostgres | None = None
_home: Path | None = None
_reads_from_standby = 0
_reads_from_primary = 0


def pytest_configure(config: pytest.Config) -> None:
    """The first process starts the server and migrates a template; the others find it in their environment."""
    global _server, _standby, _home
    if SERVER in os.environ or config.option.collectonly:
        return
    _home = make_scratch()
    # A standby gets to know what is flushed.
    prompt = {"synchronous_commit": "on"} if os.environ.get(WANTS_STANDBY) else {}
    _server = EmbeddedPostgres(_home / "server", settings={**QUICK, **prompt})
    os.environ[SERVER] = _server.start()
    asyncio.run(_make_template(os.environ[SERVER]))
    if os.environ.get(WANTS_STANDBY):
        (_home / "server").chmod(0o711)  # the account that the servers run as passes through
        _standby = StandbyPostgres(_home / "standby", os.environ[SERVER], "tests", QUICK)
        os.environ[STANDBY] = _standby.start()


# Rooms whose tests share what takes a process long to make: a world of some days, a browser before a service.
WHOLE_ROOMS = ("tests/console/journeys/", "tests/simulator/")


class BySharing(LoadScopeScheduling):  # type: ignore[misc]
    """What several tests share is made by one process, which runs them all; other tests go wherever there is room.

    (The option `--dist loadgroup` no longer groups anything: pytest 9.2 moved what pytest-xdist 3.8 writes to.)
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        room = next((room for room in WHOLE_ROOMS if file.startswith(room)), None)
        return room or (file if _shares_a_fixture(file) else nodeid)


@cache
def _shares_a_fixture(file: str) -> bool:
    return 'scope="module"' in (ROOT / file).read_text()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> BySharing:
    return BySharing(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The slow ones first, so that no process is left alone with one of them in the end.

    Through a standby only those that have a database on this run's server: the others would do what they always do.
    """
    if os.environ.get(WANTS_STANDBY):
        config.hook.pytest_deselected(items=[item for item in items if not _has_database(item)])
        items[:] = [item for item in items if _has_database(item)]
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish(session: pytest.Session) -> None:
    """What has been imported stays to the end: the collector of garbage need not walk through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


def _has_database(item: pytest.Item) -> bool:
    """By a fixture that rests on the one below, or by making one itself; some have a standby of their own."""
    if not isinstance(item, pytest.Function) or "primary_and_standby" in vars(item.module):
        return False
    return "database_url" in item.fixturenames or "migrated_database" in vars(item.module)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[STANDBY] = (_reads_from_standby, _reads_from_primary)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    _count_reads(*getattr(node, "workeroutput", {}).get(STANDBY, (0, 0)))


def _count_reads(from_standby: int, from_primary: int) -> None:
    global _reads_from_standby, _reads_from_primary
    _reads_from_standby += from_standby
    _reads_from_primary += from_primary


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if STANDBY in os.environ:
        terminalreporter.write_line(
            f"{_reads_from_standby} reads were answered by the standby, {_reads_from_primary} by the primary instead"
        )


def pytest_unconfigure(config: pytest.Config) -> None:
    if _standby is not None:
        _standby.stop()
        os.environ.pop(STANDBY, None)
    if _server is not None and _home is not None:
        _server.stop()
        os.environ.pop(SERVER, None)
        remove_scratch(_home)


async def _make_template(server: str) -> None:
    await _execute(server, f"create database {TEMPLATE}")
    connection = await asyncpg.connect(_url_of(server, TEMPLATE))
    try:
        await migrate(connection)
        await establish_environment(connection, "sandbox")
    finally:
        await connection.close()


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def _url_of(server: str, database: str) -> str:
    return urlunsplit(urlsplit(server)._replace(path=f"/{database}"))


@asynccontextmanager
async def migrated_database() -> AsyncIterator[str]:
    """The address of a new database with the whole schema and no rows."""
    server, name = os.environ[SERVER], f"test_{uuid.uuid4().hex}"
    await _execute(server, f"create database {name} template {TEMPLATE} strategy file_copy")
    try:
        yield _url_of(server, name)
    finally:
        await _execute(server, f"drop database {name} with (force)")


def find_standby(database_url: str | None) -> tuple[str, ...]:
    """The same database on the standby, if there is one and the database is of this run's server."""
    if STANDBY not in os.environ or database_url is None:
        return ()
    name = urlsplit(database_url).path.removeprefix("/")
    return (_url_of(os.environ[STANDBY], name),) if database_url == _url_of(os.environ[SERVER], name) else ()


async def _await_copy(url: str, standby_url: str) -> None:
    """Until the standby has all that there is by now, and have it answer from then on whatever it may: however busy the
    machine is, no read is left to the primary because the standby took too long."""
    for name, seconds in (("WAIT_S", 30.0), ("POLL_TIMEOUT_S", 30.0), ("MAX_REPLAY_LAG_S", 60.0)):
        setattr(replicas, name, seconds)
    primary = await asyncpg.connect(url)
    position = await primary.fetchval("select pg_current_wal_flush_lsn()::text")
    await primary.close()
    async with asyncio.timeout(60):
        while not await _has_replayed(standby_url, position):
            await asyncio.sleep(0.05)


async def _has_replayed(standby_url: str, position: str) -> bool:
    try:
        standby = await asyncpg.connect(standby_url)
    except asyncpg.InvalidCatalogNameError:  # it has not heard of the database
        return False
    try:
        return bool(await standby.fetchval("select pg_last_wal_replay_lsn() >= $1::text::pg_lsn", position))
    finally:
        await standby.close()


async def read_from_standby(settings: Settings) -> Settings:
    """The same, with the standby to read from, if there is one; the database has arrived there by then."""
    standby = find_standby(settings.database_url)
    if not standby or settings.database_url is None:
        return settings
    await _await_copy(settings.database_url, *standby)
    return replace(settings, read_database_urls=standby)


@contextmanager
def counting_reads(edge: Application) -> Iterator[None]:
    """Of a service that has started: what its standby answered, and that nothing of it would have been a change."""
    replicas_of_edge = edge.replicas
    followed = replicas_of_edge.all if replicas_of_edge is not None else ()
    try:
        yield
    finally:
        if replicas_of_edge is not None:
            _count_reads(sum(replica.answered for replica in followed), replicas_of_edge.passed_over)
    assert not set().union(*(replica.refused_writes_of for replica in followed)), "reads of a standby that would write"


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Application]:
    """The whole service in this process, from start-up to shutdown."""
    async with running_edge(create_edge(await read_from_standby(settings))) as edge:
        yield edge


@asynccontextmanager
async def running_edge(edge: Application) -> AsyncIterator[Application]:
    """Start and stop as a server would have it."""
    inbox: asyncio.Queue[dict[str, object]] = asyncio.Queue()
    outbox: asyncio.Queue[dict[str, object]] = asyncio.Queue()
    life = asyncio.create_task(edge({"type": "lifespan"}, inbox.get, outbox.put))
    await inbox.put({"type": "lifespan.startup"})
    started = await outbox.get()
    assert started["type"] == "lifespan.startup.complete", started
    try:
        with counting_reads(edge):
            yield edge
    finally:
        await inbox.put({"type": "lifespan.shutdown"})
        await life


@pytest.fixture(scope="session")
async def database_url() -> AsyncIterator[str]:
    """One database a test process; tests keep apart by making organisations of their own."""
    async with migrated_database() as url:
        yield url


@pytest.fixture(scope="session")
def settings(database_url: str) -> Settings:
    return Settings(environment="sandbox", database_url=database_url)


@pytest.fixture(scope="session")
async def app(settings: Settings) -> AsyncIterator[Application]:
    async with running(settings) as edge:
        yield edge


@pytest.fixture
async def fresh_app(settings: Settings) -> AsyncIterator[Callable[..., Awaitable[Application]]]:
    """Makes services on a database of their own, for tests that move the sandbox's clock; `since` is where it starts,
    so that nothing of the time before has to happen."""
    async with AsyncExitStack() as stack:

        async def start(since: datetime | None = None) -> Application:
            url = await stack.enter_async_context(migrated_database())
            if since is not None:
                await _execute(url, f"update sandbox_clock set ahead = '{since.isoformat()}' - clock_timestamp()")
            return await stack.enter_async_context(running(replace(settings, database_url=url)))

        yield start


@pytest.fixture
async def anonymous(app: Application) -> AsyncIterator[httpx2.AsyncClient]:
    """A client without a token."""
    async with client_of(app) as client:
        yield client


@pytest.fixture(scope="session")
async def people(app: Application) -> AsyncIterator[People]:
    """Makes organisations and people; `async with People(edge)` does so on a service of `fresh_app`."""
    async with People(app) as made:
        yield made


@pytest.fixture(scope="session")
async def operator(people: People) -> httpx2.AsyncClient:
    """A client signed in as the operator's ADMIN."""
    return (await people.operator()).client


@pytest.fixture(scope="session")
def new_organisation(people: People) -> Callable[..., Awaitable[OrganisationUnderTest]]:
    """`await new_organisation()` gives a participant with `.id` and the clients `.admin`, `.trader`, …"""
    return people.new_organisation
