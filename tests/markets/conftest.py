"""A virtual asset whose markets of some days ahead are all open, with its trader and the operator who executes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.people import People
from tests.virtual_assets.conftest import QUARTER, Battery, make_battery, new_asset, register, wire

from gridloom.kernel.market_time import market_day_of, market_day_window, period_count

if TYPE_CHECKING:
    import httpx2
    from tests.clients import PersonClient

    from gridloom.platform.http.application import Application

__all__ = ["make_battery"]


@dataclass
class Desk:
    """One virtual asset of 1000 kW and 2000 kWh without losses, half full, on the two days from `day` on."""

    battery: Battery
    operator: PersonClient
    day: date

    @property
    def trader(self) -> PersonClient:
        return self.battery.client

    @property
    def orders_url(self) -> str:
        return f"/organisations/{self.battery.organisation.id}/orders"

    @property
    def periods(self) -> int:
        return period_count(self.day)

    def time(self, index: int) -> str:
        return wire(market_day_window(self.day).start + index * QUARTER)

    def schedule(self, powers: dict[int, float]) -> list[dict[str, Any]]:
        """Of these quarter-hours of the day."""
        return [{"time": self.time(index), "power": power} for index, power in powers.items()]

    async def markets(self, client: httpx2.AsyncClient | None = None) -> httpx2.Response:
        params = {"delivery-day": self.day.isoformat()}
        return await (client or self.trader).get(f"{self.battery.url}/markets", params=params)

    async def stages(self) -> dict[str, Any]:
        """By name."""
        answer = await self.markets()
        assert answer.status_code == 200, answer.text
        return {stage["stage"]: stage for stage in answer.json()}

    async def etag(self) -> str:
        answer = await self.markets()
        assert answer.status_code == 200, answer.text
        return answer.headers["ETag"]

    async def order(self, stage: str, powers: dict[int, float] | None = None, **more: Any) -> dict[str, Any]:
        """An order by the present state; powers by quarter-hour of the day."""
        asked = {
            "virtualAssetID": self.battery.asset["id"],
            "ifMatch": await self.etag(),
            "stage": stage,
            "deliveryDay": self.day.isoformat(),
            **more,
        }
        return asked if powers is None else {**asked, "schedule": self.schedule(powers)}

    async def post(self, *orders: dict[str, Any], client: httpx2.AsyncClient | None = None) -> httpx2.Response:
        return await (client or self.trader).post(self.orders_url, json=list(orders))

    async def place(self, stage: str, powers: dict[int, float] | None = None, **more: Any) -> str:
        answer = await self.post(await self.order(stage, powers, **more))
        assert answer.status_code == 201, answer.text
        [placed] = answer.json()
        assert placed["status"] == "STANDING"
        return str(placed["id"])

    async def read(self, order_id: str) -> Any:
        answer = await self.trader.get(f"{self.orders_url}/{order_id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def report(self, *results: dict[str, Any], client: httpx2.AsyncClient | None = None) -> httpx2.Response:
        return await (client or self.operator).post("/orders/results", json=list(results))

    async def result(self, order_id: str, price: float = 80, **more: Any) -> dict[str, Any]:
        """All of its volumes at one price."""
        volumes = (await self.read(order_id))["volumes"]
        trades = [{**volume, "price": price} for volume in volumes]
        return {"orderID": order_id, "executed": True, "trades": trades, **more}

    async def execute(self, order_id: str, price: float = 80) -> Any:
        answer = await self.report(await self.result(order_id, price))
        assert answer.status_code == 200, answer.text
        return answer.json()[0]

    async def trades(self) -> list[dict[str, Any]]:
        params = {"asset-id": self.battery.asset["id"]}
        answer = await self.trader.get("/settlements/wholesale-trades", params=params)
        assert answer.status_code == 200, answer.text
        rows: list[dict[str, Any]] = answer.json()
        return rows

    async def positions(self) -> list[float]:
        """After the last market of the day."""
        return [point["power"] for point in (await self.stages())["OTHER"]["position"]]

    async def scheduled(self) -> list[float]:
        window = market_day_window(self.day)
        params = {"start": wire(window.start), "end": wire(window.end)}
        answer = await self.trader.get(f"{self.battery.url}/schedule", params=params)
        return [point["power"] for point in answer.json()["schedule"]]


EVEN = {"chargeEfficiency": 1, "dischargeEfficiency": 1, "ratedDischargePower": 1000}
"""Without losses and alike in both directions: what a test says of energy can be counted by hand."""

MakeDesk = Callable[..., Awaitable[Desk]]


def open_day(now: datetime | None = None) -> date:
    """A delivery day of which all gates are open."""
    return market_day_of(now or datetime.now(UTC)) + timedelta(days=3)


@pytest.fixture
def make_desk(make_battery: Any, operator: PersonClient) -> MakeDesk:
    """`await make_desk(dailyCycleLimit=1)` on the service of all tests, whose clock nobody moves."""

    async def make(parameters: dict[str, float] | None = None, **changes: Any) -> Desk:
        day = open_day()
        battery = await make_battery(parameters={**EVEN, **(parameters or {})}, **_asset(day, changes))
        return Desk(battery, operator, day)

    return make


def _asset(day: date, changes: dict[str, Any]) -> dict[str, Any]:
    start = market_day_window(day).start
    end = market_day_window(day + timedelta(days=1)).end
    return {**EVEN, "start": wire(start), "end": wire(end), "dispatchGateClosureSeconds": 0, **changes}


@asynccontextmanager
async def desk_of(edge: Application, day: date, **changes: Any) -> AsyncIterator[Desk]:
    """The same on a service of its own, whose clock a test moves."""
    async with People(edge) as people:
        operator = (await people.operator()).client
        organisation = await people.new_organisation()
        physical = [await register(operator, organisation.id, **EVEN)]
        answer = await operator.post(
            f"/organisations/{organisation.id}/virtual-assets", json=new_asset(physical, **_asset(day, changes))
        )
        assert answer.status_code == 201, answer.text
        yield Desk(Battery(organisation, organisation.trader, answer.json(), physical, edge), operator, day)


async def set_clock(desk: Desk, now: datetime) -> None:
    answer = await desk.operator.put("/sandbox/clock", json={"now": now.isoformat()})
    assert answer.status_code == 200, answer.text
