"""Writers of all rooms at once: whatever they take together, no battery ever gives more than it has."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from tests.capacity.test_book import periods_of, reckoned
from tests.clock_changes import next_day_of
from tests.conftest import migrated_database, running
from tests.people import OrganisationUnderTest, People

from gridloom.capacity.availability import CHARGE, DISCHARGE, ENERGY
from gridloom.capacity.store import load_battery_capacity
from gridloom.kernel.market_time import block_window, market_day_window
from gridloom.platform.http.application import Application
from gridloom.settings import Settings

SPRING = next_day_of(23, in_days=4)
"""The market day that loses an hour: 92 quarter-hours."""
RATED = {"ratedChargePower": 10_000, "ratedDischargePower": 10_000, "energyCapacity": 20_000}
WHOLE = {CHARGE: 10_000, DISCHARGE: 10_000, ENERGY: 20_000}
LOSSES = {"chargeEfficiency": 0.9, "dischargeEfficiency": 0.9}
FINE = {200, 201, 204, 404, 409, 422, 503}
"""503 is a service that has no connection left for so many at once, and says so."""
QUARTER = timedelta(minutes=15)


def wire(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


@dataclass
class Crowd:
    edge: Application
    operator: httpx2.AsyncClient
    owner: OrganisationUnderTest
    trader: OrganisationUnderTest
    batteries: list[str]
    dice: random.Random
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    made: dict[str, list[str]] = field(default_factory=lambda: {"auction": [], "asset": [], "bid": []})

    def count(self, kind: str, answer: httpx2.Response) -> httpx2.Response:
        assert answer.status_code in FINE, answer.text
        self.statuses[kind, answer.status_code] += 1
        return answer

    def terms(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        window = market_day_window(SPRING)
        start = window.start + self.dice.randrange(0, 80) * QUARTER
        power = 1000 * self.dice.randrange(1, 5)
        backed = self.dice.sample(self.batteries, self.dice.choice([1, 1, 2]))
        item = {
            "start": wire(start),
            "end": wire(start + self.dice.randrange(4, 60) * QUARTER),
            "deliveryZone": "TenneT",
            "ratedChargePower": power,
            "ratedDischargePower": power,
            "energyCapacity": 1.5 * power,
            **LOSSES,
        }
        return item, [{"physicalAssetID": battery, "share": 1 / len(backed)} for battery in backed]

    async def allocate(self) -> None:
        item, backing = self.terms()
        body = {"name": "Loom", "backing": backing, **item}
        answer = await self.operator.post(f"/organisations/{self.trader.id}/virtual-assets", json=body)
        if self.count("allocate", answer).status_code == 201:
            self.made["asset"].append(f"/organisations/{self.trader.id}/virtual-assets/{answer.json()['id']}")

    async def auction(self) -> None:
        item, backing = self.terms()
        now = datetime.now(UTC)
        times = {"start": wire(now + timedelta(days=1)), "end": wire(now + timedelta(days=2))}
        body = {**times, "item": item, "backing": backing, "participants": [str(self.trader.id)]}
        answer = await self.operator.post("/auctions", json=body)
        if self.count("auction", answer).status_code == 201:
            self.made["auction"].append(f"/auctions/{answer.json()['id']}")

    async def bid(self) -> None:
        hour = self.dice.randrange(0, 24, 4)
        product, prices = self.dice.choice(
            [
                (f"NEGPOS_{hour:02}_{hour + 4:02}", {"capacityPrice": 1}),
                (f"POS_{hour:02}_{hour + 4:02}", {"capacityPrice": 1, "energyPrice": 1}),
                (f"NEG_{hour:02}_{hour + 4:02}", {"capacityPrice": 1, "energyPrice": 1}),
                (f"POS_{self.dice.randrange(1, 93):03}", {"capacityPrice": 0, "energyPrice": 1}),
            ]
        )
        steps = [
            {**prices, "offeredCapacity": 1000 * self.dice.randrange(1, 5)} for _ in range(self.dice.choice([1, 2]))
        ]
        entry = {"deliveryDay": SPRING.isoformat(), "product": product, "bids": steps}
        base = f"/physical-assets/{self.dice.choice(self.batteries)}/ancillary"
        answer = self.count("bid", await self.owner.trader.post(f"{base}/bids", json=[entry]))
        if answer.status_code != 201:
            return
        bids = answer.json()[0]["bids"]
        self.made["bid"] += [f"{base}/bids/{bid['id']}" for bid in bids]
        if self.dice.random() < 0.3:
            accepted = self.dice.random() < 0.7
            results = [
                {"bidID": bid["id"], "accepted": accepted, "acceptedCapacity": 1000 if accepted else 0} for bid in bids
            ]
            told = [{"deliveryDay": SPRING.isoformat(), "product": product, "results": results}]
            self.count("result", await self.owner.trader.post(f"{base}/results", json=told))

    async def schedule(self) -> None:
        first = market_day_window(SPRING).start + self.dice.randrange(0, 80) * QUARTER
        powers = [1000.0 * self.dice.randrange(-6, 7) for _ in range(self.dice.randrange(1, 12))]
        points = [{"time": wire(first + place * QUARTER), "power": power} for place, power in enumerate(powers)]
        battery = self.dice.choice(self.batteries)
        path = f"/physical-assets/{battery}/schedule"
        self.count("schedule", await self.owner.trader.put(path, json={"schedule": points}))

    async def give_back(self) -> None:
        kind = self.dice.choice(["auction", "asset", "bid"])
        if self.made[kind]:
            await self.free(kind, self.dice.choice(self.made[kind]))

    async def free(self, kind: str, path: str) -> None:
        client = self.owner.trader if kind == "bid" else self.operator
        self.count(f"free {kind}", await client.delete(path))

    async def write(self) -> None:
        for _ in range(3):
            act = self.dice.choice([self.allocate, self.auction, self.bid, self.bid, self.schedule, self.give_back])
            await act()

    async def commitments(self, battery: str) -> list[Any]:
        window = market_day_window(SPRING)
        answer = await self.owner.viewer.get(
            f"/physical-assets/{battery}/commitments", params={"start": wire(window.start), "end": wire(window.end)}
        )
        assert answer.status_code == 200, answer.text
        points: list[Any] = answer.json()["commitments"]
        return points

    async def violations(self) -> list[str]:
        """Reckoned from what stands, quarter-hour by quarter-hour and apart from the book's own arithmetic."""
        first, end = periods_of(SPRING)
        found = []
        for battery in self.batteries:
            key = await self.edge.pool.fetchval("select key from asset where id = $1", battery)
            capacity = (await load_battery_capacity(self.edge.pool, [key], first, end))[key]
            points = await self.commitments(battery)
            assert len(points) == end - first == 92
            for period, point in zip(range(first, end), points, strict=True):
                lines = reckoned(capacity, period)
                for column, name in ((CHARGE, "charge"), (DISCHARGE, "discharge"), (ENERGY, "energy")):
                    taken = sum(amounts[column] for amounts in lines.values())
                    if taken > WHOLE[column] + 1e-3 or point[name]["missing"]:
                        found.append(f"{battery} {period} {name}: {taken}")
                    assert point[name]["free"] == pytest.approx(max(0.0, WHOLE[column] - taken), abs=1e-3)
        return found


@pytest.fixture
async def crowd(settings: Settings) -> AsyncIterator[Crowd]:
    async with migrated_database() as url:
        asked = replace(settings, database_url=url, gate_opening_fcr_days=3000, gate_opening_afrr_days=3000)
        async with running(asked) as edge, People(edge) as people:
            operator = (await people.operator()).client
            owner, trader = await people.new_organisation("Owner"), await people.new_organisation("Trader")
            batteries = []
            for number in range(10):
                body = {
                    "name": f"Battery {number}",
                    "organisationID": str(owner.id),
                    "deliveryZone": "TenneT",
                    "parameters": {**RATED, **LOSSES},
                }
                made = await operator.post("/physical-assets", json=body)
                assert made.status_code == 201, made.text
                batteries.append(made.json()["id"])
            yield Crowd(edge, operator, owner, trader, batteries, random.Random(14))


class TestRacingWriters:
    @pytest.mark.slow
    async def test_of_all_rooms_never_take_more_than_there_is_and_give_back_all_they_took(self, crowd: Crowd) -> None:
        """A hundred writers on ten batteries, on a day that has 92 quarter-hours."""
        await asyncio.gather(*(crowd.write() for _ in range(100)))
        kinds = {kind for kind, status in crowd.statuses if status in (200, 201)}
        assert {"allocate", "auction", "bid", "schedule"} <= kinds
        assert sum(count for (_, status), count in crowd.statuses.items() if status == 409) > 20
        assert await crowd.violations() == []
        for kind, paths in crowd.made.items():
            await asyncio.gather(*(crowd.free(kind, path) for path in paths))
        window = market_day_window(SPRING)
        idle = [{"time": wire(window.start + place * QUARTER), "power": 0} for place in range(92)]
        for battery in crowd.batteries:
            put = await crowd.owner.trader.put(f"/physical-assets/{battery}/schedule", json={"schedule": idle})
            assert put.status_code == 200, put.text
        await self.check_only_accepted_capacity_is_held(crowd)

    async def check_only_accepted_capacity_is_held(self, crowd: Crowd) -> None:
        held = await crowd.edge.pool.fetch("select asset_key, kind, is_firm from capacity_holding")
        assert {(row["kind"], row["is_firm"]) for row in held} <= {
            ("FCR", True),
            ("AFRR_CAPACITY", True),
            ("AFRR_ENERGY", True),
        }
        touched = {row["asset_key"] for row in held}
        for battery in crowd.batteries:
            if await crowd.edge.pool.fetchval("select key from asset where id = $1", battery) in touched:
                continue
            for point in await crowd.commitments(battery):
                assert [point[name]["free"] for name in ("charge", "discharge", "energy")] == list(WHOLE.values())


def test_the_block_that_loses_an_hour_is_one_of_the_products() -> None:
    assert block_window(SPRING, 0, 4).duration == timedelta(hours=3)
