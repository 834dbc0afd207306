"""What is not there at a gate is not paid for, whatever is said about it afterwards."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.auctions.conftest import Market, bid, market, new_market, wire
from tests.people import OrganisationUnderTest

from gridloom.revenue.statement.availability import split_owed_eur
from gridloom.virtual_assets.backing.shortfall import Shortfalls, shortfall_intervals

__all__ = ["market", "new_market"]

QUARTER = timedelta(minutes=15)


class Scene:
    """A virtual battery of 4 MW and 8 MWh, won for 960 EUR over 192 quarter-hours (5 EUR each), on two halves."""

    def __init__(self, market: Market) -> None:
        self.market, self.winner = market, market.traders[0]

    async def make(self, battery_kw: float = 2000) -> Scene:
        market = self.market
        self.batteries = [await market.battery(battery_kw), await market.battery(battery_kw)]
        halves = [{"physicalAssetID": battery, "share": 0.5} for battery in self.batteries]
        terms = await market.terms(backing=halves)
        self.start, self.end = (datetime.fromisoformat(terms["item"][edge]) for edge in ("start", "end"))
        auction = (await market.operator.post("/auctions", json=terms)).json()["id"]
        await bid(self.winner, auction, "960.00")
        await market.advance("PT1H")
        self.virtual = (await self.winner.trader.get(f"/auctions/{auction}")).json()["virtualAssetID"]
        return self

    async def fast_forward_to(self, moment: datetime) -> None:
        answer = await self.market.operator.put("/sandbox/clock", json={"now": wire(moment)})
        assert answer.status_code == 200, answer.text

    async def lose(
        self, battery: int, first: int, end: int, power: float = 0.0, energy: float = 0.0, charge: float | None = None
    ) -> str:
        lost = {"charge": power if charge is None else charge, "discharge": power}
        answer = await self.market.owner.admin.post(
            f"/physical-assets/{self.batteries[battery]}/unavailability",
            json={
                "description": "",
                "type": "OUTAGE",
                "start": wire(self.start + first * QUARTER),
                "end": wire(self.start + end * QUARTER),
                "volume": {"energyCapacity": energy, "powerCapacity": lost},
            },
        )
        assert answer.status_code == 201, answer.text
        return f"/physical-assets/{self.batteries[battery]}/unavailability/{answer.json()['id']}"

    async def statement(self, resolution: str = "daily", **more: str) -> dict[str, list[tuple[str, float]]]:
        """By reader, the AVAILABILITY lines: their times and amounts."""
        window = {"start": wire(self.start), "end": wire(self.end), "resolution": resolution, **more}
        readers = {"holder": (self.winner.viewer, f"virtual-assets/{self.virtual}")}
        for place, battery in enumerate(self.batteries):
            readers[f"battery {place}"] = (self.market.owner.viewer, f"physical-assets/{battery}")
        found = {}
        for name, (client, path) in readers.items():
            answer = await client.get(f"/revenue-reporting/{path}/statement", params=window)
            assert answer.status_code == 200, answer.text
            lines = [line for line in answer.json()["lines"] if line["line"] == "AVAILABILITY"]
            found[name] = [(line["time"], line["amount"]) for line in lines]
        return found

    async def total(self, **more: str) -> dict[str, float]:
        lines = await self.statement(**more)
        return {name: round(sum(amount for _, amount in found), 2) for name, found in lines.items()}


@pytest.fixture
async def scene(market: Market) -> Scene:
    return await Scene(market).make()


def paid(holder: float, *owners: float) -> dict[str, float]:
    return {"holder": holder, "battery 0": -owners[0], "battery 1": -owners[1]}


async def allocate_and_toll(
    market: Market, holder: OrganisationUnderTest, battery: str, terms: dict[str, Any], price: float = 87_600
) -> str:
    """A virtual asset outside an auction, for 10 EUR/MW/h."""
    operator_id = (await market.operator.get("/auth/me")).json()["organisationID"]
    await market.owner.admin.put(
        f"/physical-assets/{battery}/grants/{operator_id}", json={"permissions": ["Update:schedules"]}
    )
    made = await market.operator.post(f"/organisations/{holder.id}/virtual-assets", json=terms)
    assert made.status_code == 201, made.text
    asset: str = made.json()["id"]
    window = {"start": terms["start"], "end": terms["end"]}
    row = {"contractID": f"T-{asset}", "assetID": asset, **window, "annualPrice": price}
    answer = await market.operator.post("/settlements/tolling-contracts", json=[row])
    assert answer.status_code == 200, answer.text
    return asset


class TestTheLine:
    async def test_gives_back_the_missing_part_of_what_was_paid(self, scene: Scene) -> None:
        await scene.lose(0, 0, 4, power=1000)  # a quarter of the power for an hour: 4 × 5 EUR × 0.25
        assert await scene.total() == paid(0, 0, 0), "before its gate nothing is due"
        await scene.fast_forward_to(scene.start + 2 * QUARTER)
        # At that moment the gates of three quarter-hours have closed.
        assert await scene.total() == paid(3.75, 3.75, 0)
        await scene.fast_forward_to(scene.start + 8 * QUARTER)
        assert await scene.total() == paid(5, 5, 0)
        by_quarter = (await scene.statement("15-minute"))["holder"]
        assert by_quarter == [(wire(scene.start + place * QUARTER), 1.25) for place in range(4)]

    async def test_is_what_stood_at_the_gate_whatever_comes_after(self, scene: Scene) -> None:
        outage = await scene.lose(0, 0, 8, power=2000, energy=4000)
        await scene.fast_forward_to(scene.start + 4 * QUARTER)
        moment = wire(scene.start + 4 * QUARTER)
        before = await scene.total()
        assert before == paid(12.5, 12.5, 0), "five gates have closed"
        engineer = scene.market.owner.engineer
        assert (await engineer.change(outage, json={"end": moment})).status_code == 200
        assert (await engineer.delete(outage)).status_code == 204
        await scene.lose(1, 0, 5, power=2000, energy=4000)  # told too late
        await scene.fast_forward_to(scene.start + 12 * QUARTER)
        assert await scene.total() == before
        assert await scene.total(**{"as-of": moment}) == before

    async def test_is_not_changed_by_an_award_that_becomes_known_later(self, market: Market) -> None:
        """An accepted bid bears losses beside what is promised, but not before it is accepted."""
        scene = await Scene(market).make(battery_kw=4000)
        path = f"/physical-assets/{scene.batteries[0]}/ancillary"
        # The block from 4:00 to 8:00 in Berlin lies within the first eight hours, in summer and in winter.
        block = {"deliveryDay": scene.start.date().isoformat(), "product": "NEGPOS_04_08"}
        offered = [{**block, "bids": [{"capacityPrice": 10, "offeredCapacity": 2000}]}]
        placed = await market.owner.trader.post(f"{path}/bids", json=offered)
        assert placed.status_code == 201, placed.text
        await scene.lose(0, 0, 32, power=3000)  # 1000 of the 2000 kW that are promised
        await scene.fast_forward_to(scene.start + 40 * QUARTER)
        before = await scene.total()
        assert before == paid(40, 40, 0), "a quarter of the power for 32 quarter-hours"
        moment = wire(await market.now())
        [bids] = placed.json()
        result = {"bidID": bids["bids"][0]["id"], "accepted": True, "acceptedCapacity": 2000, "settlementPrice": 10}
        recorded = await market.owner.admin.post(f"{path}/results", json=[{**block, "results": [result]}])
        assert recorded.status_code == 201, recorded.text
        assert await scene.total() == before
        assert await scene.total(**{"as-of": moment}) == before

    @pytest.mark.parametrize("is_moved", [False, True], ids=["cancelled", "on another battery"])
    async def test_is_not_changed_by_capacity_that_is_released_later(self, market: Market, is_moved: bool) -> None:
        """An auction bears losses as well, as long as it stands; gates of the virtual asset close before it ends."""
        battery, holder = await market.battery(4000), market.traders[0]
        other = await market.terms(battery)
        half = {"ratedChargePower": 2000, "ratedDischargePower": 2000, "energyCapacity": 4000}
        other["item"] |= half
        start = datetime.fromisoformat(other["item"]["start"])
        other |= {"start": wire(start - timedelta(hours=8)), "end": wire(start - timedelta(hours=6))}
        terms = {**other["item"], "name": "Long", "backing": other["backing"], "dispatchGateClosureSeconds": 86_400}
        asset = await allocate_and_toll(market, holder, battery, terms)
        auction = await market.operator.post("/auctions", json=other)
        assert auction.status_code == 201, auction.text
        await market.lose(battery, auction.json()["id"], 2000, energy_kwh=0)

        async def total() -> float:
            window = {"start": terms["start"], "end": terms["end"], "resolution": "daily"}
            answer = await holder.viewer.get(f"/revenue-reporting/virtual-assets/{asset}/statement", params=window)
            assert answer.status_code == 200, answer.text
            return sum(float(line["amount"]) for line in answer.json()["lines"] if line["line"] == "AVAILABILITY")

        moved = await market.operator.put("/sandbox/clock", json={"now": wire(start - timedelta(hours=12))})
        assert moved.status_code == 200, moved.text
        before = await total()
        assert before == 49 * 2.5, "each keeps half of its 2000 kW, which cost 5 EUR in each of 49 quarter-hours"
        path = f"/auctions/{auction.json()['id']}"
        if is_moved:
            elsewhere = {"backing": [{"physicalAssetID": await market.battery(4000), "share": 1}]}
            assert (await market.operator.change(path, json=elsewhere)).status_code == 200
        else:
            assert (await market.operator.delete(path)).status_code == 204
        assert await total() == before

    async def test_counts_tolls_too(self, scene: Scene) -> None:
        row = {
            "contractID": "T",
            "assetID": scene.virtual,
            "start": wire(scene.start),
            "end": wire(scene.end),
            "annualPrice": 87_600,
        }
        answer = await scene.market.operator.post("/settlements/tolling-contracts", json=[row])
        assert answer.status_code == 200, answer.text
        await scene.lose(0, 0, 4, power=2000, energy=4000)
        await scene.fast_forward_to(scene.start + 8 * QUARTER)
        # 10 EUR/MW/h × 4 MW are 40 EUR an hour beside the 20 of the auction; half of it is missing.
        total = await scene.total()
        assert total == paid(30, 30, 0)


PARTS = st.lists(st.sampled_from([0.0, 0.25, 0.5]), min_size=1, max_size=20)


class TestStretches:
    @given(PARTS, PARTS)
    def test_hold_what_was_missing_period_by_period(self, one: list[Any], two: list[Any]) -> None:
        count = min(len(one), len(two))
        by_battery = {7: np.array(one[:count]), 3: np.array(two[:count])}
        missing = by_battery[7] + by_battery[3]
        seen, batteries = np.zeros(count), {7: np.zeros(count), 3: np.zeros(count)}
        for stretch in shortfall_intervals(Shortfalls(100, missing, by_battery)):
            here = slice(stretch.first - 100, stretch.end - 100)
            seen[here] = stretch.missing_share
            for key, share in stretch.by_battery.items():
                batteries[key][here] = share
        assert seen.tolist() == missing.tolist()
        assert {key: row.tolist() for key, row in batteries.items()} == {
            key: row.tolist() for key, row in by_battery.items()
        }

    @given(PARTS, PARTS)
    def test_never_owe_more_than_was_paid(self, one: list[Any], two: list[Any]) -> None:
        count = min(len(one), len(two))
        by_battery = {7: np.array(one[:count]), 3: np.array(two[:count])}
        owed = split_owed_eur(Shortfalls(0, by_battery[7] + by_battery[3], by_battery), np.full(count, 5.0))
        total = np.array([*owed.values()]).sum(axis=0)
        assert total.tolist() == pytest.approx((5.0 * (by_battery[7] + by_battery[3])).tolist())
        assert total.max() <= 5.0 + 1e-9
