"""The simulator's side of the clock: quarter-hours that wait for it, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest
from tests.conftest import migrated_database, running
from tests.people import People

from gridloom.platform.http.application import Application
from gridloom.platform.identity.permissions import Role
from gridloom.sandbox import simulator_routes
from gridloom.sandbox.simulated_clock import prepare_world
from gridloom.sandbox.simulation import start_of_history
from gridloom.sandbox.simulator_store import (
    acquire_lease,
    has_reported_since_arrival,
    reach_target,
    set_target,
    store_error,
)
from gridloom.settings import Settings

QUARTER = timedelta(minutes=15)


class Stepper:
    """A simulator that does nothing but say that it is done."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self.client = client
        self.world = 0
        self.awaited: datetime | None = None
        self.seen: list[datetime] = []

    async def ask(self, **body: Any) -> dict[str, Any]:
        answer = await self.client.put("/sandbox/simulator/step", json=body)
        assert answer.status_code == 200, answer.text
        said: dict[str, Any] = answer.json()
        self.world = said["world"]
        self.awaited = said["step"] and datetime.fromisoformat(said["step"])
        if self.awaited is not None and self.awaited not in self.seen[-1:]:
            self.seen.append(self.awaited)
        return said

    async def step(self, **memory: Any) -> dict[str, Any]:
        assert self.awaited is not None
        return await self.ask(world=self.world, done=self.awaited.isoformat(), memory=memory)

    async def keep_stepping(self) -> None:
        while True:
            await (self.ask() if self.awaited is None else self.step())


@asynccontextmanager
async def simulated_world(settings: Settings, days: int = 1) -> AsyncIterator[tuple[Application, People, Stepper]]:
    async with migrated_database() as url:
        asked = replace(settings, database_url=url, simulator_days=days)
        async with running(asked) as edge, People(edge) as people:
            async with edge.pool.acquire() as connection:
                await prepare_world(connection, is_on=True, seed=1, history_days=days)
            yield edge, people, Stepper((await people.operator()).client)


async def read_clock(client: httpx2.AsyncClient) -> datetime:
    return datetime.fromisoformat((await client.get("/sandbox/clock")).json()["now"])


class TestTheClockOfASimulatedWorld:
    async def test_starts_in_the_past_and_waits_there(self, settings: Settings):
        async with simulated_world(settings) as (edge, _, simulator):
            real = await edge.pool.fetchval("select clock_timestamp()")
            await store_error(edge.pool, "Its password is wrong.")
            shown = (await simulator.client.get("/sandbox/simulator")).json()
            assert shown["fault"] == "Its password is wrong."
            said = await simulator.ask()
            assert simulator.awaited == start_of_history(real, 1) == await read_clock(simulator.client)
            assert said["memory"] == {}
            assert (await simulator.ask())["step"] == said["step"], "it waits for as long as it takes"
            shown = (await simulator.client.get("/sandbox/simulator")).json()
            assert not shown["historyComplete"]
            assert shown["progress"] == 0
            assert "fault" not in shown, "there is a simulator again"

    async def test_fast_forwards_to_a_requested_instant(self, settings: Settings):
        async with simulated_world(settings, days=0) as (_, people, simulator):
            trader = await people.new_organisation("Trader")
            stepping = asyncio.create_task(simulator.keep_stepping())
            while not (await trader.viewer.get("/sandbox/simulator")).json()["historyComplete"]:
                await asyncio.sleep(0.05)
            before = await read_clock(trader.viewer)
            moved = await trader.trader.put("/sandbox/clock", json={"advance": "PT5H"})
            assert moved.status_code == 200
            assert datetime.fromisoformat(moved.json()["now"]) >= before + timedelta(hours=5)
            assert all(
                later - earlier == QUARTER for earlier, later in zip(simulator.seen, simulator.seen[1:], strict=False)
            )
            assert simulator.seen[-1] <= await read_clock(trader.viewer) < simulator.seen[-1] + QUARTER
            back = await trader.trader.put("/sandbox/clock", json={"now": before.isoformat()})
            assert back.status_code == 409
            stepping.cancel()

    async def test_hurries_to_the_latest_of_the_instants_that_are_asked_for(self, settings: Settings):
        """A second caller, who asks for less, does not keep the first one from getting there."""
        async with simulated_world(settings, days=0) as (edge, _, simulator):
            now = await read_clock(simulator.client)
            for hours in (5, 2):
                await set_target(edge.pool, now + timedelta(hours=hours))
            shown = (await simulator.client.get("/sandbox/clock")).json()
            assert datetime.fromisoformat(shown["walk"]["target"]) == now + timedelta(hours=5)
            for running in (False, True):
                await simulator.client.put("/sandbox/simulator", json={"running": running})
            assert "walk" not in (await simulator.client.get("/sandbox/clock")).json(), "a pause ends the hurry"

    async def test_stops_at_the_next_quarter_hour_when_the_operator_ends_the_walk(self, settings: Settings):
        async with simulated_world(settings, days=0) as (_, people, simulator), asyncio.timeout(120):
            trader = await people.new_organisation("Trader")
            stepping = asyncio.create_task(simulator.keep_stepping())
            while not (await trader.viewer.get("/sandbox/simulator")).json()["historyComplete"]:
                await asyncio.sleep(0.05)
            assert (await simulator.client.delete("/sandbox/clock/walk")).status_code == 404
            walking = asyncio.create_task(trader.trader.put("/sandbox/clock", json={"advance": "P31D"}))
            while "walk" not in (shown := (await trader.viewer.get("/sandbox/clock")).json()):
                await asyncio.sleep(0.02)
            assert (await trader.admin.delete("/sandbox/clock/walk")).status_code == 403
            assert (await simulator.client.delete("/sandbox/clock/walk")).status_code == 204
            stopped = await walking
            assert (stopped.status_code, stopped.json()["type"]) == (409, "/docs/problems/clock-walk-stopped")
            after = (await trader.viewer.get("/sandbox/clock")).json()
            assert "walk" not in after
            read = [shown["now"], stopped.json()["now"], after["now"], shown["walk"]["target"]]
            begin, end, later, target = map(datetime.fromisoformat, read)
            assert begin <= end <= later < target
            assert (await simulator.client.delete("/sandbox/clock/walk")).status_code == 404
            stepping.cancel()


class TestASandboxInUse:
    """One in which something has happened before the simulator was switched on."""

    @asynccontextmanager
    async def used(self, settings: Settings) -> AsyncIterator[tuple[Application, Stepper]]:
        async with migrated_database() as url:
            asked = replace(settings, database_url=url, simulator=True)
            async with running(asked) as edge, People(edge) as people:
                operator = (await people.operator()).client
                assert (await operator.put("/sandbox/clock", json={"advance": "P3DT7M"})).status_code == 200
                async with edge.pool.acquire() as connection:
                    await prepare_world(connection, is_on=True, seed=1, history_days=1)
                yield edge, Stepper(operator)

    async def test_gets_no_world_by_itself(self, settings: Settings):
        async with self.used(settings) as (edge, simulator):
            now = await read_clock(simulator.client)
            assert timedelta(days=3) < now - await real_now(edge) < timedelta(days=3, hours=1)
            assert not (await simulator.client.get("/sandbox/simulator")).json()["running"]
            refused = await simulator.client.put("/sandbox/simulator", json={"speed": 2})
            assert (refused.status_code, refused.json()["type"]) == (409, "/docs/problems/no-simulator")

    async def test_gets_its_world_when_the_operator_asks_and_its_clock_never_goes_back(self, settings: Settings):
        async with self.used(settings) as (_, simulator), asyncio.timeout(120):
            seen = [await read_clock(simulator.client)]
            begun = await simulator.client.put("/sandbox/simulator", json={"running": True, "seed": 7})
            assert begun.status_code == 200
            assert begun.json() | {"running": True, "seed": 7, "historyComplete": True, "progress": 1} == begun.json()
            stepping = asyncio.create_task(simulator.keep_stepping())
            for _ in range(60):
                seen.append(await read_clock(simulator.client))
                await asyncio.sleep(0.02)
            assert seen == sorted(seen)
            assert seen[-1] - seen[0] < timedelta(minutes=1)
            stepping.cancel()


class TestTwoSimulators:
    async def test_take_turns_only_when_one_falls_silent(self, settings: Settings, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(simulator_routes, "STAND_BY_S", 0.5)
        async with simulated_world(settings) as (edge, people, simulator):
            said = await simulator.ask()
            operator_id = UUID((await simulator.client.get("/auth/me")).json()["organisationID"])
            second = Stepper((await people.add_member(operator_id, Role.ADMIN)).client)
            standing_by = asyncio.create_task(second.ask())
            await simulator.step()
            assert (await standing_by)["step"] is None
            await edge.pool.execute("update sandbox_simulator set taken_at = taken_at - interval '2 minutes'")
            assert (await second.ask())["step"] != said["step"]
            assert second.awaited == simulator.awaited


class TestAnArrival:
    async def test_is_reported_only_by_a_simulator_that_knew_of_it(self, settings: Settings):
        """One in mid-step says that it is done when the clock has arrived, and reports the last minutes after that."""
        async with simulated_world(settings) as (edge, _, simulator):
            operator_id = UUID((await simulator.client.get("/auth/me")).json()["id"])
            arrival = datetime.fromisoformat((await simulator.client.get("/sandbox/clock")).json()["now"])
            await set_target(edge.pool, arrival)
            assert await acquire_lease(edge.pool, operator_id, timedelta(minutes=1), arrival)
            assert not await has_reported_since_arrival(edge.pool), "the clock is there before its arrival is noted"
            await reach_target(edge.pool, arrival)
            await edge.pool.execute("select pg_sleep(0.002)")  # instants are rounded to a millisecond
            for reported_until, is_reported in (
                (arrival - timedelta(minutes=14), False),
                (arrival, True),
                (arrival - timedelta(minutes=14), False),
                (None, True),
            ):
                assert await acquire_lease(edge.pool, operator_id, timedelta(minutes=1), reported_until)
                assert await has_reported_since_arrival(edge.pool) is is_reported, reported_until


class TestSteering:
    async def test_pauses_and_resumes(self, settings: Settings):
        async with simulated_world(settings) as (edge, _, simulator):
            await simulator.ask()
            paused = await simulator.client.put("/sandbox/simulator", json={"running": False})
            assert (paused.status_code, paused.json()["running"]) == (200, False)
            slower = await simulator.client.put("/sandbox/simulator", json={"speed": 3})
            assert (slower.json()["running"], slower.json()["speed"]) == (False, 3)
            assert await edge.pool.fetchval("select hold_until from sandbox_clock") is None, "the clock goes on"
            assert (await simulator.client.put("/sandbox/clock", json={"advance": "PT1H"})).status_code == 200
            resumed = await simulator.client.put("/sandbox/simulator", json={"running": True, "speed": 96, "seed": 7})
            assert (resumed.json()["speed"], resumed.json()["seed"]) == (96, 7)
            for left_out, given in (({"speed": 96, "seed": 8}, {"seed": 8}), ({"speed": 48, "seed": 8}, {"speed": 48})):
                steered = (await simulator.client.put("/sandbox/simulator", json=given)).json()
                assert steered == {**steered, "running": True, **left_out}, "what is left out stays"
            first = simulator.seen[0]
            await simulator.ask()
            await simulator.step()
            assert simulator.awaited == first + timedelta(hours=1), "the quarter-hours it missed are its own to make up"

    async def test_is_the_operator_s(self, settings: Settings):
        async with simulated_world(settings) as (_, people, _):
            trader = await people.new_organisation("Trader")
            assert (await trader.admin.get("/sandbox/simulator")).status_code == 200
            assert (await trader.admin.put("/sandbox/simulator", json={"speed": 2})).status_code == 403
            assert (await trader.admin.put("/sandbox/simulator/step", json={})).status_code == 403

    @pytest.mark.parametrize("body", [{"speed": 0}, {"speed": -1}, {"seed": -1}, {"running": "yes"}, {"pace": 2}])
    async def test_refuses_what_makes_no_sense(self, settings: Settings, operator: httpx2.AsyncClient, body: Any):
        assert (await operator.put("/sandbox/simulator", json=body)).status_code == 400

    async def test_has_nothing_to_steer_where_no_simulator_was_started(
        self, operator: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(simulator_routes, "STAND_BY_S", 0.1)
        assert not (await operator.get("/sandbox/simulator")).json()["running"]
        assert (await operator.put("/sandbox/simulator", json={"speed": 2})).status_code == 409
        assert (await operator.put("/sandbox/simulator/step", json={})).status_code == 409


class TestAReset:
    async def test_leaves_no_instant_to_the_next_world_that_the_clock_hurried_to(self, settings: Settings):
        async with simulated_world(settings) as (edge, _, simulator):
            await set_target(edge.pool, await read_clock(simulator.client) + timedelta(days=2))
            assert (await simulator.client.post("/sandbox/reset")).status_code == 204
            assert await edge.pool.fetchval("select target from sandbox_simulator") is None

    async def test_has_what_recurs_on_the_platform_s_clock_due_from_the_beginning(self, settings: Settings):
        async with simulated_world(settings) as (edge, _, simulator):
            await simulator.ask()
            await edge.pool.execute(
                """
                insert into job (kind, key, clock, due, every)
                values ('of.no-runner', '', 'platform', clock_timestamp() + interval '1 hour', '1 day')
                """
            )
            assert (await simulator.client.post("/sandbox/reset")).status_code == 204
            assert await edge.pool.fetchval("select due <= platform_now() from job where kind = 'of.no-runner'")


class TestASwitchedOffSimulator:
    async def test_leaves_the_clock_running_from_where_it_stood(self, settings: Settings):
        async with simulated_world(settings) as (edge, _, simulator):
            await simulator.ask()
            await simulator.step()
            before = await read_clock(simulator.client)
            async with edge.pool.acquire() as connection:
                await prepare_world(connection, is_on=False, seed=1, history_days=1)
            await asyncio.sleep(0.05)
            assert before < await read_clock(simulator.client) < before + timedelta(minutes=1)
            assert not (await simulator.client.get("/sandbox/simulator")).json()["running"]


async def real_now(edge: Application) -> datetime:
    now: datetime = await edge.pool.fetchval("select clock_timestamp()")
    return now
