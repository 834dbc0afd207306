"""What tests share: one PostgreSQL a run, one migrated database and one service a test process.

None of it is started or imported before a test needs it. With GRIDLOOM_TEST_STANDBY=1 there is a standby too, and every
service made here reads from it what it may.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvloop
from tests.database_server import (
    SERVER,
    STANDBY,
    WANTS_STANDBY,
    execute,
    find_standby,
    migrated_database,
    open_scratch,
    read_from_standby,
    server_url,
    stop_servers,
    url_of,
)
from tests.time_limit import pytest_runtest_protocol

if TYPE_CHECKING:
    from datetime import datetime

    import httpx2
    from tests.access import Access
    from tests.clients import PersonClient
    from tests.people import OrganisationUnderTest, People

    from gridloom.platform.http.application import Application
    from gridloom.settings import Settings

__all__ = [
    "SERVER",
    "STANDBY",
    "WANTS_STANDBY",
    "counting_reads",
    "execute",
    "find_standby",
    "migrated_database",
    "pytest_runtest_protocol",
    "read_from_standby",
    "running",
    "running_edge",
    "server_url",
    "url_of",
]

ROOT = Path(__file__).parents[1]
_reads_from_standby = 0
_reads_from_primary = 0


def pytest_configure(config: pytest.Config) -> None:
    """The loop is that of the service. Processes of one run share a server, so the first starts it before the others;
    alone, it waits for a need."""
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    if SERVER in os.environ or config.option.collectonly:
        return
    open_scratch()
    if getattr(config.option, "numprocesses", None):
        server_url()


# Rooms whose tests share what takes a process long to make: a world of some days, a browser before a service.
WHOLE_ROOMS = ("tests/platform/console/journeys/", "tests/sandbox/simulator/")
GATHERS = re.compile(r"^from tests\.database\.\w+ import .*\bgather(_all)?\b", re.MULTILINE)
"""In files whose tests have the statements of all sources read, which takes a process seconds."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """What several tests share is made by one process, which runs them all; other tests go wherever there is room.

    (The option `--dist loadgroup` no longer groups anything: pytest 9.2 moved what pytest-xdist 3.8 writes to.)
    """
    from xdist.scheduler import LoadScopeScheduling

    class BySharing(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return _find_shared(nodeid.partition("::")[0]) or nodeid

    return BySharing(config, log)


@cache
def _find_shared(file: str) -> str | None:
    """A name for what the tests of a file share with each other, or with those of further files."""
    if room := next((room for room in WHOLE_ROOMS if file.startswith(room)), None):
        return room
    text = (ROOT / file).read_text()
    if GATHERS.search(text):
        return "statements"
    return file if 'scope="module"' in text or "\n@cache\n" in text else None


def pytest_pycollect_makemodule(module_path: Path, parent: Any) -> None:
    """How quick a rule is, benches measure; a busy machine is no reason for it to be wrong."""
    if b"hypothesis" in module_path.read_bytes():
        _load_hypothesis_profile()


@cache
def _load_hypothesis_profile() -> None:
    import hypothesis

    # Within `make quick` all rules have their turn with fewer examples, rather than some with many.
    examples = 20 if "GRIDLOOM_QUICK_STARTED_AT" in os.environ else 40
    # The same examples in every run, so that a change is red by itself and not by chance; others with EXPLORE=1.
    fixed = "EXPLORE" not in os.environ
    hypothesis.settings.register_profile("gridloom", deadline=None, max_examples=examples, derandomize=fixed)
    hypothesis.settings.load_profile("gridloom")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The slow ones first, so that no process is left alone with one of them in the end.

    Through a standby only those that have a database on this run's server: the others would do what they always do.
    """
    if os.environ.get(WANTS_STANDBY):
        config.hook.pytest_deselected(items=[item for item in items if not _has_database(item)])
        items[:] = [item for item in items if _has_database(item)]
    impure = [item.nodeid for item in items if item.get_closest_marker("pure") and _has_database(item)]
    if impure:
        raise pytest.UsageError(f"marked as pure, and with a database: {', '.join(impure)}")
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collecting makes millions of things and drops few: looking for garbage meanwhile takes a tenth of the time,
    and a quarter where they are compiled as well."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """What has been imported stays to the end: the collector of garbage need not walk through it again and again."""
    _configure_logs()
    if session.config.option.collectonly and "hypothesis" in sys.modules:
        _keep_table_of_characters()
    gc.collect()
    gc.freeze()
    gc.set_threshold(30_000, 10, 10)


def _keep_table_of_characters() -> None:
    """Hypothesis writes down which characters there are, for all processes that come later; each of those that start
    together would take seconds to find out. (Whoever runs all tests collects them beforehand.)"""
    from hypothesis.strategies import text

    text().validate()


def _configure_logs() -> None:
    """A test that fails says why; the log of every refused request would bury it.

    (A traceback drawn with frames and locals takes a tenth of a second.)
    """
    if "structlog" not in sys.modules:
        return
    import structlog

    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
        ],
    )


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
    stop_servers()


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
    from tests.people import hash_cheaply

    from gridloom.app import create_edge

    _configure_logs()
    hash_cheaply()
    async with running_edge(create_edge(await read_from_standby(settings))) as edge:
        yield edge


@asynccontextmanager
async def running_edge(edge: Application) -> AsyncIterator[Application]:
    """Start and stop as a server would have it."""
    inbox: asyncio.Queue[dict[str, object]] = asyncio.Queue()
    outbox: asyncio.Queue[dict[str, object]] = asyncio.Queue()
    life = asyncio.create_task(edge({"type": "lifespan"}, inbox.get, outbox.put))
    await inbox.put({"type": "lifespan.startup"})
    started = asyncio.create_task(outbox.get())
    await asyncio.wait((started, life), return_when=asyncio.FIRST_COMPLETED)
    assert started.done(), f"the service ended while it started: {life}"
    assert started.result()["type"] == "lifespan.startup.complete", started
    if os.environ.get("GRIDLOOM_TEST_BY_PARTS"):  # as on a distributed database, which takes other statements
        edge.pool.is_distributed = True  # type: ignore[attr-defined]
    try:
        with counting_reads(edge):
            yield edge
    finally:
        await inbox.put({"type": "lifespan.shutdown"})
        await life


@pytest.fixture(scope="session")
async def database_url() -> AsyncIterator[str]:
    """One database a test process, with its operator; tests keep apart by making organisations of their own."""
    from tests.people import hash_cheaply, make_operator

    from gridloom.platform.database.pool import create_pool

    async with migrated_database() as url:
        hash_cheaply()
        async with await create_pool(url, size=1) as pool:
            await make_operator(pool)
        yield url


@pytest.fixture(scope="session")
def settings(database_url: str) -> Settings:
    from gridloom.settings import Settings

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
            await execute(url, _write_first_rows(since))
            return await stack.enter_async_context(running(replace(settings, database_url=url)))

        yield start


def _write_first_rows(since: datetime | None) -> str:
    """Statements that set the clock, and have recurring jobs begin after their interval: a start would run them all at
    once, on ten connections, before a test has done anything. (Journeys start services that do.)"""
    from gridloom.platform.jobs.declare import KINDS
    from gridloom.wiring import provide_dependencies

    provide_dependencies()
    moved = "" if since is None else f"update sandbox_clock set ahead = '{since.isoformat()}' - clock_timestamp();"
    rows = [
        f"('{kind.name}', '', 'real', clock_timestamp() + interval '{seconds} s', interval '{seconds} s')"
        for kind in KINDS.values()
        if kind.every is not None and kind.clock == "real" and (seconds := kind.every.total_seconds())
    ]
    return f"{moved} insert into job (kind, key, clock, due, every) values {', '.join(rows)}"


@pytest.fixture
def by_parts(app: Application) -> Callable[[], AbstractContextManager[None]]:
    """`with by_parts():` has the service send what a distributed database is sent: a statement for each part."""

    @contextmanager
    def speak_by_parts() -> Iterator[None]:
        pool: Any = app.pool
        before, pool.is_distributed = pool.is_distributed, True
        try:
            yield
        finally:
            pool.is_distributed = before

    return speak_by_parts


@pytest.fixture
async def anonymous(app: Application) -> AsyncIterator[httpx2.AsyncClient]:
    """A client without a token."""
    from tests.people import client_of

    async with client_of(app) as client:
        yield client


@pytest.fixture(scope="session")
async def people(app: Application) -> AsyncIterator[People]:
    """Makes organisations and people; `async with People(edge)` does so on a service of `fresh_app`."""
    from tests.people import People

    async with People(app) as made:
        yield made


@pytest.fixture(scope="session")
async def operator(people: People) -> PersonClient:
    """A client signed in as the operator's ADMIN."""
    return (await people.operator()).client


@pytest.fixture(scope="session")
def new_organisation(people: People) -> Callable[..., Awaitable[OrganisationUnderTest]]:
    """`await new_organisation()` gives a participant with `.id` and the clients `.admin`, `.trader`, …"""
    return people.new_organisation


@pytest.fixture(scope="session")
async def access(app: Application, people: People, operator: httpx2.AsyncClient) -> Access:
    """Two organisations, one with a resource of every kind, and a good request for every operation."""
    from tests.access import OPERATIONS, Access, make_world
    from tests.samples import Sampler

    world = await make_world(app, people, operator)
    return Access(world, people, Sampler(OPERATIONS, world.ids))
