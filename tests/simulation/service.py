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
from urllib.parse import quote, urlencode

import asyncpg
import orjson
from tests.conftest import migrated_database, read_from_standby, running_edge
from tests.people import People
from tests.simulation.calls import Answer, Person

from gridloom.app import create_edge
from gridloom.edge.application import Application
from gridloom.identity.permissions import Role
from gridloom.settings import Settings

ROLES = ("ADMIN", "TRADER", "ENGINEER", "VIEWER")
PEER = ("10.20.30.40", 50_000)
POLL_INTERVAL_S = 0.2


class Service:
    """One or several edges on one database; calls go to the first unless another is named."""

    def __init__(self, url: str, count: int) -> None:
        self.url = url
        self.edges: list[Application] = []
        self._count = count
        self._running = AsyncExitStack()
        self._people: People | None = None

    async def start(self) -> None:
        settings = Settings(environment="sandbox", database_url=self.url, simulator=False)
        for _ in range(self._count):
            edge = create_edge(await read_from_standby(settings))
            self.edges.append(await self._running.enter_async_context(running_edge(edge)))

    async def stop(self) -> None:
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
                async with asyncio.timeout(POLL_INTERVAL_S):
                    await heard.wait()
            except TimeoutError:
                break
        gone.set()
    await task
    return Answer(status, head, b"".join(pieces))


@asynccontextmanager
async def running_service(since: datetime, edges: int = 1) -> AsyncIterator[Service]:
    """A sandbox without organisations, whose clock starts at a moment."""
    async with migrated_database() as url:
        connection = await asyncpg.connect(url)
        await connection.execute(f"update sandbox_clock set ahead = '{since.isoformat()}' - clock_timestamp()")
        await connection.close()
        service = Service(url, edges)
        await service.start()
        try:
            await service.admit_people()
            yield service
        finally:
            await service.stop()
