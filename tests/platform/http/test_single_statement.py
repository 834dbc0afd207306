"""A change whose rows, line of the log and kept answer are one statement, without a transaction around it."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import asyncpg
import httpx2
import pytest
from tests.conftest import running_edge
from tests.people import client_of
from tests.platform.http.conftest import Attempts, toy_service

from gridloom.platform.http.application import Application
from gridloom.platform.http.idempotency import IdempotencyScope

MARBLE = {"name": "x"}


def keyed(key: str | None = None) -> dict[str, Any]:
    return {"json": MARBLE, "headers": {"Idempotency-Key": key or uuid.uuid4().hex}}


async def count_toys(client: httpx2.AsyncClient) -> int:
    return len((await client.get("/toys")).json())


@pytest.fixture
async def caller_key(toys: Application, client: httpx2.AsyncClient) -> str:
    """What the client is to the table of kept answers."""
    token = client.headers["authorization"].removeprefix("Bearer ")
    return (await toys.authenticator.authenticate(token)).key


class TestAChangeAtOnce:
    @pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "counted"}])
    async def test_is_one_statement(self, database_url: str, headers: dict[str, str]):
        asked: list[str] = []
        async with (
            running_edge(toy_service(database_url, connections=1)) as edge,
            client_of(edge, uuid.uuid4().hex) as client,
        ):
            await client.post("/marbles", json=MARBLE)  # takes a lease of the rate limit along
            async with edge.pool.acquire() as connection:
                connection.add_query_logger(lambda query: asked.append(query.query))
            assert (await client.post("/marbles", json=MARBLE, headers=headers)).status_code == 201
        assert len(asked) == 1
        assert "insert into toys.toy" in asked[0]

    async def test_calls_back_once_it_is_written(self, toys: Application, client: httpx2.AsyncClient):
        before = toys.resources[Attempts].committed
        await client.post("/marbles", json=MARBLE)
        assert toys.resources[Attempts].committed == before + 1

    async def test_leaves_nothing_of_what_breaks_off(self, toys: Application, client: httpx2.AsyncClient):
        before = toys.resources[Attempts].committed
        key = uuid.uuid4().hex
        twice = {**keyed(key), "json": {"name": "the same one twice"}}
        assert (await client.post("/marbles", **twice)).status_code == 500
        assert await count_toys(client) == 0
        assert toys.resources[Attempts].committed == before
        assert (await client.post("/marbles", **keyed(key))).status_code == 201


class TestARepetition:
    async def test_answers_what_the_first_answered(self, toys: Application, client: httpx2.AsyncClient):
        asked = keyed()
        first, second = [await client.post("/marbles", **asked) for _ in range(2)]
        assert (first.status_code, second.status_code) == (201, 201)
        assert second.content == first.content
        assert second.headers["idempotency-replayed"] == "true"
        assert "idempotency-replayed" not in first.headers
        assert await count_toys(client) == 1

    async def test_with_another_body_is_422(self, client: httpx2.AsyncClient):
        asked = keyed()
        await client.post("/marbles", **asked)
        assert (await client.post("/marbles", **{**asked, "json": {"name": "y"}})).status_code == 422
        assert await count_toys(client) == 1

    async def test_racing_on_two_replicas_has_one_effect(self, database_url: str, client: httpx2.AsyncClient):
        token = client.headers["authorization"].removeprefix("Bearer ")
        async with running_edge(toy_service(database_url)) as other, client_of(other, token) as elsewhere:
            for _ in range(10):
                asked = keyed()
                answers = await asyncio.gather(
                    *(who.post("/marbles", **asked) for who in (client, elsewhere) * 8), return_exceptions=False
                )
                assert {answer.status_code for answer in answers} <= {201, 409}
                assert len({answer.content for answer in answers if answer.status_code == 201}) == 1
        assert await count_toys(client) == 10

    async def test_while_one_in_a_transaction_is_running_is_409(
        self, database_url: str, client: httpx2.AsyncClient, caller_key: str
    ):
        """As where a key that had expired is used anew, or an older release still runs beside this one."""
        key = uuid.uuid4().hex
        retry = IdempotencyScope(
            caller_key=caller_key, operation_id="makeMarble", key=key, fingerprint=b"", sealed=False
        )
        connection = await asyncpg.connect(database_url)
        try:
            async with connection.transaction():
                await retry.begin(connection)
                assert (await client.post("/marbles", **keyed(key))).status_code == 409
                assert await count_toys(client) == 0
        finally:
            await connection.close()
        assert (await client.post("/marbles", **keyed(key))).status_code == 201

    async def test_after_a_day_is_a_request_of_its_own(
        self, toys: Application, client: httpx2.AsyncClient, caller_key: str
    ):
        asked = keyed()
        first = await client.post("/marbles", **asked)
        await toys.pool.execute(
            "update idempotency set created_at = created_at - interval '25 hours' where caller_key = $1", caller_key
        )
        second, third = [await client.post("/marbles", **asked) for _ in range(2)]
        assert second.json()["id"] != first.json()["id"]
        assert third.content == second.content
        assert await count_toys(client) == 2

    async def test_has_one_effect_whenever_the_connection_breaks(
        self, toys: Application, client: httpx2.AsyncClient, database_url: str
    ):
        """A 503 promises nothing; asked again until it is answered, each has happened once."""
        keys = [uuid.uuid4().hex for _ in range(40)]
        is_over = asyncio.Event()

        async def ask_until_answered(key: str) -> None:
            while (await client.post("/marbles", **keyed(key))).status_code != 201:
                await asyncio.sleep(0.01)

        async def break_connections() -> None:
            connection = await asyncpg.connect(database_url, server_settings={"application_name": "breaker"})
            while not is_over.is_set():
                await connection.execute(
                    """
                    select pg_terminate_backend(pid) from pg_stat_activity
                    where datname = current_database() and application_name = 'gridloom' and state = 'active'
                    """
                )
                await asyncio.sleep(0.002)
            await connection.close()

        breaking = asyncio.create_task(break_connections())
        for start in range(0, len(keys), 8):
            await asyncio.gather(*(ask_until_answered(key) for key in keys[start : start + 8]))
        is_over.set()
        await breaking
        assert await count_toys(client) == len(keys)
