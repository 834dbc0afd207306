"""The sandbox's clock, and production's, which nobody moves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal

import httpx2
import pytest
from tests.conftest import migrated_database, running
from tests.people import People

from gridloom.database.environment import EnvironmentMismatchError, establish_environment
from gridloom.edge.application import Application
from gridloom.settings import Settings


class TestTheClock:
    async def test_moves_forward_and_never_back(self, fresh_app: Callable[[], Awaitable[Application]]):
        edge = await fresh_app()
        async with People(edge) as people:
            operator = (await people.operator()).client
            before = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"])
            moved = await operator.put("/sandbox/clock", json={"advance": "P1DT2H"})
            after = datetime.fromisoformat(moved.json()["now"])
            assert timedelta(days=1, hours=2) <= after - before < timedelta(days=1, hours=2, minutes=1)
            assert (await operator.put("/sandbox/clock", json={"now": before.isoformat()})).status_code == 409
            later = (after + timedelta(days=30)).isoformat()
            assert (await operator.put("/sandbox/clock", json={"now": later})).status_code == 200
            assert (await operator.get("/auth/me")).status_code == 200, "tokens do not age with the platform"
            moves = (await operator.get("/audit-log?action=moveClock")).json()
            assert [entry["status"] for entry in moves] == [200, 200]

    async def test_is_moved_by_one_at_a_time(self, fresh_app: Callable[[], Awaitable[Application]]):
        """More movers than the service has connections: each has its turn, and nobody else waits for them."""
        edge = await fresh_app()
        async with People(edge) as people:
            operator = (await people.operator()).client
            before = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"])
            moves = [operator.put("/sandbox/clock", json={"advance": "PT1H"}) for _ in range(15)]
            assert {answer.status_code for answer in await asyncio.gather(*moves)} == {200}
            after = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"])
            assert timedelta(hours=15) <= after - before < timedelta(hours=15, minutes=2)

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"advance": "1h"},
            {"advance": "-PT1H"},
            {"advance": "P99999D"},
            {"now": "x"},
            {"advance": "PT0S", "now": None},
        ],
    )
    async def test_refuses_what_is_no_move(self, operator: httpx2.AsyncClient, body: dict[str, str]):
        assert (await operator.put("/sandbox/clock", json=body)).status_code == 400


class TestWhoMovesTheClock:
    @pytest.mark.parametrize(("clock_movers", "status"), [("everyone", 200), ("operator", 403)])
    async def test_is_everyone_unless_it_is_left_to_the_operator(
        self, settings: Settings, clock_movers: Literal["everyone", "operator"], status: int
    ):
        async with migrated_database() as url:
            asked = replace(settings, database_url=url, clock_movers=clock_movers)
            async with running(asked) as edge, People(edge) as people:
                trader = await people.new_organisation("Trader")
                before = (await trader.admin.get("/sandbox/clock")).json()["now"]
                moved = await trader.viewer.put("/sandbox/clock", json={"advance": "P1D"})
                assert moved.status_code == status
                after = (await trader.admin.get("/sandbox/clock")).json()["now"]
                assert (after[:10] == before[:10]) == (status == 403)
                operator = (await people.operator()).client
                assert (await operator.put("/sandbox/clock", json={"advance": "P1D"})).status_code == 200


class TestAReset:
    async def test_leaves_the_operator_and_the_real_time(self, fresh_app: Callable[[], Awaitable[Application]]):
        edge = await fresh_app()
        async with People(edge) as people:
            operator = (await people.operator()).client
            trader = await people.new_organisation("Trader")
            await operator.put("/sandbox/clock", json={"advance": "P30D"})
            assert (await trader.admin.get("/auth/me")).status_code == 200
            assert (await trader.admin.post("/sandbox/reset")).status_code == 403
            assert (await operator.post("/sandbox/reset")).status_code == 204
            now = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"])
            real = await edge.pool.fetchval("select clock_timestamp()")
            assert abs(now - real) < timedelta(minutes=1)
            assert len((await operator.get("/organisations")).json()) == 1


class TestProduction:
    async def test_has_no_such_paths_and_only_the_real_clock(self, settings: Settings):
        async with (
            migrated_database() as url,
            running(replace(settings, environment="production", database_url=url)) as edge,
            People(edge) as people,
        ):
            operator = (await people.operator()).client
            for method, path in [("GET", "clock"), ("PUT", "clock"), ("POST", "reset")]:
                assert (await operator.request(method, f"/sandbox/{path}")).status_code == 404

    async def test_refuses_a_sandbox_s_database(self, app: Application):
        async with app.pool.acquire() as connection:
            with pytest.raises(EnvironmentMismatchError):
                await establish_environment(connection, "production")  # type: ignore[arg-type]
