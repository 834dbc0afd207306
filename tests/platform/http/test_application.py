"""The application without a server: its life, what it counts, and how a request comes to its handler."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest
from prometheus_client import REGISTRY

from gridloom.kernel.shares import ShareLimits
from gridloom.platform.http import PROBE, PUBLIC, SIGNED_IN, Caller, QueryParameters, Request, operation, operations_of
from gridloom.platform.http.application import Application
from gridloom.platform.http.shares import Shares

pytestmark = pytest.mark.pure

TAG = "Toys"


class Words(QueryParameters):
    word: str = ""


@operation("GET", "/echo", summary="Say what was asked", access=PROBE)
async def echo_target(request: Request, query: Words) -> dict[str, str]:
    return {"path": request.path, "target": request.target, "address": request.address, "word": query.word}


@operation("GET", "/waits", summary="Wait until the service leaves", access=PROBE)
async def wait_for_the_end(request: Request) -> None:
    await request.stopping.wait()
    request.resources[list].append("answered")


@operation("GET", "/ends", summary="Wait for ever", access=PROBE)
async def wait_for_ever(request: Request) -> None:
    await asyncio.Event().wait()


@operation("GET", "/public", summary="Be counted by network", access=PUBLIC)
async def ask_in_public(request: Request) -> None: ...


@operation("GET", "/signed-in", summary="Be counted by organisation", access=SIGNED_IN)
async def ask_signed_in(request: Request) -> None: ...


class Database:
    """Grants what is asked for, and knows what that was."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def fetchrow(self, statement: str, *arguments: Any) -> dict[str, Any]:
        self.asked.append(arguments)
        return {"granted": 1, "tokens_left": 5.0}


class Ada:
    def known(self, token: str) -> Caller | None:
        return Caller(
            id=UUID(int=1),
            kind="USER",
            organisation_id=UUID(int=2),
            organisation_kind="PARTICIPANT",
            role="TRADER",
            permissions=frozenset(),
            session_id=UUID(int=3),
            username="ada",
            display_name="Ada",
        )

    async def authenticate(self, token: str) -> Caller:
        raise LookupError


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

    async def test_does_not_go_on_for_a_request_that_does_not_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("gridloom.platform.http.application.DRAIN_S", 0.0)
        happened: list[str] = []
        edge, leaving = application(happened), asyncio.Event()
        asking = asyncio.ensure_future(ask(edge, "/ends"))
        await asyncio.sleep(0)
        leaving.set()
        told = await live(edge, leaving)
        assert [message["type"] for message in told] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
        assert happened == ["closed"]
        asking.cancel()
        await asyncio.wait({asking})


class TestARequest:
    async def test_comes_with_its_target_and_is_measured_by_operation_and_status(self) -> None:
        def count(status: str) -> float:
            labels = {"operation": "echoTarget", "status": status}
            return REGISTRY.get_sample_value("gridloom_request_seconds_count", labels) or 0.0

        before = count("200"), count("400")
        assert await ask(application(), "/echo", b"word=a%20b") == (
            200,
            b'{"path":"/echo","target":"/echo?word=a%20b","address":"203.0.113.5","word":"a b"}',
        )
        assert b'"target":"/echo",' in (await ask(application(), "/echo"))[1]
        assert (await ask(application(), "/echo", b"colour=1"))[0] == 400
        assert (count("200") - before[0], count("400") - before[1]) == (2, 1)

    async def test_counts_by_the_network_for_all_or_by_the_organisation_for_its_replica(self) -> None:
        edge = application(limits=ShareLimits(requests_per_minute=120, request_burst=60))
        edge.authenticator = Ada()
        assert [(await ask(edge, path))[0] for path in ("/public", "/signed-in", "/echo")] == [204, 204, 200]
        assert edge.pool.asked == [
            ("public|203.0.113.5", 2, pytest.approx(40 / 60), 40),
            (f"here|{UUID(int=2)}", 3, 2.0, 60),
        ]
