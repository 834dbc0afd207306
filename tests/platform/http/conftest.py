"""A small service of toy operations, to test what all operations share."""

from __future__ import annotations

import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date
from decimal import Decimal
from typing import Annotated
from uuid import UUID

import asyncpg
import pytest
from msgspec import UNSET, Meta, UnsetType
from tests.clients import PersonClient
from tests.conftest import running_edge
from tests.people import client_of

from gridloom.kernel.money import Euro
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Unauthenticated
from gridloom.kernel.shares import ShareLimits
from gridloom.platform.database.pool import create_pool
from gridloom.platform.http import (
    CSV,
    JSON,
    PROBE,
    PUBLIC,
    SIGNED_IN,
    Caller,
    Content,
    EventStream,
    Instant,
    Name,
    Page,
    Paging,
    Request,
    RequestBody,
    Response,
    ResponseBody,
    Stream,
    operation,
    operations_of,
)
from gridloom.platform.http.admit import TrustedProxies
from gridloom.platform.http.application import Application
from gridloom.platform.http.operation import Deprecation
from gridloom.platform.http.shares import Shares

TAG = "Toys"


class NewToy(RequestBody, kw_only=True):
    name: Name
    price: Annotated[Decimal, Euro(Decimal("0.01"), Decimal("1000.00"))] = Decimal("1.00")
    made_on: date | None = None
    first_seen: Instant | UnsetType = UNSET
    weights: list[Annotated[float, Meta(ge=0)]] = []


class Toy(ResponseBody):
    id: UUID
    name: str
    price: Decimal
    first_seen: Instant | UnsetType = UNSET


class Filter(Paging):
    names: tuple[str, ...] | None = None
    since: Instant | None = None
    is_new: bool = False


@operation("POST", "/toys", summary="Make a toy", access=SIGNED_IN, status=201)
async def make_toy(request: Request, body: NewToy) -> Toy:
    toy = Toy(id=uuid.uuid4(), name=body.name, price=body.price, first_seen=body.first_seen)
    await request.db.execute(
        "insert into toys.toy (id, name, owner) values ($1, $2, $3)", toy.id, toy.name, request.caller.key
    )
    if body.name == "slow":
        await request.db.execute("select pg_sleep(0.4)")
    elif body.name == "held up":
        await request.db.execute("select pg_advisory_xact_lock(hashtext('toys that are held up'))")
    return toy


@operation("POST", "/secrets", summary="Make a secret", access=SIGNED_IN, status=201, secret_response=True)
async def make_secret(request: Request) -> dict[str, str]:
    return {"secret": uuid.uuid4().hex}


@operation(
    "GET",
    "/old-toys",
    summary="List toys as before",
    access=SIGNED_IN,
    deprecation=Deprecation("@1767225600", "Wed, 01 Jul 2026 00:00:00 GMT"),
)
async def list_old_toys(request: Request) -> list[str]:
    return []


@operation("GET", "/toys", summary="List toys", access=SIGNED_IN)
async def list_toys(request: Request, query: Filter) -> Page[Toy]:
    after = query.after(UUID)
    rows = await request.db.fetch(
        """select id, name from toys.toy
           where owner = $1 and ($2::uuid is null or id > $2) and ($4::text[] is null or name = any($4))
           order by id limit $3""",
        request.caller.key,
        after,
        query.limit + 1,
        query.names,
    )
    toys = [Toy(id=row["id"], name=row["name"], price=Decimal(1)) for row in rows]
    return query.page(toys, lambda toy: toy.id)


@operation("GET", "/toys/{toyID}", summary="Read a toy", access=Permission.READ_AUCTIONS, produces=(JSON, CSV))
async def read_toy(request: Request, toy_id: UUID) -> Response[dict[str, str]]:
    return Response({"id": str(toy_id), "as": request.accepts}, etag="v1")


@operation("PATCH", "/toys/{toyID}", summary="Change a toy", access=SIGNED_IN)
async def change_toy(request: Request, toy_id: UUID, body: NewToy) -> Response[dict[str, str]]:
    request.check_if_match("v1")
    return Response({}, etag="v2")


@operation("DELETE", "/toys/{toyID}", summary="Break a toy", access=SIGNED_IN)
async def break_toy(request: Request, toy_id: UUID) -> None:
    await request.db.execute("delete from toys.toy where id = $1", toy_id)


@operation("POST", "/conflicts", summary="Fail twice, then work", access=SIGNED_IN)
async def fail_twice(request: Request) -> dict[str, int]:
    attempts = request.resources[Attempts]
    attempts.made += 1
    await request.db.execute(
        "insert into toys.toy (id, name, owner) values (gen_random_uuid(), 'retried', $1)", request.caller.key
    )
    if attempts.made < 3:
        raise asyncpg.SerializationError
    return {"attempts": attempts.made}


@operation("POST", "/wishes", summary="Wish for a toy", access=PUBLIC)
async def wish(request: Request, body: NewToy) -> None:
    """Without a token."""


@operation("GET", "/faults/{kind}", summary="Go wrong", access=PUBLIC)
async def go_wrong(request: Request, kind: str) -> Content:
    if kind == "timeout":
        async with request.pool.acquire() as connection, connection.transaction():
            await connection.execute("set local statement_timeout = 20")
            await connection.execute("select pg_sleep(5)")
    if kind == "large":
        return Content(b"x" * 100_000, "text/plain")
    raise RuntimeError("secret words of the database")


@operation("GET", "/unready", summary="Answer that nothing can be done now", access=PUBLIC)
async def answer_unready(request: Request) -> Response[dict[str, int]]:
    return Response({}, status=503)


@operation("GET", "/ticks", summary="Three events", access=PUBLIC)
async def tick(request: Request) -> EventStream:
    async def frames() -> AsyncIterator[bytes]:
        for number in range(3):
            yield f"id: {number}\ndata: {{}}\n\n".encode()

    return EventStream(frames())


@operation(
    "GET",
    "/broken-streams/{pieces}",
    summary="Break off",
    access=PUBLIC,
    produces=(CSV,),
)
async def break_off(request: Request, pieces: int) -> Stream:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(pieces):
            yield b"x" * 10
        raise RuntimeError("secret words of the stream")

    return Stream(chunks(), CSV)


@operation("GET", "/naps/{seconds}", summary="Take long", access=PROBE)
async def take_long(request: Request, seconds: int) -> dict[str, int]:
    await request.db.execute("select pg_sleep($1)", float(seconds))
    return {"seconds": seconds}


class Attempts:
    def __init__(self) -> None:
        self.made = 0
        self.committed = 0

    def count_commit(self) -> None:
        self.committed += 1


class Names:
    """Knows a caller by the token's own words: a name, then its permissions."""

    def known(self, token: str) -> Caller | None:
        return None

    async def authenticate(self, token: str) -> Caller:
        name, *permissions = token.split("+")
        if name == "forged":
            raise Unauthenticated("This token is not valid.")
        return Caller(
            id=uuid.uuid5(uuid.NAMESPACE_DNS, name),
            kind="USER",
            organisation_id=uuid.uuid5(uuid.NAMESPACE_DNS, f"organisation of {name}"),
            organisation_kind="PARTICIPANT",
            role="VIEWER",
            permissions=frozenset(permissions),
            session_id=uuid.uuid4(),
            username=name,
            display_name=name,
        )


def toy_service(
    database_url: str,
    *,
    limit: int = 1000,
    burst: int = 1000,
    replica: str = "",
    connections: int = 8,
    proxies: TrustedProxies | None = None,
    logs_every_request: bool = False,
) -> Application:
    @asynccontextmanager
    async def lifespan(edge: Application) -> AsyncIterator[None]:
        edge.pool = await create_pool(database_url, size=connections)
        await edge.pool.execute("create schema if not exists toys")  # beside what is the service's own
        await edge.pool.execute("create table if not exists toys.toy (id uuid primary key, name text, owner text)")
        edge.authenticator = Names()
        edge.resources.add(Attempts())
        yield
        await edge.pool.close()

    return Application(
        operations_of(sys.modules[__name__]),
        lifespan=lifespan,
        public_requests_per_minute=1000,
        proxies=proxies,
        logs_every_request=logs_every_request,
        shares=Shares(ShareLimits(requests_per_minute=limit, request_burst=burst), replica=replica),
    )


@pytest.fixture(scope="session")
async def toys(database_url: str) -> AsyncIterator[Application]:
    async with running_edge(toy_service(database_url)) as edge:
        yield edge


@pytest.fixture
async def client(toys: Application) -> AsyncIterator[PersonClient]:
    """A caller of its own in the tests."""
    async with client_of(toys, f"{uuid.uuid4().hex}+Read:auctions") as client:
        yield client
