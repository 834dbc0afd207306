"""A market for tests: an operator, an owner with a battery, some traders, and a clock to move."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from tests.conftest import migrated_database, running
from tests.people import OrganisationUnderTest, People

if TYPE_CHECKING:
    import httpx2
    from tests.clients import PersonClient

    from gridloom.platform.http.application import Application
    from gridloom.settings import Settings

HOUR = timedelta(hours=1)


def wire(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


@dataclass
class Market:
    edge: Application
    people: People
    operator: PersonClient
    owner: OrganisationUnderTest
    traders: list[OrganisationUnderTest]
    discharge_ratio: ClassVar[float] = 1.0
    """The discharging power of batteries and items, as a multiple of the charging power."""
    discharge_efficiency: ClassVar[float] = 0.95

    async def now(self) -> datetime:
        return datetime.fromisoformat((await self.operator.get("/sandbox/clock")).json()["now"])

    async def advance(self, span: str) -> None:
        response = await self.operator.put("/sandbox/clock", json={"advance": span})
        assert response.status_code == 200, response.text

    async def battery(self, power_kw: float = 10_000) -> str:
        response = await self.owner.admin.post(
            "/physical-assets",
            json={
                "name": "Battery",
                "organisationID": str(self.owner.id),
                "deliveryZone": "Amprion",
                "parameters": {
                    "ratedChargePower": power_kw,
                    "ratedDischargePower": self.discharge_ratio * power_kw,
                    "energyCapacity": 2 * power_kw,
                    "chargeEfficiency": 0.95,
                    "dischargeEfficiency": self.discharge_efficiency,
                },
            },
        )
        assert response.status_code == 201, response.text
        identifier: str = response.json()["id"]
        return identifier

    async def terms(self, battery: str | None = None, **changes: Any) -> dict[str, Any]:
        """An auction that is open for an hour from now on, for delivery from a day later on, whatever the hour."""
        now = await self.now()
        day = (now + timedelta(days=2)).replace(hour=0, minute=0, second=0, microsecond=0)
        return {
            "start": wire(now),
            "end": wire(now + HOUR),
            "item": {
                "start": wire(day),
                "end": wire(day + timedelta(days=2)),
                "deliveryZone": "Amprion",
                "ratedChargePower": 4000,
                "ratedDischargePower": 4000 * self.discharge_ratio,
                "energyCapacity": 8000,
                "chargeEfficiency": 0.95,
                "dischargeEfficiency": self.discharge_efficiency,
            },
            "backing": [{"physicalAssetID": battery or await self.battery(), "share": 1}],
            "participants": [str(trader.id) for trader in self.traders],
        } | changes

    async def auction(self, battery: str | None = None, **changes: Any) -> str:
        response = await self.operator.post("/auctions", json=await self.terms(battery, **changes))
        assert response.status_code == 201, response.text
        identifier: str = response.json()["id"]
        return identifier

    async def lose(
        self,
        battery: str,
        auction: str,
        power_kw: float,
        energy_kwh: float | None = None,
        since: datetime | None = None,
    ) -> None:
        """The battery loses as much until the end of the auction's item, from its start unless said, of discharging in
        proportion; twice as many kWh unless said."""
        item = (await self.operator.get(f"/auctions/{auction}")).json()["item"]
        lost = {
            "energyCapacity": 2 * power_kw if energy_kwh is None else energy_kwh,
            "powerCapacity": {"charge": power_kw, "discharge": self.discharge_ratio * power_kw},
        }
        response = await self.owner.admin.post(
            f"/physical-assets/{battery}/unavailability",
            json={
                "description": "",
                "type": "OUTAGE",
                "start": item["start"] if since is None else wire(since),
                "end": item["end"],
                "volume": lost,
            },
        )
        assert response.status_code == 201, response.text

    async def status(self, auction: str, trader: OrganisationUnderTest) -> str:
        response = await trader.trader.get(f"/auctions/{auction}")
        assert response.status_code == 200, response.text
        status: str = response.json()["status"]
        return status


@pytest.fixture(autouse=True)
def asymmetric(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this room, beside 0.95 of charging: what takes one direction for the other shows."""
    monkeypatch.setattr(Market, "discharge_ratio", 1.1)
    monkeypatch.setattr(Market, "discharge_efficiency", 0.93)


async def bid(trader: OrganisationUnderTest, auction: str, price: float | str) -> httpx2.Response:
    return await trader.trader.post(f"/auctions/{auction}/bids", json={"price": price})


async def make_market(edge: Application, stack: AsyncExitStack, traders: int) -> Market:
    people = await stack.enter_async_context(People(edge))
    return Market(
        edge,
        people,
        (await people.operator()).client,
        await people.new_organisation("Owner"),
        [await people.new_organisation(f"Trader {number}") for number in range(traders)],
    )


@pytest.fixture
async def new_market(
    fresh_app: Callable[[], Awaitable[Application]],
) -> AsyncIterator[Callable[..., Awaitable[Market]]]:
    async with AsyncExitStack() as stack:

        async def make(traders: int = 3) -> Market:
            return await make_market(await fresh_app(), stack, traders)

        yield make


@pytest.fixture
async def still_market(app: Application, people: People, operator: PersonClient) -> Market:
    """A market on the shared service, for tests that do not move its clock."""
    traders = [await people.new_organisation(f"Trader {number}") for number in range(2)]
    return Market(app, people, operator, await people.new_organisation("Owner"), traders)


@pytest.fixture(scope="module")
async def market(settings: Settings) -> AsyncIterator[Market]:
    """One for all tests of a module: they move its clock forward and look at auctions of their own."""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(migrated_database())
        edge = await stack.enter_async_context(running(replace(settings, database_url=url)))
        yield await make_market(edge, stack, traders=3)
