"""The sandbox's clock, and production's, which cannot be moved."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import httpx2
import pytest
from tests.assets import PARAMETERS
from tests.conftest import migrated_database, running
from tests.people import People, client_of
from tests.platform.console.browsing import SAME_ORIGIN, browser, sign_in

from gridloom.platform.database import emptying
from gridloom.platform.database.environment import EnvironmentMismatchError, establish_environment
from gridloom.platform.http.application import Application
from gridloom.platform.identity.permissions import Role
from gridloom.platform.jobs import enqueue
from gridloom.settings import Settings

WAYS_IN = (
    "insert into second_factor (member_id, sealed_secret, confirmed_at) values ($1, '', now())",
    "insert into recovery_code (member_id, code_hash) values ($1, decode(repeat('ab', 32), 'hex'))",
    "insert into sign_in_network (member_id, network, last_at) values ($1, '203.0.113.7', now())",
    """insert into identity_provider (organisation_id, issuer, client_id, sealed_client_secret, domains)
       select $2, 'https://login.example', 'gridloom', '', array['example.org'] where $1::uuid is not null""",
    """insert into external_identity (organisation_id, issuer, subject, member_id)
       values ($2, 'https://login.example', 'ada', $1)""",
)


class TestTheClock:
    async def test_moves_forward_and_never_back(self, fresh_app: Callable[[], Awaitable[Application]]):
        edge = await fresh_app()
        async with People(edge) as people:
            operator = (await people.operator()).client
            before = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"])
            moved = await operator.put("/sandbox/clock", json={"advance": "P31D"})  # as far as one call goes
            assert moved.status_code == 200, moved.text
            after = datetime.fromisoformat(moved.json()["now"])
            assert timedelta(days=31) <= after - before < timedelta(days=31, minutes=1)
            assert (await operator.put("/sandbox/clock", json={"now": before.isoformat()})).status_code == 409
            later = (after + timedelta(days=1, hours=2)).isoformat()
            assert (await operator.put("/sandbox/clock", json={"now": later})).status_code == 200
            assert (await operator.get("/auth/me")).status_code == 200, "tokens do not age with the platform"
            moves = (await operator.get("/audit-log?action=moveClock")).json()
            assert [entry["status"] for entry in moves] == [200, 200]

    async def test_is_moved_by_one_at_a_time(self, fresh_app: Callable[[], Awaitable[Application]]):
        """More movers than the service has connections: each has its turn, and no other request waits for them."""
        edge = await fresh_app()
        async with People(edge) as people:
            operator = (await people.operator()).client
            before = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"])
            moves = [operator.put("/sandbox/clock", json={"advance": "PT1H"}) for _ in range(15)]
            assert {answer.status_code for answer in await asyncio.gather(*moves)} == {200}
            after = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"])
            assert timedelta(hours=15) <= after - before < timedelta(hours=15, minutes=2)

    @pytest.mark.parametrize(
        ("body", "pointer"),
        [
            ({}, ""),
            ({"advance": "PT0S", "now": "2026-01-01T00:00:00Z"}, ""),
            ({"advance": "1h"}, "/advance"),
            ({"advance": "-PT1H"}, "/advance"),
            ({"now": "x"}, "/now"),
            ({"advance": "PT0S", "now": None}, "/now"),
        ],
    )
    async def test_refuses_what_is_no_move(self, operator: httpx2.AsyncClient, body: dict[str, str], pointer: str):
        refused = await operator.put("/sandbox/clock", json=body)
        assert refused.status_code == 400
        assert [error["pointer"] for error in refused.json()["errors"]] == [pointer]

    async def test_moves_at_most_31_days_a_call(self, operator: httpx2.AsyncClient):
        now = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"])
        too_far = (now + timedelta(days=31, minutes=1)).isoformat()
        for body, pointer in [
            ({"advance": "P31DT1S"}, "/advance"),
            ({"advance": "P99999D"}, "/advance"),
            ({"now": too_far}, "/now"),
        ]:
            refused = await operator.put("/sandbox/clock", json=body)
            assert (refused.status_code, refused.json()["type"]) == (422, "/docs/problems/clock-walk-too-long")
            assert refused.json()["errors"][0]["pointer"] == pointer
        assert (await operator.put("/sandbox/clock", json={"advance": "PT0S"})).status_code == 200, "no time is a span"
        after = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"])
        assert after - now < timedelta(minutes=1)


class TestAWalk:
    async def test_is_shown_and_stopped_where_it_has_got_to(self, fresh_app: Callable[[], Awaitable[Application]]):
        edge = await fresh_app()
        async with People(edge) as people, asyncio.timeout(120):
            operator = (await people.operator()).client
            trader = await people.new_organisation("Trader")
            assert (await operator.delete("/sandbox/clock/walk")).status_code == 404
            before = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"])
            async with edge.pool.acquire() as holder, holder.transaction():
                # The first job that is due on the way is held, and the walk with it.
                await holder.execute("select from job where clock = 'platform' for update")
                walking = asyncio.create_task(operator.put("/sandbox/clock", json={"advance": "P20D"}))
                while "walk" not in (shown := (await trader.viewer.get("/sandbox/clock")).json()):
                    await asyncio.sleep(0.02)
                target = datetime.fromisoformat(shown["walk"]["target"])
                assert timedelta(days=20) <= target - before < timedelta(days=20, minutes=1)
                assert (await trader.admin.delete("/sandbox/clock/walk")).status_code == 403
                assert (await operator.delete("/sandbox/clock/walk")).status_code == 204
            stopped = await walking
            assert (stopped.status_code, stopped.json()["type"]) == (409, "/docs/problems/clock-walk-stopped")
            assert before <= datetime.fromisoformat(stopped.json()["now"]) < target
            assert "walk" not in (await operator.get("/sandbox/clock")).json()
            assert (await operator.delete("/sandbox/clock/walk")).status_code == 404
            assert (await operator.put("/sandbox/clock", json={"advance": "PT1H"})).status_code == 200


class TestWhoMovesTheClock:
    async def test_is_no_caller_that_may_only_read(self, fresh_app: Callable[[], Awaitable[Application]]):
        edge = await fresh_app()
        async with People(edge) as people:
            trader = await people.new_organisation("Trader")
            refused = await trader.viewer.put("/sandbox/clock", json={"advance": "PT1H"})
            assert (refused.status_code, refused.json()["type"]) == (403, "/docs/problems/forbidden")
            key = {"name": "reader", "permissions": ["Read:auctions"]}
            made = (await trader.admin.post("/auth/api-keys", json=key)).json()
            async with client_of(edge, made["secret"]) as reader:
                assert (await reader.get("/sandbox/clock")).status_code == 200
                assert (await reader.put("/sandbox/clock", json={"advance": "PT1H"})).status_code == 403
            for allowed in (trader.trader, trader.engineer, trader.admin):
                assert (await allowed.put("/sandbox/clock", json={"advance": "PT1H"})).status_code == 200

    @pytest.mark.parametrize(("clock_movers", "status"), [("everyone", 200), ("operator", 403)])
    async def test_is_everyone_unless_it_is_left_to_the_operator(
        self, settings: Settings, clock_movers: Literal["everyone", "operator"], status: int
    ):
        async with migrated_database() as url:
            asked = replace(settings, database_url=url, clock_movers=clock_movers)
            async with running(asked) as edge, People(edge) as people:
                trader = await people.new_organisation("Trader")
                before = (await trader.admin.get("/sandbox/clock")).json()["now"]
                moved = await trader.admin.put("/sandbox/clock", json={"advance": "P1D"})
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
            await enqueue(edge.pool, "of.no-runner", key=str(trader.id), due=datetime.now(UTC))
            await edge.pool.execute(
                """
                insert into job (kind, key, clock, due, every, not_before) values
                  ('recurs.for-no-runner', '', 'platform', now() + interval '30 days', '1 hour',
                   now() + interval '5 minutes')
                """
            )
            assert (await trader.admin.get("/auth/me")).status_code == 200
            assert (await trader.admin.post("/sandbox/reset")).status_code == 403
            assert (await operator.post("/sandbox/reset")).status_code == 204
            now = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"])
            real = await edge.pool.fetchval("select clock_timestamp()")
            assert abs(now - real) < timedelta(minutes=1)
            assert len((await operator.get("/organisations")).json()) == 1
            assert not await edge.pool.fetchval("select exists (select from job where kind = 'of.no-runner')")
            recurring = "select due <= now() and not_before is null from job where kind = 'recurs.for-no-runner'"
            assert await edge.pool.fetchval(recurring), "it neither waits for a time that is gone nor rests"
            assert (await trader.admin.get("/auth/me")).status_code == 401
            assert [entry["status"] for entry in (await operator.get("/audit-log?action=moveClock")).json()] == [200]

    async def test_breaks_no_request_that_is_under_way(self, fresh_app: Callable[[], Awaitable[Application]]):
        edge = await fresh_app()
        async with People(edge) as people:
            operator = (await people.operator()).client
            answers: list[Any] = []

            async def keep_asking(organisation: Any) -> None:
                body = {
                    "name": "Elbe",
                    "organisationID": str(organisation.id),
                    "deliveryZone": "TenneT",
                    "parameters": PARAMETERS,
                }
                while not answers or answers[-1].status_code != 401:
                    made = await organisation.admin.post("/physical-assets", json=body)
                    answers.append(made)
                    path = f"/physical-assets/{made.json().get('id', organisation.id)}"
                    schedule = {"schedule": [{"time": "2040-01-01T00:00:00Z", "power": 5}]}
                    entry = {"title": "Fan", "type": "note", "start": "2027-01-01T00:00:00Z", "description": "Hums"}
                    answers.append(await organisation.admin.put(f"{path}/schedule", json=schedule))
                    answers.append(await organisation.admin.post(f"{path}/logbook", json=entry))
                    answers.append(await organisation.admin.get("/physical-assets"))

            for _ in range(3):
                asking = [asyncio.ensure_future(keep_asking(await people.new_organisation())) for _ in range(4)]
                await asyncio.sleep(0.3)
                assert (await operator.post("/sandbox/reset")).status_code == 204
                await asyncio.gather(*asking)
                assert {answer.status_code for answer in answers} <= {200, 201, 401, 403, 404, 409, 503}
                assert all("retry-after" in answer.headers for answer in answers if answer.status_code == 503)
                answers.clear()

    async def test_leaves_every_way_in_of_the_operators_people_and_nobody_elses(
        self, fresh_app: Callable[[], Awaitable[Application]]
    ):
        """Above all the second factor: without it a password alone would do."""
        edge = await fresh_app()
        async with People(edge) as people, browser(edge) as tab, browser(edge) as their_tab:
            operator, trader = await people.operator(), await people.new_organisation("Trader")
            key = {"name": "reader", "permissions": ["Read:auctions"]}
            secret = (await operator.client.post("/auth/api-keys", json=key)).json()["secret"]
            for person, seen in ((operator, tab), (trader.people[Role.ADMIN], their_tab)):
                assert (await sign_in(seen, person)).status_code == 204
                organisation_id = await edge.pool.fetchval(
                    "select organisation_id from member where id = $1", person.id
                )
                for statement in WAYS_IN:
                    await edge.pool.execute(statement, *(person.id, organisation_id)[: 1 + ("$2" in statement)])
            assert (await operator.client.post("/sandbox/reset")).status_code == 204
            for table in ("second_factor", "recovery_code", "sign_in_network", "external_identity", "api_key"):
                assert {row["member_id"] for row in await edge.pool.fetch(f"select member_id from {table}")} == {
                    operator.id
                }, table
            assert await edge.pool.fetchval("select count(*) from identity_provider") == 1
            assert (await tab.get("/console/session", headers=SAME_ORIGIN)).status_code == 200
            assert (await their_tab.get("/console/session", headers=SAME_ORIGIN)).status_code == 401
            async with client_of(edge, secret) as machine:
                assert (await machine.get("/auctions")).status_code == 200

    async def test_deletes_on_a_cluster_each_table_before_those_it_points_to(
        self, fresh_app: Callable[[], Awaitable[Application]], monkeypatch: pytest.MonkeyPatch
    ):
        """Where TRUNCATE would make every shard's files anew."""

        async def is_distributed(db: object) -> bool:
            return True

        monkeypatch.setattr(emptying, "is_distributed", is_distributed)
        edge = await fresh_app()
        async with People(edge) as people:
            operator = (await people.operator()).client
            owner = await people.new_organisation("Owner")
            body = {"name": "Elbe", "organisationID": str(owner.id), "deliveryZone": "TenneT", "parameters": PARAMETERS}
            asset = (await owner.admin.post("/physical-assets", json=body)).json()
            entry = {"title": "Fan", "type": "note", "start": "2027-01-01T00:00:00Z", "description": "It hums"}
            noted = await owner.admin.post(f"/physical-assets/{asset['id']}/logbook", json=entry)
            assert noted.status_code == 201
            assert (await operator.post("/sandbox/reset")).status_code == 204
            for table in ("asset", "physical_asset_parameters", "logbook_entry", "event", "event_outbox"):
                assert await edge.pool.fetchval(f"select count(*) from {table}") == 0, table


class TestProduction:
    async def test_has_no_such_paths_and_only_the_real_clock(self, settings: Settings):
        async with (
            migrated_database() as url,
            running(replace(settings, environment="production", database_url=url)) as edge,
            People(edge) as people,
        ):
            operator = (await people.operator()).client
            for method, path in [("GET", "clock"), ("PUT", "clock"), ("DELETE", "clock/walk"), ("POST", "reset")]:
                assert (await operator.request(method, f"/sandbox/{path}")).status_code == 404

    async def test_refuses_a_sandbox_s_database(self, app: Application):
        async with app.pool.acquire() as connection:
            with pytest.raises(EnvironmentMismatchError):
                await establish_environment(connection, "production")  # type: ignore[arg-type]
