"""Physical and virtual batteries for tests, made through the service itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from tests.people import OrganisationUnderTest

from gridloom.kernel.market_time import market_day_of, market_day_window
from gridloom.kernel.window import Window

if TYPE_CHECKING:
    import httpx2
    from tests.clients import PersonClient

    from gridloom.platform.http.application import Application

QUARTER = timedelta(minutes=15)
ASYMMETRIC = {"ratedDischargePower": 1200, "dischargeEfficiency": 0.95}
"""Beside 1000 kW and 0.9 of charging: what takes one direction for the other shows."""


def wire(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


@cache
def tomorrow() -> datetime:
    """The start of the next market day that is hours away, so that gates before it are still open however late it is.

    No clock changes for three days from then on: blocks of balancing products are four hours from here on. It is one
    day for all tests of a process: it would be another for the second of two assets that are made as the hour passes.
    """
    day = market_day_of(datetime.now(UTC) + timedelta(hours=4)) + timedelta(days=1)
    while True:
        span = Window(market_day_window(day).start, market_day_window(day + timedelta(days=2)).end)
        if span.duration == timedelta(days=3):
            return span.start
        day += timedelta(days=1)


@dataclass
class Battery:
    """A virtual asset under test, with its owner's trader as the client that acts."""

    organisation: OrganisationUnderTest
    client: PersonClient
    asset: dict[str, Any]
    physical: list[dict[str, Any]]
    edge: Application

    @property
    def url(self) -> str:
        return f"/organisations/{self.organisation.id}/virtual-assets/{self.asset['id']}"

    @property
    def block_url(self) -> str:
        return f"{self.url}/blocks/{self.asset['blockIDs'][0]}"

    @property
    def start(self) -> datetime:
        return datetime.fromisoformat(self.asset["start"])

    @property
    def end(self) -> datetime:
        return datetime.fromisoformat(self.asset["end"])

    def points(self, powers: list[float], offset: int = 0) -> Any:
        """A schedule for consecutive quarter-hours from the asset's start on."""
        return {
            "schedule": [
                {"time": wire(self.start + (offset + place) * QUARTER), "power": power}
                for place, power in enumerate(powers)
            ]
        }

    async def put(self, powers: list[float], offset: int = 0, url: str | None = None) -> httpx2.Response:
        return await self.client.put(url or self.block_url, json=self.points(powers, offset))

    async def read(self) -> Any:
        answer = await self.client.get(self.url)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def life(self, url: str | None = None, **more: str) -> Any:
        """The block over the whole life of the asset."""
        params = {"start": self.asset["start"], "end": self.asset["end"], **more}
        answer = await self.client.get(url or self.block_url, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def blocks(self) -> Any:
        params = {"start": self.asset["start"], "end": self.asset["end"]}
        answer = await self.client.get(f"{self.url}/blocks", params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def energies(self) -> list[float]:
        params = {"start": self.asset["start"], "end": self.asset["end"]}
        answer = await self.client.get(f"{self.url}/state-of-energy/projected", params=params)
        assert answer.status_code == 200, answer.text
        return [point["energy"] for point in answer.json()]

    async def carve(self, offset: int, length: int, market: str, charge: float, discharge: float) -> httpx2.Response:
        return await self.client.post(
            f"{self.url}/blocks",
            json={
                "start": wire(self.start + offset * QUARTER),
                "end": wire(self.start + (offset + length) * QUARTER),
                "market": market,
                "ratedChargePower": charge,
                "ratedDischargePower": discharge,
            },
        )


async def register(operator: httpx2.AsyncClient, organisation_id: Any, **parameters: float) -> Any:
    answer = await operator.post(
        "/physical-assets",
        json={
            "name": "Hall 3",
            "organisationID": str(organisation_id),
            "deliveryZone": "TenneT",
            "parameters": {
                "ratedChargePower": 1000,
                "ratedDischargePower": 1000,
                "energyCapacity": 2000,
                "chargeEfficiency": 0.9,
                "dischargeEfficiency": 0.9,
                **parameters,
            },
        },
    )
    assert answer.status_code == 201, answer.text
    return answer.json()


def new_asset(physical: list[dict[str, Any]], **changes: Any) -> Any:
    start = tomorrow()
    return {
        "name": "Loom 1",
        "start": wire(start),
        "end": wire(start + timedelta(days=2)),
        "deliveryZone": "TenneT",
        "ratedChargePower": 1000,
        "ratedDischargePower": 1000,
        "energyCapacity": 2000,
        "chargeEfficiency": 0.9,
        "dischargeEfficiency": 0.9,
        "backing": [{"physicalAssetID": asset["id"], "share": 1 / len(physical)} for asset in physical],
        **changes,
    }


MakeBattery = Callable[..., Awaitable[Battery]]


@pytest.fixture
def make_battery(app: Application, operator: PersonClient, new_organisation: Any) -> MakeBattery:
    """`await make_battery(energyCapacity=500)`: a two-day asset from tomorrow on, backed by a battery of its size."""

    async def make(*, parameters: dict[str, float] | None = None, **changes: Any) -> Battery:
        organisation = await new_organisation()
        physical = [await register(operator, organisation.id, **(ASYMMETRIC | (parameters or {})))]
        url = f"/organisations/{organisation.id}/virtual-assets"
        answer = await operator.post(url, json=new_asset(physical, **(ASYMMETRIC | changes)))
        assert answer.status_code == 201, answer.text
        return Battery(organisation, organisation.trader, answer.json(), physical, app)

    return make
