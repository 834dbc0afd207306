"""Two holders and an owner with facts of some months, on a service whose clock stands where a test wants it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any
from uuid import UUID

import httpx2
import pytest
from tests.clients import PersonClient
from tests.people import OrganisationUnderTest, People
from tests.revenue.reference import Toll, Trade, utc
from tests.revenue.world import World

from gridloom.platform.http.application import Application

SINCE = datetime.fromisoformat("2028-04-20T12:00:00+02:00")
"""Where the clock starts: January to March are over."""
JANUARY, FEBRUARY, MARCH, APRIL = "2028-01", "2028-02", "2028-03", "2028-04"


@dataclass
class Books:
    """`held` is trader 0's virtual asset, wholly on `battery`; `other` trader 1's, three tenths on it, the rest on
    `second`. The owner owns both."""

    edge: Application
    people: People
    operator: PersonClient
    owner: OrganisationUnderTest
    traders: list[OrganisationUnderTest]
    held: UUID
    other: UUID
    battery: UUID
    second: UUID

    @property
    def everyone(self) -> list[OrganisationUnderTest]:
        return [self.owner, *self.traders]

    def world(self, organisation: OrganisationUnderTest) -> World:
        return World(self.edge.pool, organisation.id)

    async def trade(self, asset: UUID, day: date, price: float, volume: str = "1", trade_id: str = "t") -> None:
        fact = Trade(0, trade_id, utc(day, 12), "SELL", Fraction(volume), Fraction(str(price)))
        await self.world(self.owner).record_facts([fact], [asset])

    async def toll(self, asset: UUID, start: date, end: date, price: int, contract_id: str = "c") -> None:
        fact = Toll(0, contract_id, utc(start, 0), utc(end, 0), Fraction(price))
        await self.world(self.owner).record_facts([fact], [asset])

    async def publish(self, day: date, price: float) -> None:
        row = {"series": "REBAP_DE", "start": f"{day}T10:00:00Z", "end": f"{day}T11:00:00Z", "price": price}
        answer = await self.operator.post("/reference-prices", json=[row])
        assert answer.status_code == 200, answer.text

    async def ask(self, month: str, **more: Any) -> httpx2.Response:
        return await self.operator.post("/statements", json={"month": month, "allowMissing": True, **more})

    async def issue(self, month: str) -> dict[str, Any]:
        answer = await self.ask(month)
        assert answer.status_code == 202, answer.text
        return await self.wait(answer.json()["id"])

    async def wait(self, run_id: str) -> dict[str, Any]:
        for _ in range(2400):
            run: dict[str, Any] = (await self.operator.get(f"/statements/runs/{run_id}")).json()
            if run["status"] != "RUNNING":
                return run
            await asyncio.sleep(0.05)
        raise AssertionError(f"the run does not end: {run}")

    async def list(self, organisation: OrganisationUnderTest) -> list[dict[str, Any]]:
        answer = await organisation.viewer.get(f"/organisations/{organisation.id}/statements")
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()
        return found

    async def read(self, organisation: OrganisationUnderTest, id: str) -> httpx2.Response:
        answer = await organisation.viewer.get(f"/organisations/{organisation.id}/statements/{id}")
        assert answer.status_code == 200, answer.text
        return answer

    async def statement(self, organisation: OrganisationUnderTest, month: str) -> dict[str, Any]:
        [found] = [one for one in await self.list(organisation) if one["month"] == month]
        whole: dict[str, Any] = (await self.read(organisation, found["id"])).json()
        return whole

    async def numbers(self, organisation: OrganisationUnderTest) -> dict[str, str]:
        found = await self.list(organisation)
        return {one["month"]: one["number"] for one in found if one["status"] == "ISSUED"}


@pytest.fixture
async def books(fresh_app: Callable[..., Awaitable[Application]]) -> AsyncIterator[Books]:
    edge = await fresh_app(SINCE)
    async with People(edge) as people:
        operator = (await people.operator()).client
        owner = await people.new_organisation("Owner")
        traders = [await people.new_organisation(f"Trader {number}") for number in range(2)]
        owned = World(edge.pool, owner.id)
        battery, second = await owned.physical_asset(20), await owned.physical_asset(10)
        assets = []
        for trader in traders:
            held = World(edge.pool, trader.id)
            asset = await held.virtual_asset(10, start=utc(date(2028, 1, 1), 0), end=utc(date(2029, 1, 1), 0))
            await held.auction(asset, utc(date(2028, 1, 1), 0), utc(date(2029, 1, 1), 0), 366_000)
            assets.append(asset)
        await owned.back(assets[0], battery, 1.0)
        await owned.back(assets[1], battery, 0.3)
        await edge.pool.execute(
            """insert into virtual_backing
                 (asset_key, physical_asset_key, position, share, charge_kw, discharge_kw, energy_kwh)
               select v.key, p.key, 2, 0.7, 1, 1, 1 from asset v, asset p where v.id = $1 and p.id = $2""",
            assets[1],
            second,
        )
        yield Books(edge, people, operator, owner, traders, assets[0], assets[1], battery, second)
