"""Benchmarks over HTTP: days against the best day-ahead schedule, and against other assets of the platform."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.markets.conftest import EVEN, open_day
from tests.people import OrganisationUnderTest, People
from tests.virtual_assets.conftest import QUARTER, new_asset, register, wire

from gridloom.kernel.market_time import market_day_window, period_count

if TYPE_CHECKING:
    import httpx2

    from gridloom.platform.http.application import Application

DAY = open_day()
NIGHT, EVENING, REST = 10, 110, 50
"""EUR/MWh: of the first four hours, of two in the evening, and of all others."""


@dataclass
class Place:
    """A service with prices on DAY and none on the day after."""

    people: People
    operator: httpx2.AsyncClient
    owner: OrganisationUnderTest

    async def battery(self, owner: OrganisationUnderTest, earned: float = 0, **parameters: float) -> str:
        """1 MW and 2 MWh without losses, with a trade that earned so much on DAY."""
        asset = await register(self.operator, owner.id, **{**EVEN, **parameters})
        if earned:
            await self.trade(asset["id"], earned)
        return str(asset["id"])

    async def trade(self, asset_id: str, earned: float) -> None:
        row = {
            "tradeID": "t",
            "assetID": asset_id,
            "time": wire(market_day_window(DAY).start),
            "side": "SELL",
            "volume": 0.1,
            "price": earned * 10,
            "market": "DAY_AHEAD",
        }
        await sent(self.operator.post("/settlements/wholesale-trades", json=[row]))

    async def days(self, path: str, count: int = 1, client: httpx2.AsyncClient | None = None) -> Any:
        return (await sent(self.ask(path, count, client))).json()

    async def ask(self, path: str, count: int = 1, client: httpx2.AsyncClient | None = None) -> httpx2.Response:
        start, end = market_day_window(DAY).start, market_day_window(DAY + timedelta(days=count - 1)).end
        params = {"start": wire(start), "end": wire(end)}
        return await (client or self.owner.trader).get(f"/revenue-reporting/{path}/benchmark", params=params)


async def sent(request: Awaitable[httpx2.Response]) -> httpx2.Response:
    answer = await request
    assert answer.status_code in {200, 201}, answer.text
    return answer


@pytest.fixture
async def place(fresh_app: Callable[[], Awaitable[Application]]) -> AsyncIterator[Place]:
    async with People(await fresh_app()) as people:
        operator = (await people.operator()).client
        await sent(operator.post("/reference-prices", json=list_prices(DAY)))
        yield Place(people, operator, await people.new_organisation())


def list_prices(day: date) -> list[dict[str, Any]]:
    start, count = market_day_window(day).start, period_count(day)
    prices = [NIGHT] * 16 + [REST] * (count - 16)
    prices[72:80] = [EVENING] * 8
    return [
        {
            "series": "DAY_AHEAD_DE_LU",
            "start": wire(start + index * QUARTER),
            "end": wire(start + (index + 1) * QUARTER),
            "price": price,
        }
        for index, price in enumerate(prices)
    ]


class TestForesight:
    @pytest.mark.parametrize(
        ("parameters", "lost_kw", "foresight"),
        [
            # Bought 1 MWh at night, sold 2 in the evening, bought 1 back after it.
            ({}, 0, 2 * EVENING - NIGHT - REST),
            # A half cycle discharges 1 MWh.
            ({"dailyCycleLimit": 0.5}, 0, EVENING - NIGHT),
            ({"annualCycleLimit": 182.5}, 0, EVENING - NIGHT),
            # Half of its power sells 1 MWh in the two hours.
            ({}, 500, EVENING - NIGHT),
            ({}, 1000, 0),
            ({"chargeEfficiency": 0.8}, 0, 2 * EVENING - (NIGHT + REST) / 0.8),
        ],
    )
    async def test_is_the_best_day_ahead_schedule_of_what_is_available(
        self, place: Place, parameters: dict[str, float], lost_kw: float, foresight: float
    ) -> None:
        battery = await place.battery(place.owner, 80, **parameters)
        if lost_kw:
            window = market_day_window(DAY)
            outage = {
                "description": "",
                "type": "OUTAGE",
                "start": wire(window.start),
                "end": wire(window.end),
                "volume": {"powerCapacity": {"charge": lost_kw, "discharge": lost_kw}, "energyCapacity": 0},
            }
            await sent(place.owner.admin.post(f"/physical-assets/{battery}/unavailability", json=outage))
        [day] = await place.days(f"physical-assets/{battery}")
        assert day == {
            "day": DAY.isoformat(),
            "earned": 80,
            "perMW": 80,
            "foresight": pytest.approx(foresight, abs=0.01),
            "share": pytest.approx(80 / foresight, abs=1e-4) if foresight else None,
        }

    async def test_adds_up_over_groups_and_is_null_without_prices(self, place: Place) -> None:
        batteries = [await place.battery(place.owner, earned) for earned in (60, 20)]
        fleet = {"name": "F", "organisationID": str(place.owner.id), "physicalAssetIDs": batteries}
        fleet_id = (await sent(place.owner.admin.post("/fleets", json=fleet))).json()["id"]
        organisation = f"/organisations/{place.owner.id}"
        portfolio = await sent(place.owner.admin.post(f"{organisation}/portfolios", json={"name": "P"}))
        portfolio_id = portfolio.json()["id"]
        window = market_day_window(DAY)
        body = new_asset(
            [{"id": batteries[0]}], **EVEN, start=wire(window.start), end=wire(window.end), portfolioID=portfolio_id
        )
        virtual_id = (await sent(place.operator.post(f"{organisation}/virtual-assets", json=body))).json()["id"]
        best = 2 * EVENING - NIGHT - REST
        for path, earned, per_mw, foresight in (
            (f"fleets/{fleet_id}", 80, 40, 2 * best),
            (f"portfolios/{portfolio_id}", 0, 0, best),
            (f"virtual-assets/{virtual_id}", 0, 0, best),
        ):
            priced, unpriced = await place.days(path, 2)
            assert (priced["earned"], priced["perMW"], priced["foresight"]) == (earned, per_mw, foresight), path
            assert (unpriced["foresight"], unpriced["share"]) == (None, None), path

    async def test_is_for_those_who_may_read_the_revenue_and_for_a_year_at_most(self, place: Place) -> None:
        stranger = await place.people.new_organisation()
        path = f"physical-assets/{await place.battery(place.owner)}"
        assert (await place.ask(path, client=stranger.trader)).status_code == 403
        too_long = await place.ask(path, 367)
        assert too_long.status_code == 422
        assert too_long.json()["errors"][0]["pointer"] == "query:end"


class TestPeers:
    @pytest.mark.parametrize(
        ("counts", "peers"),
        [
            ((2, 3, 0), None),
            ((2, 1, 1), None),
            # Of 10 to 50, and of a battery of the owner's that earned nothing.
            ((2, 2, 1), {"median": 25, "quartiles": {"lower": 12.5, "upper": 37.5}}),
        ],
    )
    async def test_are_shown_from_five_assets_of_three_other_organisations_on(
        self, place: Place, counts: tuple[int, ...], peers: dict[str, Any] | None
    ) -> None:
        path = f"physical-assets/{await place.battery(place.owner, 80)}"
        await place.battery(place.owner)
        earned = 0
        for count in counts:
            other = await place.people.new_organisation()
            await place.battery(other, 990, energyCapacity=4000)  # of another duration class
            for _ in range(count):
                earned += 10
                await place.battery(other, earned)
        [day] = await place.days(path)
        assert day.get("peers") == peers

    @pytest.mark.parametrize(("permission", "are_shown"), [("Read:revenue", False), ("Read:monitoring", True)])
    async def test_of_whom_the_reader_knows_by_a_grant_hide_nobody(
        self, place: Place, permission: str, are_shown: bool
    ) -> None:
        path = f"physical-assets/{await place.battery(place.owner, 80)}"
        for count in (2, 2, 1):
            other = await place.people.new_organisation()
            batteries = [await place.battery(other, 10) for _ in range(count)]
        [day] = await place.days(path)
        assert "peers" in day
        grant = f"/physical-assets/{batteries[0]}/grants/{place.owner.id}"
        await sent(other.admin.put(grant, json={"permissions": [permission]}))
        [day] = await place.days(path)
        assert ("peers" in day) is are_shown
