"""What the batteries behind an auction cannot deliver is shown, and is not sold; what was cancelled stays readable."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

import pytest
from tests.auctions.conftest import HOUR, Market, bid, wire
from tests.emitted import events_of


@pytest.fixture
async def market(new_market: Any) -> Market:
    made: Market = await new_market()
    return made


async def read(market: Market, auction: str, trader: int = 0) -> Any:
    answer = await market.traders[trader].trader.get(f"/auctions/{auction}")
    assert answer.status_code == 200, answer.text
    return answer.json()


class TestAvailabilityOfAnItem:
    async def test_is_what_is_left_of_the_batteries_by_share(self, market: Market) -> None:
        """Half the power and three quarters of the energy of a quarter are lost."""
        one, two = await market.battery(1000), await market.battery(3000)
        parts = [{"physicalAssetID": battery, "share": share} for battery, share in ((one, 0.25), (two, 0.75))]
        auction = await market.auction(backing=parts)
        await market.lose(one, auction, 500, 1500)
        left = {"power": 0.875, "energy": 0.8125}
        assert (await read(market, auction))["item"]["availability"] == left
        other = await market.battery(3000)
        item = (await market.terms(other))["item"]
        start = datetime.fromisoformat(item["start"]) + 24 * HOUR
        sizes = {"ratedChargePower": 2000, "ratedDischargePower": 2200, "energyCapacity": 4000}
        later = await market.auction(other, item=item | sizes | {"start": wire(start), "end": wire(start + 48 * HOUR)})
        await market.lose(other, later, 2000, 5000)  # of which 1000 kW and 2000 kWh were free
        # One that begins before the other and ends after it, and loses half its power for a quarter of the time.
        spare, ends = await market.battery(5000), datetime.fromisoformat(item["end"]) + 96 * HOUR
        longest = await market.auction(spare, item=item | {"end": wire(ends)})
        await market.lose(spare, longest, 3000, 4000, since=ends - 36 * HOUR)
        expected = {auction: left, later: {"power": 0.5, "energy": 0.25}, longest: {"power": 0.875, "energy": 0.9375}}
        for reader in (market.traders[1].trader, market.operator):
            listed = (await reader.get("/auctions")).json()
            assert {one["id"]: one["item"]["availability"] for one in listed} == expected, "each of its own"
        seen = (await market.operator.get(f"/auctions/{auction}")).json()
        assert seen["item"]["availability"] == left

    async def test_is_shown_until_what_was_won_is_delivered(self, market: Market) -> None:
        auction = await market.auction()
        assert (await bid(market.traders[0], auction, 100)).status_code == 201
        await market.advance("PT1H")
        item = (await read(market, auction))["item"]
        start, end = (datetime.fromisoformat(item[edge]) for edge in ("start", "end"))
        for instant, is_shown in ((start - HOUR, True), (start + HOUR, True), (end - HOUR, True), (end, False)):
            await market.advance(f"PT{max(1, math.ceil((instant - await market.now()).total_seconds()))}S")
            assert ("availability" in (await read(market, auction))["item"]) is is_shown, instant

    async def test_is_first_lost_where_it_is_free(self, market: Market) -> None:
        battery = await market.battery(10_000)
        auction = await market.auction(battery)
        await market.lose(battery, auction, 6000)
        assert (await read(market, auction))["item"]["availability"] == {"power": 1, "energy": 1}


class TestAnAuctionThatCannotBeDelivered:
    @pytest.mark.parametrize(
        ("minimum", "lost_kw", "is_sold"),
        [(None, 4000, False), (None, 2000, True), (None, 2001, False), (0, 4000, True), (1, 0, True), (1, 1, False)],
    )
    async def test_is_cancelled_below_its_minimum(
        self, market: Market, minimum: float | None, lost_kw: float, is_sold: bool
    ) -> None:
        battery = await market.battery(4000)
        wanted = {} if minimum is None else {"minimumAvailability": minimum}
        auction = await market.auction(battery, **wanted)
        assert (await bid(market.traders[0], auction, 100)).status_code == 201
        if lost_kw:
            await market.lose(battery, auction, lost_kw)
        await market.advance("PT1H")
        seen = await read(market, auction)
        assert seen["status"] == ("WON" if is_sold else "LOST")
        assert seen.get("cancelled", {}).get("reason") == (None if is_sold else "NOT_DELIVERABLE")
        assert (await read(market, auction, 1))["status"] == "NO_BIDS_SUBMITTED" if not is_sold else True
        taken = await market.operator.get(f"/auctions/{auction}")
        assert taken.json()["state"] == ("CLEARED" if is_sold else "CANCELLED")


class TestACancelledAuction:
    async def test_stays_readable_to_those_invited_with_their_own_bids(self, market: Market) -> None:
        auction = await market.auction()
        placed = (await bid(market.traders[0], auction, 70)).json()
        before = (await market.operator.get(f"/auctions/{auction}")).headers["etag"]
        for etag, status in (('"stale"', 412), (before, 204)):
            cancelled = await market.operator.delete(f"/auctions/{auction}", headers={"If-Match": etag})
            assert cancelled.status_code == status
        seen = await read(market, auction)
        assert (seen["status"], seen["cancelled"]["reason"]) == ("LOST", "BY_OPERATOR")
        assert (await market.operator.get(f"/auctions/{auction}")).headers["etag"] != before
        assert seen["currentBid"]["id"] == placed["id"]
        assert "availability" not in seen["item"]
        bids = (await market.traders[0].trader.get(f"/auctions/{auction}/bids")).json()
        assert [one["id"] for one in bids] == [placed["id"]]
        assert (await read(market, auction, 1))["status"] == "NO_BIDS_SUBMITTED"
        assert (await market.traders[1].trader.get(f"/auctions/{auction}/bids")).json() == []
        late = await market.traders[0].trader.delete(f"/auctions/{auction}/bids/{placed['id']}")
        assert (late.status_code, late.json()["type"]) == (409, "/docs/problems/auction-not-open"), "not even a bid"
        [listed] = (await market.traders[0].trader.get("/auctions?status=LOST")).json()
        assert listed["cancelled"] == seen["cancelled"]
        stranger = await market.people.new_organisation("Stranger")
        assert (await stranger.trader.get(f"/auctions/{auction}")).status_code == 403

    async def test_tells_those_who_hold_the_rest_what_an_outage_takes_of_it_no_more(self, market: Market) -> None:
        """Of 10 MW, 4 are promised and 4 on offer; 4 are lost, 2 of them free: a quarter of both, until one is gone."""
        battery, holder = await market.battery(10_000), market.traders[0]
        won = await market.auction(battery)
        assert (await bid(holder, won, 100)).status_code == 201
        await market.advance("PT1H")
        taken = (await market.operator.get(f"/auctions/{won}")).json()
        item = taken["item"]
        auction = await market.auction(
            battery, item=(await market.terms(battery))["item"] | {edge: item[edge] for edge in ("start", "end")}
        )
        await market.lose(battery, auction, 4000)

        async def told() -> list[Any]:
            events = await events_of(market.edge.pool, holder.id, subject=f"virtual-assets/{taken['virtualAssetID']}")
            return [one.data for one in events if one.type == "virtual-asset.availability-changed"]

        assert [one["periods"][0]["availableChargePower"] for one in await told()] == [3000]
        assert (await market.operator.delete(f"/auctions/{auction}")).status_code == 204
        *_, last = await told()
        assert len(await told()) == 2
        assert (last["start"], last["end"]) == (item["start"], item["end"])
        assert [one["availableChargePower"] for one in last["periods"]] == [4000]


class TestWhileItRuns:
    async def test_the_operator_reads_whether_there_is_a_bid_and_nothing_more(self, market: Market) -> None:
        auction = await market.auction()
        before = (await market.operator.get(f"/auctions/{auction}")).json()
        placed = (await bid(market.traders[0], auction, 70)).json()
        after = (await market.operator.get(f"/auctions/{auction}")).json()
        assert (before.pop("hasBid"), after.pop("hasBid")) == (False, True)
        assert before == after
        assert "hasBid" not in await read(market, auction)
        await market.traders[0].trader.delete(f"/auctions/{auction}/bids/{placed['id']}")
        assert (await market.operator.get(f"/auctions/{auction}")).json()["hasBid"] is False


class TestCycleLimits:
    async def battery(self, market: Market, **limits: float) -> str:
        response = await market.owner.admin.post(
            "/physical-assets",
            json={
                "name": "Limited",
                "organisationID": str(market.owner.id),
                "deliveryZone": "Amprion",
                "parameters": {
                    "ratedChargePower": 10_000,
                    "ratedDischargePower": 10_000,
                    "energyCapacity": 20_000,
                    "chargeEfficiency": 0.95,
                    "dischargeEfficiency": 0.95,
                    **limits,
                },
            },
        )
        identifier: str = response.json()["id"]
        return identifier

    async def test_of_an_item_are_at_most_the_batteries(self, market: Market) -> None:
        strict = await self.battery(market, dailyCycleLimit=1.5, annualCycleLimit=400)
        loose, free = await self.battery(market, dailyCycleLimit=2), await self.battery(market)
        thirds = [{"physicalAssetID": one, "share": 1 / 3} for one in (strict, loose, free)]
        terms = await market.terms(backing=thirds)
        terms["item"]["dailyCycleLimit"] = 1.6
        refused = await market.operator.post("/auctions", json=terms)
        assert refused.status_code == 422, refused.text
        assert refused.json()["type"] == "/docs/problems/cycle-limit-exceeded"
        assert [error["pointer"] for error in refused.json()["errors"]] == ["/item/dailyCycleLimit"]
        terms["item"]["dailyCycleLimit"] = 1.5
        assert (await market.operator.post("/auctions", json=terms)).status_code == 201
        del terms["item"]["dailyCycleLimit"]
        made = (await market.operator.post("/auctions", json=terms)).json()
        assert made["item"]["dailyCycleLimit"] == 1.5
        await bid(market.traders[0], made["id"], 5)
        await market.advance("PT1H")
        won = (await market.traders[0].trader.get(f"/auctions/{made['id']}")).json()["virtualAssetID"]
        asset = (
            await market.traders[0].trader.get(f"/organisations/{market.traders[0].id}/virtual-assets/{won}")
        ).json()
        assert (asset["dailyCycleLimit"], asset["annualCycleLimit"]) == (1.5, 400)

    async def test_of_a_day_are_those_of_batteries_that_took_the_place_of_others_unless_they_were_named(
        self, market: Market
    ) -> None:
        strict = await self.battery(market, dailyCycleLimit=1.5)
        backing = [{"physicalAssetID": await self.battery(market, dailyCycleLimit=2), "share": 1}]
        found, now = {}, await market.now()
        for named in ({}, {"dailyCycleLimit": 1.25}):
            terms = await market.terms(backing=[{"physicalAssetID": strict, "share": 1}])
            terms |= {"start": wire(now + HOUR), "end": wire(now + 2 * HOUR)}
            terms["item"] |= named
            made = (await market.operator.post("/auctions", json=terms)).json()
            changed = await market.operator.change(f"/auctions/{made['id']}", json={"backing": backing})
            assert changed.status_code == 200, changed.text
            found[made["item"]["dailyCycleLimit"]] = changed.json()["item"]["dailyCycleLimit"]
        assert found == {1.5: 2, 1.25: 1.25}

    async def test_of_the_year_are_those_of_the_batteries_that_took_the_place_of_others(self, market: Market) -> None:
        """No item names them."""
        trader, now = market.traders[0], await market.now()
        window = {"start": wire(now + HOUR), "end": wire(now + 2 * HOUR)}
        expected: dict[str, float | None] = {}
        for annual in (300, 500, None):
            auction = await market.auction(await self.battery(market, annualCycleLimit=400), **window)
            battery = await self.battery(market, **({} if annual is None else {"annualCycleLimit": annual}))
            backing = [{"physicalAssetID": battery, "share": 1}]
            changed = await market.operator.change(f"/auctions/{auction}", json={"backing": backing})
            assert changed.status_code == 200, changed.text
            expected[auction] = annual
        await market.advance("PT1H")
        for auction in expected:
            await bid(trader, auction, 5)
        await market.advance("PT1H")
        found = {}
        for auction in expected:
            won = (await trader.trader.get(f"/auctions/{auction}")).json()["virtualAssetID"]
            asset = (await trader.trader.get(f"/organisations/{trader.id}/virtual-assets/{won}")).json()
            found[auction] = asset.get("annualCycleLimit")
        assert found == expected
