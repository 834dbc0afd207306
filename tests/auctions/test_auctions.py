"""From invitation to allocated virtual asset."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.auctions.conftest import HOUR, Market, bid, wire
from tests.emitted import events_of

from gridloom.platform.http.paging import encode_cursor


def window(auction: dict[str, Any]) -> dict[str, str]:
    return {"start": auction["item"]["start"], "end": auction["item"]["end"]}


class TestAnAuction:
    async def test_runs_from_not_started_to_won_and_lost(self, market: Market):
        first, second, third = market.traders
        now = await market.now()
        auction = await market.auction(start=wire(now + timedelta(minutes=10)))
        assert [await market.status(auction, trader) for trader in market.traders] == ["NOT_STARTED"] * 3
        assert (await bid(first, auction, 100)).status_code == 409

        await market.advance("PT11M")
        assert await market.status(auction, first) == "RUNNING"
        assert (await bid(first, auction, "100.50")).status_code == 201
        placed = await bid(second, auction, 200)
        assert placed.status_code == 201
        assert placed.json()["price"] == 200
        assert placed.json()["sequence"] == 1
        assert placed.json()["auctionID"] == auction

        await market.advance("PT1H")
        assert await market.status(auction, first) == "LOST"
        assert await market.status(auction, second) == "WON"
        assert await market.status(auction, third) == "NO_BIDS_SUBMITTED"
        assert (await bid(first, auction, 300)).status_code == 409

        won = (await second.trader.get(f"/auctions/{auction}")).json()
        told = [await events_of(market.edge.pool, one.id, subject=f"auctions/{auction}") for one in market.traders]
        types = ["auction.opened", "bid.placed", "auction.cleared"]
        assert [[one.type for one in each] for each in told] == [types, types, [types[0], types[2]]]
        assert {one.permission for each in told for one in each} == {"Read:auctions"}
        assert told[1][1].data == {"auctionID": auction, "bidID": placed.json()["id"], "price": 200}
        assert [each[-1].data["status"] for each in told] == ["LOST", "WON", "NO_BIDS_SUBMITTED"]
        assert [each[-1].data.get("virtualAssetID") for each in told] == [None, won["virtualAssetID"], None]
        asset = await second.trader.get(f"/organisations/{second.id}/virtual-assets/{won['virtualAssetID']}")
        assert asset.status_code == 200
        assert asset.json()["auctionID"] == auction
        assert asset.json()["ratedDischargePower"] == pytest.approx(4400)
        assert asset.json()["initialStateOfChargePercentage"] == 50
        assert len(asset.json()["blockIDs"]) == 1
        resold = await market.operator.post("/auctions", json=await market.terms(won["virtualAssetID"]))
        assert (resold.status_code, resold.json()["errors"][0]["pointer"]) == (422, "/backing"), "no physical one"
        lost = (await first.trader.get(f"/auctions/{auction}")).json()
        assert "virtualAssetID" not in lost
        assert lost["currentBid"]["price"] == 100.50

    async def test_gives_the_winner_the_battery_of_its_terms(self, market: Market):
        trader = market.traders[0]
        rated = {"ratedChargePower": 3000, "ratedDischargePower": 4000, "energyCapacity": 8000}
        limits = {"chargeEfficiency": 0.94, "dischargeEfficiency": 0.93, "dailyCycleLimit": 1.5}
        charges = {"initialSoC": 0.4, "lastSoCTarget": 0.6, "finalSoCTolerance": 0.03}
        item = (await market.terms())["item"] | rated | limits | charges
        auction = await market.auction(item=item)
        assert (await bid(trader, auction, 5)).status_code == 201
        await market.advance("PT1H")
        won = (await trader.trader.get(f"/auctions/{auction}")).json()["virtualAssetID"]
        asset = (await trader.trader.get(f"/organisations/{trader.id}/virtual-assets/{won}")).json()
        same = ("start", "end", "deliveryZone", "finalSoCTolerance", *rated, *limits)
        assert {name: asset[name] for name in same} == {name: item[name] for name in same}
        assert asset["initialStateOfChargePercentage"] == 40
        assert asset["imbalanceCharge"] == pytest.approx(1600), "of 60 % at its end"

    async def test_goes_to_the_earliest_of_equal_bids(self, market: Market):
        auction = await market.auction()
        for trader in market.traders:
            assert (await bid(trader, auction, 77)).status_code == 201
        await market.advance("PT1H")
        assert [await market.status(auction, trader) for trader in market.traders] == ["WON", "LOST", "LOST"]

    async def test_counts_only_the_latest_bid_of_an_organisation(self, market: Market):
        first, second, _ = market.traders
        auction = await market.auction()
        await bid(first, auction, 500)
        await bid(second, auction, 100)
        await bid(first, auction, 50)
        await market.advance("PT1H")
        assert await market.status(auction, second) == "WON"

    async def test_lets_an_earlier_bid_stand_again_when_the_later_is_withdrawn(self, market: Market):
        first, second, _ = market.traders
        auction = await market.auction()
        await bid(first, auction, 500)
        later = (await bid(first, auction, 50)).json()["id"]
        await bid(second, auction, 100)
        path = f"/auctions/{auction}/bids/{later}"
        assert (await second.trader.delete(path)).status_code == 404
        assert (await first.trader.delete(path)).status_code == 204
        assert (await first.trader.delete(path)).status_code == 409
        listed = (await first.trader.get(f"/auctions/{auction}/bids")).json()
        assert [(item["price"], item["withdrawn"]) for item in listed] == [(50, True), (500, False)]
        await market.advance("PT1H")
        assert await market.status(auction, first) == "WON"
        assert (await first.trader.delete(f"/auctions/{auction}/bids/{listed[1]['id']}")).status_code == 409

    async def test_takes_its_capacity_when_it_is_created(self, market: Market):
        battery = await market.battery(6000)
        await market.auction(battery)
        refused = await market.operator.post("/auctions", json=await market.terms(battery))
        assert refused.status_code == 409, refused.text
        body = refused.json()
        assert body["type"].endswith("/capacity-taken")
        assert (body["asked"]["discharge"], body["free"]["discharge"], body["holders"]) == (4400, 2200, ["AUCTION"])

    async def test_of_more_than_a_battery_has_is_refused_when_it_is_created(self, market: Market):
        terms = await market.terms(await market.battery(3000))
        refused = await market.operator.post("/auctions", json=terms)
        assert refused.status_code == 422, refused.text
        assert refused.json()["type"].endswith("/capacity-not-available")

    async def test_gives_its_capacity_back_when_it_is_cancelled_or_finds_no_winner(self, market: Market):
        battery = await market.battery(4000)
        auction = await market.auction(battery)
        assert (await market.operator.delete(f"/auctions/{auction}")).status_code == 204
        unwanted = await market.auction(battery)
        await market.advance("PT1H")
        results = (await market.operator.get(f"/auctions/{unwanted}/results")).json()
        assert (results["outcome"], results["detail"]) == ("NO_VALID_BID", "No bid stood when the auction closed.")
        await market.auction(battery)

    async def test_is_validated_as_if_its_old_terms_were_gone_when_it_is_changed(self, market: Market):
        battery, other = await market.battery(4000), await market.battery(4000)
        now = await market.now()
        auction = await market.auction(battery, start=wire(now + timedelta(minutes=30)))
        terms = await market.terms(battery)
        item = terms["item"] | {"ratedDischargePower": 3900}
        changed = await market.operator.change(f"/auctions/{auction}", json={"item": item})
        assert changed.status_code == 200, changed.text
        moved = {"backing": [{"physicalAssetID": other, "share": 1}]}
        assert (await market.operator.change(f"/auctions/{auction}", json=moved)).status_code == 200
        await market.auction(battery)
        too_much = await market.operator.change(
            f"/auctions/{auction}", json={"backing": [{"physicalAssetID": battery, "share": 1}]}
        )
        assert too_much.status_code == 409, too_much.text

    async def test_takes_another_hurdle_price_though_an_outage_has_taken_its_capacity_since(self, market: Market):
        battery = await market.battery(4000)
        now = await market.now()
        auction = await market.auction(battery, start=wire(now + timedelta(minutes=30)))
        item = (await market.terms(battery))["item"]
        volume = {"energyCapacity": 0, "powerCapacity": {"charge": 4000, "discharge": 4000}}
        outage = {"description": "", "type": "OUTAGE", "start": item["start"], "end": item["end"], "volume": volume}
        reported = await market.owner.admin.post(f"/physical-assets/{battery}/unavailability", json=outage)
        assert reported.status_code == 201, reported.text
        changed = await market.operator.change(f"/auctions/{auction}", json={"hurdlePrice": 5})
        assert changed.status_code == 200, changed.text
        again = await market.operator.change(f"/auctions/{auction}", json={"item": item})
        assert again.json()["type"].endswith("/capacity-not-available")

    async def test_hands_over_what_it_has_offered_without_validating_again(self, market: Market):
        battery = await market.battery(4000)
        auction = await market.auction(battery)
        await bid(market.traders[0], auction, 10)
        await market.advance("PT1H")
        won = (await market.traders[0].trader.get(f"/auctions/{auction}")).json()
        book = (await market.owner.admin.get(f"/physical-assets/{battery}/commitments", params=window(won))).json()
        point = book["commitments"][0]
        assert (point["discharge"]["promised"], point["discharge"]["offered"], point["discharge"]["free"]) == (
            4400,
            0,
            0,
        )
        assert {holder["virtualAssetID"] for holder in point["holders"]} == {won["virtualAssetID"]}

    async def test_lies_in_the_zone_of_its_batteries(self, market: Market):
        terms = await market.terms()
        refused = await market.operator.post(
            "/auctions", json=terms | {"item": terms["item"] | {"deliveryZone": "TenneT"}}
        )
        assert refused.status_code == 422, refused.text
        assert refused.json()["type"].endswith("/delivery-zones-differ")

    async def test_invites_no_organisation_that_would_read_its_price_in_a_battery_s_revenue(self, market: Market):
        trader, battery = market.traders[0], await market.battery()
        owned = await market.operator.post(
            "/auctions", json=await market.terms(battery, participants=[str(market.owner.id)])
        )
        assert owned.status_code == 409, owned.text
        assert "owns a battery behind the auction" in owned.json()["detail"]
        grant = f"/physical-assets/{battery}/grants/{trader.id}"
        assert (await market.owner.admin.put(grant, json={"permissions": ["Read:revenue"]})).status_code == 200
        refused = await market.operator.post("/auctions", json=await market.terms(battery))
        assert refused.status_code == 409, refused.text
        assert refused.json()["errors"][0]["pointer"] == "/participants/0"
        assert "may read the revenue of a battery" in refused.json()["detail"]
        other = await market.auction(start=wire(await market.now() + timedelta(minutes=10)))
        invited = await market.operator.put(f"/auctions/{other}/participants", json=[str(market.owner.id)])
        assert (invited.status_code, invited.json()["errors"][0]["pointer"]) == (409, "/participants/0")
        moved = {"backing": [{"physicalAssetID": battery, "share": 1}]}
        assert (await market.operator.change(f"/auctions/{other}", json=moved)).status_code == 409
        assert (await market.owner.admin.delete(grant)).status_code == 204
        auction = await market.auction(battery)
        late = await market.owner.admin.put(grant, json={"permissions": ["Read:revenue"]})
        assert late.status_code == 409, late.text
        assert (await market.owner.admin.put(grant, json={"permissions": ["Read:monitoring"]})).status_code == 200
        other = await market.auction(battery)  # whatever else it may read, it can be invited
        for one in (auction, other):
            assert (await market.operator.delete(f"/auctions/{one}")).status_code == 204
        assert (await market.owner.admin.put(grant, json={"permissions": ["Read:revenue"]})).status_code == 200

    async def test_invites_no_owner_of_any_of_its_batteries(self, market: Market):
        """Who owns one and may read the revenue of another is refused as an owner, at its place in the list."""
        trader, second = market.traders[0], await market.people.new_organisation("Second owner")
        batteries = [await market.battery(), await replace(market, owner=second).battery()]
        backing = [{"physicalAssetID": battery, "share": 0.5} for battery in batteries]
        grant = f"/physical-assets/{batteries[0]}/grants/{second.id}"
        assert (await market.owner.admin.put(grant, json={"permissions": ["Read:revenue"]})).status_code == 200
        invited = [str(trader.id), str(second.id)]
        refused = await market.operator.post(
            "/auctions", json=await market.terms(batteries[0], backing=backing, participants=invited)
        )
        assert (refused.status_code, refused.json()["errors"]) == (
            409,
            [{"pointer": "/participants/1", "detail": "owns a battery behind the auction"}],
        ), refused.text
        await market.auction(batteries[0], backing=backing, participants=invited[:1])

    async def test_tells_the_operator_why_each_bid_lost(self, market: Market):
        first, second, third = market.traders
        auction = await market.auction(hurdlePrice="20.00")
        withdrawn = (await bid(second, auction, 80)).json()["id"]
        await bid(first, auction, 90)
        await bid(first, auction, 80)
        await bid(second, auction, 80)
        await bid(third, auction, 10)
        await second.trader.delete(f"/auctions/{auction}/bids/{withdrawn}")
        await market.advance("PT1H")
        pages, path = [], f"/auctions/{auction}/results?limit=2"
        while path:
            response = await market.operator.get(path)
            pages += [(b["rank"], b["price"], b["fate"]) for b in response.json()["bids"]]
            path = response.links["next"]["url"] if "next" in response.links else ""
        assert pages == [
            (1, 90, "SUPERSEDED"),
            (2, 80, "WITHDRAWN"),
            (3, 80, "WON"),
            (4, 80, "TIED_BUT_LATER"),
            (5, 10, "BELOW_HURDLE"),
        ]
        assert (await first.trader.get(f"/auctions/{auction}/results")).status_code == 403

    async def test_is_seen_only_by_those_invited(self, still_market: Market):
        market = still_market
        first, second = market.traders
        auction = await market.auction(participants=[str(first.id)])
        assert (await second.trader.get(f"/auctions/{auction}")).status_code == 403
        assert (await bid(second, auction, 5)).status_code == 403
        assert (await second.trader.get(f"/auctions/{auction}/bids")).status_code == 403
        assert (await second.trader.get("/auctions")).json() == []
        assert [item["id"] for item in (await first.trader.get("/auctions")).json()] == [auction]
        assert (await second.trader.get(f"/auctions/{uuid.uuid4()}")).status_code == 404

    async def test_is_listed_page_by_page_the_newest_opening_first(self, still_market: Market):
        now = await still_market.now()
        openings = [wire(now + minutes * timedelta(minutes=1)) for minutes in (0, 10, 20, 10)]
        made = [(start, await still_market.auction(start=start)) for start in openings]
        seen, link = [], "/auctions?limit=2"
        while link:
            page = await still_market.traders[0].trader.get(link)
            seen += [one["id"] for one in page.json()]
            link = page.links["next"]["url"] if "next" in page.links else ""
        assert seen == [auction for _, auction in sorted(made, reverse=True)]

    async def test_answers_a_forged_cursor(self, market: Market):
        auction = await market.auction()
        trader = market.traders[0].trader
        for place, status in ((2**31, 200), (2**63, 400)):
            answer = await trader.get(f"/auctions/{auction}/bids", params={"cursor": encode_cursor(place)})
            assert answer.status_code == status, answer.text
        far = ("9999-12-31T23:59:59-12:00", uuid.uuid4())
        assert (await trader.get("/auctions", params={"cursor": encode_cursor(far)})).status_code == 400

    async def test_can_be_listed_by_status(self, still_market: Market):
        market = still_market
        trader = market.traders[0]
        running = await market.auction()
        now = await market.now()
        later = await market.auction(start=wire(now + timedelta(minutes=30)))
        for status, expected in [
            ("RUNNING", [running]),
            ("NOT_STARTED", [later]),
            ("RUNNING,NOT_STARTED", [later, running]),
        ]:
            listed = (await trader.trader.get(f"/auctions?status={status}")).json()
            assert [item["id"] for item in listed] == expected
        placed = [(await bid(trader, running, price)).json() for price in (9, 8, 7)]
        assert (await trader.trader.delete(f"/auctions/{running}/bids/{placed[2]['id']}")).status_code == 204
        listed = (await trader.trader.get("/auctions")).json()
        assert listed == [(await trader.trader.get(f"/auctions/{one}")).json() for one in (later, running)]
        assert listed[1]["currentBid"]["price"] == 8
        assert (await trader.trader.delete(f"/auctions/{running}/bids/{placed[0]['id']}")).status_code == 204
        bids = (await trader.trader.get(f"/auctions/{running}/bids")).json()
        assert [(one["price"], one["withdrawn"]) for one in bids] == [(7, True), (8, False), (9, True)]
        assert (await trader.trader.get("/auctions?status=OPEN")).status_code == 400

    async def test_is_frozen_once_open_except_for_cancelling(self, market: Market):
        now = await market.now()
        auction = await market.auction(start=wire(now + timedelta(minutes=10)))
        path = f"/auctions/{auction}"
        read = await market.operator.get(path)
        changed = await market.operator.change(
            path, json={"hurdlePrice": 5}, headers={"If-Match": read.headers["etag"]}
        )
        assert changed.json()["hurdlePrice"] == 5
        stale = await market.operator.change(path, json={"hurdlePrice": 6}, headers={"If-Match": read.headers["etag"]})
        assert stale.status_code == 412
        invited = await market.operator.put(
            f"{path}/participants",
            json={"participants": [str(market.traders[0].id)]},
            headers={"If-Match": changed.headers["etag"]},
        )
        assert invited.json()["participants"] == [str(market.traders[0].id)]
        assert invited.headers["etag"] == (await market.operator.get(path)).headers["etag"] != changed.headers["etag"]
        operator = (await market.operator.get("/auth/me")).json()
        both = sorted([str(market.traders[0].id), operator["organisationID"]])
        stale = await market.operator.put(
            f"{path}/participants", json=both, headers={"If-Match": changed.headers["etag"]}
        )
        assert stale.status_code == 412
        listed = await market.operator.put(f"{path}/participants", json=both)
        assert listed.json()["participants"] == both
        told = await events_of(market.edge.pool, uuid.UUID(operator["organisationID"]), subject=path[1:])
        assert [each.type for each in told] == ["auction.changed"] * 3
        terms = {"auctionID": auction, "start": changed.json()["start"], "end": changed.json()["end"]}
        assert told[0].data == {**terms, "authorID": operator["id"]}
        # The invited learn of it as well, but no author; whoever is no longer invited, nothing more.
        heard = [await events_of(market.edge.pool, one.id, subject=path[1:]) for one in market.traders[:2]]
        assert [[each.data for each in one] for one in heard] == [[terms] * 3, [terms]]
        await market.advance("PT15M")
        assert (await market.operator.change(path, json={"hurdlePrice": 6})).status_code == 409
        assert (await market.operator.put(f"{path}/participants", json={"participants": []})).status_code == 409
        await bid(market.traders[0], auction, 50)
        assert (await market.operator.delete(path)).status_code == 204
        assert (await bid(market.traders[0], auction, 60)).status_code == 409
        await market.advance("PT2H")
        assert (await market.operator.get(path)).json()["state"] == "CANCELLED"
        assert (await market.operator.get(f"{path}/results")).status_code == 409

    async def test_is_not_cancelled_once_closed(self, market: Market):
        auction = await market.auction()
        assert (await bid(market.traders[0], auction, 50)).status_code == 201
        await market.advance("PT1H")
        refused = await market.operator.delete(f"/auctions/{auction}")
        assert (refused.status_code, refused.json()["type"]) == (409, "/docs/problems/auction-frozen")
        assert (await market.operator.get(f"/auctions/{auction}")).json()["state"] == "CLEARED"

    async def test_takes_every_new_term_and_keeps_its_identity(self, market: Market):
        """All values differ from each other and from before, so none can end in another's place."""
        now = await market.now()
        auction = await market.auction(start=wire(now + timedelta(minutes=10)))
        before = (await market.operator.get(f"/auctions/{auction}")).json()
        day = (now + timedelta(days=3)).replace(hour=0, minute=0, second=0, microsecond=0)
        opens = (now + timedelta(minutes=20)).replace(microsecond=0)
        item = {
            "start": wire(day),
            "end": wire(day + timedelta(days=1)),
            "deliveryZone": "Amprion",
            "ratedChargePower": 1000,
            "ratedDischargePower": 1500,
            "energyCapacity": 2500,
            "chargeEfficiency": 0.91,
            "dischargeEfficiency": 0.92,
            "dailyCycleLimit": 1.5,
            "initialSoC": 0.4,
            "lastSoCTarget": 0.6,
            "finalSoCTolerance": 0.03,
        }
        terms = {"start": wire(opens), "end": wire(opens + 2 * HOUR), "hurdlePrice": 77.5, "minimumAvailability": 0.25}
        for unfit, pointer in (
            ({"end": wire(day + HOUR), "item": item}, "/item/start"),
            ({"backing": [{**before["backing"][0], "share": 0.5}]}, "/backing"),
            ({"backing": [{"physicalAssetID": str(uuid.uuid4()), "share": 1}]}, "/backing"),
            ({"item": {**item, "start": wire(day - timedelta(days=9))}}, "/item/start"),
        ):
            refused = await market.operator.change(f"/auctions/{auction}", json=unfit)
            assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, pointer)
        strangers = await market.operator.put(f"/auctions/{auction}/participants", json=[str(uuid.uuid4())])
        assert (strangers.status_code, strangers.json()["errors"][0]["pointer"]) == (422, "/participants")
        changed = await market.operator.change(f"/auctions/{auction}", json={**terms, "item": item})
        assert changed.status_code == 200, changed.text
        after = (await market.operator.get(f"/auctions/{auction}")).json()
        assert after["item"]["id"] == before["item"]["id"]
        assert {name: after["item"][name] for name in item} == item
        assert {name: after[name] for name in terms} == terms
        without = await market.operator.change(f"/auctions/{auction}", json={"hurdlePrice": None})
        assert without.json() == after | {"hurdlePrice": None}
        nothing = {"hurdlePrice": 0, "minimumAvailability": 0}
        assert (await market.operator.change(f"/auctions/{auction}", json=nothing)).json() == after | nothing

    async def test_is_listed_by_the_callers_own_status_and_no_other(self, market: Market):
        won, lost, idle, *_ = market.traders
        auction = await market.auction()
        await bid(won, auction, 9)
        await bid(lost, auction, 5)
        await market.advance("PT1H")
        for trader, own in ((won, "WON"), (lost, "LOST"), (idle, "NO_BIDS_SUBMITTED")):
            assert await market.status(auction, trader) == own
            for asked in ("WON", "LOST", "NO_BIDS_SUBMITTED", "PENDING", "RUNNING"):
                listed = (await trader.trader.get("/auctions", params={"status": asked, "limit": 1000})).json()
                assert (auction in [each["id"] for each in listed]) == (asked == own), (own, asked)


class TestABody:
    @pytest.mark.parametrize(
        ("change", "status", "pointer"),
        [
            ({"start": None}, 400, "/start"),
            ({"start": "2026-01-01T00:00:00"}, 400, "/start"),
            ({"end": "2020-01-01T00:00:00Z"}, 400, "/end"),
            ({"hurdlePrice": 1.005}, 400, "/hurdlePrice"),
            ({"hurdlePrice": -1}, 400, "/hurdlePrice"),
            ({"backing": []}, 400, "/backing"),
            ({"backing": [{"physicalAssetID": str(uuid.uuid4()), "share": 1}]}, 422, "/backing"),
            ({"participants": [str(uuid.uuid4())]}, 422, "/participants"),
            ({"participants": ["x"]}, 400, "/participants/0"),
            ({"secret": 1}, 400, "/secret"),
        ],
    )
    async def test_at_fault_creates_nothing(
        self, still_market: Market, change: dict[str, Any], status: int, pointer: str
    ):
        response = await still_market.operator.post("/auctions", json=await still_market.terms(**change))
        assert response.status_code == status
        assert response.json()["errors"][0]["pointer"] == pointer
        assert (await still_market.traders[0].trader.get("/auctions")).json() == []

    @pytest.mark.parametrize(
        ("change", "status", "pointer"),
        [
            ({"ratedChargePower": 0}, 400, "/item/ratedChargePower"),
            ({"energyCapacity": "8000"}, 400, "/item/energyCapacity"),
            ({"chargeEfficiency": 1.01}, 400, "/item/chargeEfficiency"),
            ({"deliveryZone": "Mars"}, 400, "/item/deliveryZone"),
            ({"initialSoC": 50}, 400, "/item/initialSoC"),
            ({"start": "2020-01-01T00:00:00Z"}, 422, "/item/start"),
            ({"start": "2020-01-01T00:07:00Z"}, 400, "/item/start"),
            ({"end": "2199-01-01T00:00:00Z"}, 400, "/item/end"),
            ({"dischargeEfficiency": 5e-324}, 400, "/item/dischargeEfficiency"),
        ],
    )
    async def test_of_an_item_at_fault_is_pointed_at(
        self, still_market: Market, change: dict[str, Any], status: int, pointer: str
    ):
        terms = await still_market.terms()
        terms["item"] |= change
        response = await still_market.operator.post("/auctions", json=terms)
        assert (response.status_code, response.json()["errors"][0]["pointer"]) == (status, pointer)

    @pytest.mark.parametrize("price", [0, -5, 10_000_000.01, "1.001", 1.001, "abc", None, True, "NaN", "1e3000"])
    async def test_of_a_bid_needs_a_price_in_cents(self, still_market: Market, price: Any):
        auction = await still_market.auction()
        response = await bid(still_market.traders[0], auction, price)
        assert (response.status_code, response.json()["errors"][0]["pointer"]) == (400, "/price")
        assert (await still_market.traders[0].trader.get(f"/auctions/{auction}/bids")).json() == []
