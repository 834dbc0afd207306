"""DRIFT and RESERVE_SHORTFALL on statements: the worked examples of the documentation, and zero over all parties."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.delivery.conftest import LOSSES, Yard, find_afternoon_before, yard_of
from tests.people import OrganisationUnderTest
from tests.virtual_assets.conftest import QUARTER, register, wire

from gridloom.kernel.market_time import MARKET_ZONE, block_window, market_day_of, market_day_window, period_count

DOCS = Path(__file__).parents[2] / "docs" / "statements.md"


@pytest.fixture
async def yard(fresh_app: Any) -> AsyncIterator[Yard]:
    async with yard_of(await fresh_app(find_afternoon_before())) as made:
        yield made


def read_section(title: str) -> str:
    text = DOCS.read_text(encoding="utf-8")
    assert f"## {title}\n" in text
    return text.split(f"## {title}\n")[1].split("\n## ")[0]


async def statement(client: Any, path: str, start: datetime, end: datetime, **more: str) -> Any:
    window = {"start": wire(start), "end": wire(end), "resolution": "daily", **more}
    answer = await client.get(f"/revenue-reporting/{path}/statement", params=window)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def amounts(client: Any, path: str, line: str, start: datetime, end: datetime, **more: str) -> dict[str, float]:
    """By counterparty, the amounts of a line."""
    found: dict[str, float] = defaultdict(float)
    for one in (await statement(client, path, start, end, **more))["lines"]:
        if one["line"] == line:
            found[one["counterparty"]] += float(one["amount"])
    return {party: round(amount, 2) for party, amount in found.items()}


async def send(answer: Any) -> Any:
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


class TestDrift:
    """A battery of 4 MW and 8 MWh with 90 % each way stores 800 kWh more than its shares."""

    async def test_is_sold_as_the_documentation_computes_it(self, yard: Yard) -> None:
        rated = {"ratedChargePower": 4000, "ratedDischargePower": 4000, "energyCapacity": 8000}
        battery = await yard.battery(**rated, chargeEfficiency=0.9, dischargeEfficiency=0.9)
        await yard.virtual(battery, end=wire(yard.start + timedelta(days=4)))
        await yard.advance(yard.start + QUARTER)
        times = [wire(yard.start), wire(yard.start + QUARTER)]
        body = {
            "active_power": {"time": times, "value": [0.0, 0.0]},
            "state_of_charge": {"time": times, "value": [60.0, 60.0]},
        }
        await send(await yard.owner.admin.post(f"/monitoring/{battery['id']}/datapoints", json=body))
        today = market_day_of(yard.start)
        tomorrow = today + timedelta(days=1)
        window = market_day_window(tomorrow)
        await yard.advance(datetime.combine(today, time(12, 20), MARKET_ZONE))
        await self._publish(yard, window.start, period_count(tomorrow))
        await yard.advance(window.end + timedelta(hours=1))
        path = f"physical-assets/{battery['id']}"
        earned = await amounts(yard.owner.admin, path, "DRIFT", window.start, window.end)
        assert earned == {"MARKET": 57.6}, "800 kWh × 0.9 = 0.72 MWh, × 80 EUR"
        trading = await amounts(yard.owner.admin, path, "TRADING", window.start, window.end)
        imbalance = await amounts(yard.owner.admin, path, "IMBALANCE", window.start, window.end)
        assert (trading, imbalance) == ({}, {}), "what was traded is delivered, and on one line only"
        report = await send(
            await yard.owner.admin.get(
                f"/revenue-reporting/{path}/data-points",
                params={
                    "start": wire(window.start),
                    "end": wire(window.end),
                    "resolution": "daily",
                    "datapoints": "revenue_wholesale",
                },
            )
        )
        assert report["data"]["revenue_wholesale"][0]["value"] == pytest.approx(57.6, abs=0.005)
        section = read_section("Drift")
        assert all(figure in section for figure in ("800 kWh", "0.72 MWh", "57.60 EUR"))

    async def _publish(self, yard: Yard, start: datetime, count: int) -> None:
        for series, price in (("DAY_AHEAD_DE_LU", 80), ("REBAP_DE", 130)):
            rows = [
                {
                    "series": series,
                    "start": wire(start + place * QUARTER),
                    "end": wire(start + (place + 1) * QUARTER),
                    "price": price,
                }
                for place in range(count)
            ]
            await send(await yard.operator.post("/reference-prices", json=rows))


class Shortfall:
    """A virtual battery of 2 MW, half on each of two owners' batteries of 1 MW, sells 0.6 MW of FCR at 20 EUR/MW/h;
    the first battery fails for an hour of the block."""

    def __init__(self, yard: Yard, other: OrganisationUnderTest) -> None:
        self.yard, self.owners = yard, (yard.owner, other)

    async def make(self) -> Shortfall:
        yard = self.yard
        self.batteries = [await register(yard.operator, owner.id, **LOSSES) for owner in self.owners]
        sizes = {"ratedChargePower": 2000, "ratedDischargePower": 2000, "energyCapacity": 4000}
        self.virtual = await yard.virtual(*self.batteries, **sizes)
        self.block = block_window(market_day_of(yard.start), 8, 12)
        span = {"start": wire(self.block.start), "end": wire(self.block.end), "market": "FCR"}
        body = {**span, "ratedChargePower": 600, "ratedDischargePower": 600}
        await send(await yard.trader.trader.post(f"{yard.url(self.virtual)}/blocks", json=body))
        await self.award(0.6)
        return self

    async def award(self, capacity_mw: float) -> None:
        row = {
            "assetID": self.virtual["id"],
            "deliveryDay": market_day_of(self.yard.start).isoformat(),
            "product": "NEGPOS_08_12",
            "capacity": capacity_mw,
            "settlementPrice": 20,
        }
        await send(await self.yard.operator.post("/settlements/fcr", json=[row]))

    async def fail(self) -> None:
        body = {
            "description": "It trips",
            "type": "OUTAGE",
            "start": wire(self.block.start),
            "end": wire(self.block.start + timedelta(hours=1)),
            "volume": {"energyCapacity": 0, "powerCapacity": {"charge": 1000, "discharge": 1000}},
        }
        url = f"/physical-assets/{self.batteries[0]['id']}/unavailability"
        await send(await self.yard.owner.engineer.post(url, json=body))

    async def read(self) -> dict[str, dict[str, float]]:
        """By party, what it is paid and by which."""
        yard = self.yard
        window = market_day_window(market_day_of(yard.start))
        readers = {"holder": (yard.trader.admin, f"virtual-assets/{self.virtual['id']}")}
        for place, (owner, battery) in enumerate(zip(self.owners, self.batteries, strict=True)):
            readers[f"owner {place}"] = (owner.admin, f"physical-assets/{battery['id']}")
        return {
            name: await amounts(client, path, "RESERVE_SHORTFALL", window.start, window.end)
            for name, (client, path) in readers.items()
        }


@pytest.fixture
async def shortfall(yard: Yard) -> Shortfall:
    yard.begin_later()
    return Shortfall(yard, await yard.people.new_organisation())


class TestReserveShortfall:
    async def test_is_the_holders_alone_where_it_was_announced(self, shortfall: Shortfall) -> None:
        await shortfall.make()
        await shortfall.fail()  # two days before
        await shortfall.yard.advance(shortfall.block.end + timedelta(hours=1))
        assert await shortfall.read() == {"holder": {"GRID_OPERATOR": -6.0}, "owner 0": {}, "owner 1": {}}

    async def test_is_none_where_a_later_settlement_counts_less_already(self, shortfall: Shortfall) -> None:
        await shortfall.make()
        yard = shortfall.yard
        await yard.gate_of(0)
        await shortfall.fail()
        await yard.advance(shortfall.block.start + timedelta(hours=2))
        await shortfall.award(0.3)
        await yard.advance(shortfall.block.end + timedelta(hours=1))
        assert (await shortfall.read())["holder"]["GRID_OPERATOR"] == -6.0, "within the block nothing is settled yet"
        await shortfall.award(0.6)
        before = wire(await yard.now())
        await yard.advance(shortfall.block.end + timedelta(hours=2))
        await shortfall.award(0.3)
        assert await shortfall.read() == {"holder": {}, "owner 0": {}, "owner 1": {}}
        window = market_day_window(market_day_of(yard.start))
        path = f"virtual-assets/{shortfall.virtual['id']}"
        held = await amounts(
            yard.trader.admin, path, "RESERVE_SHORTFALL", window.start, window.end, **{"as-of": before}
        )
        assert held["GRID_OPERATOR"] == -6.0, "as it was known before"
