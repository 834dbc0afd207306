"""A service with every feed switched on, and the sources beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import httpx2
import pytest
from tests.conftest import execute, migrated_database, running
from tests.feeds.stand_in import StandIn
from tests.people import People, make_operator

from gridloom.platform.database.pool import create_pool
from gridloom.platform.http.application import Application
from gridloom.settings import Settings

ALL = ("smard", "energy-charts", "entsoe", "regelleistung", "netztransparenz")


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with StandIn() as found:
        yield found


@dataclass
class FeedService:
    edge: Application
    operator: httpx2.AsyncClient
    settings: Settings
    stand_in: StandIn

    async def move(self, now: datetime) -> None:
        """The clock moves, and the sources publish by it."""
        self.stand_in.clock = lambda: now
        answer = await self.operator.put("/sandbox/clock", json={"now": now.isoformat()}, timeout=120)
        assert answer.status_code == 200, answer.text

    async def feed(self, name: str) -> Any:
        return next(one for one in await self.get("/feeds") if one["name"] == name)

    async def series(self, feed: str, series: str) -> Any:
        return next(one for one in (await self.feed(feed))["series"] if one["series"] == series)

    async def get(self, path: str, **query: Any) -> Any:
        answer = await self.operator.get(path, params={name.replace("_", "-"): value for name, value in query.items()})
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def prices(self, series: str, start: datetime, end: datetime, **query: Any) -> list[Any]:
        window = {"series": series, "start": start.isoformat(), "end": end.isoformat(), "limit": 1000}
        return list(await self.get("/reference-prices", **window, **query))


Start = Callable[..., Awaitable[FeedService]]


@pytest.fixture
async def start_feeds(settings: Settings, stand_in: StandIn) -> AsyncIterator[Start]:
    """`await start_feeds(since, feeds=…)`: a service of its own whose clock starts at an instant."""
    async with AsyncExitStack() as stack:

        async def start(since: datetime, feeds: tuple[str, ...] = ALL, **changes: Any) -> FeedService:
            stand_in.clock = lambda: since
            url = await stack.enter_async_context(migrated_database())
            async with await create_pool(url, size=1) as pool:
                await make_operator(pool)
            await execute(url, f"update sandbox_clock set ahead = '{since.isoformat()}' - clock_timestamp()")
            configured = configure(replace(settings, database_url=url, feeds=feeds, **changes), stand_in)
            edge = await stack.enter_async_context(running(configured))
            people = await stack.enter_async_context(People(edge))
            return FeedService(edge, (await people.operator()).client, configured, stand_in)

        yield start


def configure(settings: Settings, stand_in: StandIn) -> Settings:
    return replace(
        settings,
        feed_smard_url=stand_in.url,
        feed_energy_charts_url=stand_in.url,
        feed_entsoe_url=stand_in.url,
        feed_regelleistung_url=stand_in.url,
        feed_netztransparenz_url=stand_in.url,
        feed_netztransparenz_token_url=stand_in.url,
        entsoe_token="stand-in-token",
        netztransparenz_client_id="stand-in",
        netztransparenz_client_secret="stand-in-secret",
    )
