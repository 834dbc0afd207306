"""The service in this process, on a database of its own, called without a network in between.

Only this file knows the service's code: it starts and stops it, and puts people into the database so that no life
waits for a password. Actors and oracle know the contract alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import asyncpg
import orjson
from tests.conftest import migrated_database, read_from_standby, running_edge
from tests.database_server import interrupt_server, revive_server
from tests.people import People
from tests.simulation.calls import Answer, Person
from tests.simulation.served import ServedProcesses
from tests.simulation.weather import find_shared_server

from gridloom.app import create_edge
from gridloom.platform.http.application import Application
from gridloom.platform.identity.permissions import Role
from gridloom.settings import Settings

ROLES = ("ADMIN", "TRADER", "ENGINEER", "VIEWER")
BASE = "http://gridloom.test"
PEER = ("10.20.30.40", 50_000)
POLL_INTERVAL_S = 0.2
MAX_WAIT_S = 30.0
"""Until a stream begins, however busy the machine is."""
OUTAGE_S = 0.3
MIN_JOB_POLL_S, MAX_JOB_POLL_S = 0.005, 0.1
DUE_JOBS = """
    select pg_notify('gridloom_job', '') is not null
    where exists (
      select from job
      where state = 'WAITING' and organisation_id is null and due <= job_now(clock)
        and (not_before is null or not_before <= clock_timestamp()))
    """
POOL_SIZE = 6
"""Fewer than a deployment has by itself: each connection parses and plans every statement anew, and a life is short."""
SERVED = -1
"""The edge that stands for processes of their own, over HTTP."""


CUT = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)
"""How a statement ends whose connection is cut, or was while it lay in the pool."""


class Service:
    """One or several edges on one database; calls go to the first unless another is named."""

    def __init__(self, url: str, count: int, *, owns_server: bool = False) -> None:
        self.url = url
        self._owns_server = owns_server
        self._served: ServedProcesses | None = None
        self.edges: list[Application] = []
        self._count = count
        self._running = AsyncExitStack()
        self._people: People | None = None

    async def start(self) -> None:
        settings = Settings(
            environment="sandbox",
            database_url=self.url,
            simulator=False,
            base_url=BASE,
            sandbox_base_url=BASE,
            pool_size=POOL_SIZE,
        )
        for _ in range(self._count):
            edge = create_edge(await read_from_standby(settings))
            self.edges.append(await self._running.enter_async_context(running_edge(edge)))

    async def stop(self) -> None:
        if self._served is not None:
            self._served.stop()
            self._served = None
        await self._running.aclose()
        self.edges.clear()

    async def restart(self) -> None:
        """Every edge, as a deployment does; what is not in the database is gone."""
        await self.stop()
        await self.start()

    async def cut_connections(self) -> None:
        """Every connection that the service holds, at once."""
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid()"
            )
        finally:
            await connection.close()

    async def restart_postgres(self) -> None:
        """Where the server is this run's own; within the suite, where others use it, connections are cut instead."""
        shared = find_shared_server()
        if shared is not None:
            await shared.restart(self.url)
            return
        if not self._owns_server:
            await self.cut_connections()
            return
        interrupt_server()
        await asyncio.sleep(OUTAGE_S)
        revive_server()

    async def kill_worker(self) -> None:
        """One of the processes that answer over HTTP, without a word; its supervisor starts another."""
        if self._served is None:
            await self.cut_connections()
        else:
            self._served.kill_worker()

    async def start_served(self) -> int:
        """Which edge to call for a request that processes of their own answer; within the suite there are none."""
        if not self._owns_server and find_shared_server() is None:
            return 0
        if self._served is None:
            self._served = ServedProcesses(self.url)
            await self._served.await_ready()
        return SERVED

    async def await_due_jobs(self) -> None:
        """Until every job that is due has ended, but for those that organisations ask for."""
        async with asyncio.timeout(MAX_WAIT_S):
            pause_s = MIN_JOB_POLL_S
            while await self._has_due_jobs():
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, MAX_JOB_POLL_S)

    async def _has_due_jobs(self) -> bool:
        """Each look wakes the runners, too. It is taken again where its connection was cut."""
        try:
            return bool(await self.edges[0].pool.fetchval(DUE_JOBS))
        except CUT:
            return True

    async def _execute(self, statement: str) -> None:
        """One that may be repeated, and is where its connection was cut."""
        async with asyncio.timeout(MAX_WAIT_S):
            while True:
                try:
                    await self.edges[0].pool.execute(statement)
                except CUT:
                    await asyncio.sleep(MIN_JOB_POLL_S)
                else:
                    return

    async def tick(self) -> None:
        """Hold the platform's clock a millisecond after where it stands: no gate closes by the real time that a step
        takes, and no two steps are taken at one moment."""
        await self._execute(
            """
            update sandbox_clock set ahead = reading.next - clock_timestamp(), hold_until = reading.next
            from (select platform_now() + interval '1 millisecond' as next) reading
            """
        )

    async def release_clock(self) -> None:
        """Let the clock run from where it is held, so that it can be moved."""
        await self._execute(
            "update sandbox_clock set ahead = hold_until - clock_timestamp(), hold_until = null"
            " where hold_until is not null"
        )

    async def admit_people(self) -> None:
        self._people = await People(self.edges[0]).__aenter__()

    async def call(
        self,
        method: str,
        path: str,
        *,
        token: str | None = None,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        edge: int = 0,
    ) -> Answer:
        content = b"" if body is None else orjson.dumps(body)
        sent = {"host": "gridloom.test", **{name.lower(): value for name, value in (headers or {}).items()}}
        if token is not None:
            sent["authorization"] = f"Bearer {token}"
        if body is not None:
            sent.setdefault("content-type", "application/json")
            sent["content-length"] = str(len(content))
        if edge == SERVED:
            assert self._served is not None
            target = quote(path) + ("?" + urlencode(query) if query else "")
            return await self._served.call(method, target, sent, content)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": quote(path).encode(),
            "root_path": "",
            "query_string": urlencode(query or {}).encode(),
            "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
            "client": PEER,
            "server": ("gridloom.test", 80),
        }
        return await _exchange(self.edges[edge], scope, content, is_stream=sent.get("accept") == "text/event-stream")

    async def found_cast(self, name: str, kind: str) -> tuple[str, dict[str, Person]]:
        """An organisation with one person a role."""
        assert self._people is not None
        made = await self._people.new_organisation(name, kind)
        cast = {
            role: Person(f"{name}_{role.lower()}", name, role, made.people[Role(role)].tokens.access) for role in ROLES
        }
        return str(made.id), cast

    async def sign_in_operator(self) -> tuple[str, dict[str, Person]]:
        """The operator's organisation, with one person a role."""
        assert self._people is not None
        first = await self._people.operator()
        found = first.member.organisation_id
        cast = {"ADMIN": Person("operator_admin", "operator", "ADMIN", first.tokens.access)}
        for role in ROLES[1:]:
            member = await self._people.add_member(found, Role(role))
            cast[role] = Person(f"operator_{role.lower()}", "operator", role, member.tokens.access)
        stale = await self._people.add_member(found, Role.ADMIN)
        cast["STALE"] = Person("operator_stale", "operator", "ADMIN", stale.tokens.access)
        await self.edges[0].pool.execute(
            "update session set created_at = created_at - interval '1 hour' where member_id = $1", stale.member.id
        )
        return str(found), cast


async def _exchange(edge: Application, scope: dict[str, Any], content: bytes, *, is_stream: bool) -> Answer:
    """One request; of a stream what comes until it has been quiet for a moment."""
    status, head, pieces = 500, {}, []
    is_sent = False
    heard, gone = asyncio.Event(), asyncio.Event()

    async def receive() -> dict[str, Any]:
        nonlocal is_sent
        if not is_sent:
            is_sent = True
            return {"type": "http.request", "body": content, "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal status, head
        heard.set()
        if message["type"] == "http.response.start":
            status = message["status"]
            head = {name.decode().lower(): value.decode() for name, value in message["headers"]}
        elif message["type"] == "http.response.body":
            pieces.append(message.get("body", b""))

    task = asyncio.ensure_future(edge(scope, receive, send))
    if is_stream:
        while not task.done():
            heard.clear()
            try:
                async with asyncio.timeout(POLL_INTERVAL_S if head else MAX_WAIT_S):
                    await heard.wait()
            except TimeoutError:
                break
        gone.set()
    await task
    return Answer(status, head, b"".join(pieces))


@asynccontextmanager
async def running_service(since: datetime, edges: int = 1, *, owns_server: bool = False) -> AsyncIterator[Service]:
    """A sandbox without organisations, whose clock starts at a moment."""
    async with migrated_database() as url:
        connection = await asyncpg.connect(url)
        await connection.execute(f"update sandbox_clock set ahead = '{since.isoformat()}' - clock_timestamp()")
        # Of tables so small, any plan is a good one: it is made once, not for each of the first values.
        await connection.execute(f"alter database {urlsplit(url).path[1:]} set plan_cache_mode = force_generic_plan")
        await connection.close()
        service = Service(url, edges, owns_server=owns_server)
        await service.start()
        try:
            await service.admit_people()
            yield service
        finally:
            await service.stop()
