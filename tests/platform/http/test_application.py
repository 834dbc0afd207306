"""The application without a server: its life, what it counts, and how a request comes to its handler."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gridloom.kernel.shares import ShareLimits
from gridloom.platform.http import operations_of
from gridloom.platform.http.application import Application
from gridloom.platform.http.shares import Shares

pytestmark = pytest.mark.pure


class Database:
    """Grants what is asked for, and knows what that was."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def fetchrow(self, statement: str, *arguments: Any) -> dict[str, Any]:
        self.asked.append(arguments)
        return {"granted": 1, "tokens_left": 5.0}


def application(happened: list[str] | None = None, *, fails: bool = False, limits: ShareLimits | None = None) -> Any:
    @asynccontextmanager
    async def lifespan(edge: Application) -> AsyncIterator[None]:
        if fails:
            raise LookupError("no database")
        yield
        if happened is not None:
            happened.append("closed")

    edge: Any = Application(
        operations_of(sys.modules[__name__]),
        lifespan=lifespan,
        public_requests_per_minute=40,
        shares=Shares(limits, replica="here"),
    )
    edge.pool = Database()
    edge.resources.add(happened)
    return edge


async def ask(edge: Application, path: str, query: bytes = b"") -> tuple[int, bytes]:
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "query_string": query, "client": ("203.0.113.5", 1)}
    await edge({**scope, "headers": [(b"authorization", b"Bearer ada")]}, receive, send)
    return sent[0]["status"], b"".join(message["body"] for message in sent[1:])


async def live(edge: Application, leaving: asyncio.Event) -> list[Any]:
    """What the server is told of the application's life."""
    told: list[Any] = []

    async def receive() -> Any:
        if told:
            await leaving.wait()
        return {}

    async def send(message: Any) -> None:
        told.append(message)

    await edge({"type": "lifespan"}, receive, send)
    return told


class TestALife:
    async def test_that_cannot_begin_is_over(self) -> None:
        told = await live(application(fails=True), asyncio.Event())
        assert told == [{"type": "lifespan.startup.failed", "message": "no database"}]

    async def test_ends_for_requests_first_and_then_for_what_they_need(self) -> None:
        happened: list[str] = []
        edge, leaving = application(happened), asyncio.Event()
        living = asyncio.ensure_future(live(edge, leaving))
        asking = asyncio.ensure_future(ask(edge, "/waits"))
        for _ in range(5):
            await asyncio.sleep(0)
        leaving.set()
        told = await living
        assert [message["type"] for message in told] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
        assert (await asking, happened) == ((204, b""), ["answered", "closed"])
