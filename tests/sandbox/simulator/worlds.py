"""Simulated worlds for tests: a service in this process, and a simulator that lives in it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import uvicorn
from tests.conftest import migrated_database, running
from tests.people import People

from gridloom.commands.operator import invite_simulator
from gridloom.kernel.market_time import PERIOD, floor_to_period
from gridloom.platform.http.application import Application
from gridloom.sandbox.simulated_clock import prepare_world
from gridloom.sandbox.simulator.api_session import Connect
from gridloom.sandbox.simulator.credentials import SimulatorCredentials, newcomer_sign_ins, read_credentials
from gridloom.sandbox.simulator.main_loop import run_forever
from gridloom.settings import Settings
from gridloom_client import AsyncClient

MAX_STANDSTILL_S = 300.0
"""Of a world's clock on a busy machine, before its simulator is taken for ended."""


def connect_within(edge: Application) -> Connect:
    """Clients of a service in this process, without a network in between."""

    def connect(username: str, password: str) -> AsyncClient:
        transport = httpx2.ASGITransport(app=edge, client=("10.9.9.9", 50_000))  # type: ignore[arg-type]
        return AsyncClient(
            "http://gridloom.test", username=username, password=password, transport=transport, timeout_s=120.0
        )

    return connect


@dataclass
class SimulatedWorld:
    edge: Application
    people: People
    operator: httpx2.AsyncClient
    kept: SimulatorCredentials
    settings: Settings
    made_at: datetime
    """On the real clock, which the world's reaches; its own goes on when the simulator has stopped."""

    @property
    def connect(self) -> Connect:
        return connect_within(self.edge)

    def newcomer(self, name: str) -> AsyncClient:
        found = next(one for one in newcomer_sign_ins(self.kept) if one.username == name)
        return self.connect(found.username, found.password)

    async def get(self, path: str, **params: Any) -> Any:
        answer = await self.operator.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def now(self) -> datetime:
        return datetime.fromisoformat((await self.get("/sandbox/clock"))["now"])

    async def pages(self, path: str, **params: Any) -> list[Any]:
        found: list[Any] = []
        target: str | None = str(httpx2.URL(path, params={**params, "limit": 1000}))
        while target:
            answer = await self.operator.get(target)
            assert answer.status_code == 200, answer.text
            found += answer.json()
            link = answer.links.get("next", {}).get("url")
            target = None if link is None else str(httpx2.URL(link).raw_path, "ascii")
        return found

    async def live_on(self) -> None:
        """Through the next quarter-hour: however long ago the world was lived in last, its meters are fresh."""
        async with self.alive():
            until = floor_to_period(await self.now()) + PERIOD + timedelta(seconds=1)  # it waits at the quarter-hour
            answer = await self.operator.put("/sandbox/clock", json={"now": until.isoformat()})
            assert answer.status_code == 200, answer.text

    @asynccontextmanager
    async def alive(self) -> AsyncIterator[asyncio.Task[None]]:
        """A simulator at work; leaving this is its sudden death."""
        life = asyncio.create_task(run_forever(self.connect, self.kept))
        try:
            yield life
        finally:
            life.cancel()
            with suppress(asyncio.CancelledError):
                await life

    @asynccontextmanager
    async def alive_apart(self, salt: int) -> AsyncIterator[asyncio.Task[int]]:
        """A simulator in a process of its own, whose hashes no other process has; leaving this kills it."""
        async with serving(self.edge) as address:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "gridloom.sandbox.simulator", address, str(self.settings.home)),
                env={**os.environ, "PYTHONHASHSEED": str(salt), "GRIDLOOM_LOG_LEVEL": "error"},
            )
            life = asyncio.create_task(process.wait())
            try:
                yield life
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
                await life

    async def live_until(self, moment: datetime | None = None, *, salt: int | None = None) -> None:
        """Have the world lived through until a moment, or until the present; with a salt by a process of its own."""
        async with self.alive() if salt is None else self.alive_apart(salt) as life:
            shown, moved_at = {"now": ""}, time.monotonic()
            while not life.done() and time.monotonic() - moved_at < MAX_STANDSTILL_S:
                before, shown = shown, await self.get("/sandbox/simulator")
                if shown["now"] != before["now"]:
                    moved_at = time.monotonic()
                if shown["historyComplete"] if moment is None else datetime.fromisoformat(shown["now"]) >= moment:
                    return
                await asyncio.sleep(0.25)
        raise AssertionError(f"the simulator stands still: {shown}, {life}")


@asynccontextmanager
async def serving(edge: Application) -> AsyncIterator[str]:
    """A service that has started, on a real port."""
    server = uvicorn.Server(uvicorn.Config(edge, port=0, lifespan="off", log_level="error"))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = server.force_exit = True
        await task


@asynccontextmanager
async def simulated_world(settings: Settings, home: Any, *, days: int, seed: int = 1) -> AsyncIterator[SimulatedWorld]:
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(migrated_database())
        asked = replace(settings, database_url=url, simulator_days=days, home=home)
        edge = await stack.enter_async_context(running(asked))
        people = await stack.enter_async_context(People(edge))
        operator = (await people.operator()).client
        made_at = datetime.now(UTC)
        async with edge.pool.acquire() as connection:
            await prepare_world(connection, is_on=True, seed=seed, history_days=days)
            await invite_simulator(connection, home)
        kept = read_credentials(home)
        assert kept is not None
        yield SimulatedWorld(edge, people, operator, kept, asked, made_at)
