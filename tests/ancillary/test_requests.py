"""Requests with several bids or results: each is judged, recorded, awarded and told by itself."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from tests.ancillary.bidding import CAPACITY, DAY, ENERGY, FCR, day_from_now, entry, place, record
from tests.assets import AssetUnderTest, pointers, register_asset

NEXT = day_from_now(4)


def priced(price: float, kw: float = 1000, **more: Any) -> dict[str, Any]:
    return {**CAPACITY, "capacityPrice": price, "offeredCapacity": kw, **more}


async def send_results(asset: AssetUnderTest, *entries: Any, status: int = 201) -> Any:
    """Entries of (product, day, bid, accepted kW, more); nothing accepted is rejected."""
    body = [
        {
            "deliveryDay": day,
            "product": product,
            "results": [
                {"bidID": bid, "accepted": kw > 0, "acceptedCapacity": kw, **more} for bid, kw, more in results
            ],
        }
        for product, day, results in entries
    ]
    answer = await asset.owner.trader.post(asset.path("/ancillary/results"), json=body)
    assert answer.status_code == status, answer.text
    return answer


class TestBidsOfOneRequest:
    async def test_are_taken_together_only_for_the_same_product_of_the_same_day(self, new_organisation: Any) -> None:
        asset = await register_asset(await new_organisation())
        one, beyond = priced(1, 7000), priced(2, 13_000)
        refused = await place(asset, entry("POS_00_04", one), entry("POS_00_04", beyond, day=NEXT), status=422)
        assert pointers(refused) == ["/1/bids/0/offeredCapacity"]
        await place(asset, entry("POS_00_04", one), entry("POS_00_04", one, day=NEXT))

    async def test_have_each_an_id_of_their_own_behind_one_without(self, new_organisation: Any) -> None:
        asset = await register_asset(await new_organisation())
        named = priced(2, id=str(uuid4()))
        twice = await place(asset, entry("POS_00_04", priced(1), named), entry("POS_04_08", named), status=400)
        assert pointers(twice) == ["/1/bids/0/id"]

    async def test_of_energy_have_no_capacity_price_below_nothing_either(self, new_organisation: Any) -> None:
        asset = await register_asset(await new_organisation())
        refused = await place(asset, entry("NEG_001", {**ENERGY, "capacityPrice": -0.01}), status=422)
        assert pointers(refused) == ["/0/bids/0/capacityPrice"]


class TestABidThatIsSentAgain:
    async def test_is_answered_as_it_has_become_and_never_placed_anew(self, new_organisation: Any) -> None:
        asset = await register_asset(await new_organisation())
        won, gone = priced(1, id=str(uuid4())), priced(2, id=str(uuid4()))
        entries = [entry("POS_00_04", won), entry("POS_04_08", gone)]
        await place(asset, *entries)
        await record(asset, "POS_00_04", won["id"])
        assert (await asset.owner.trader.delete(asset.path(f"/ancillary/bids/{gone['id']}"))).status_code == 204
        again = (await place(asset, *entries)).json()
        assert [[(bid["id"], bid["status"]) for bid in each["bids"]] for each in again] == [
            [(won["id"], "ACCEPTED")],
            [(gone["id"], "WITHDRAWN")],
        ]
        elsewhere = await place(asset, entry("POS_00_04", won, day=NEXT), status=409)
        assert elsewhere.json()["type"] == "/docs/problems/bid-id-taken"


class TestResultsOfOneRequest:
    async def test_are_recorded_awarded_and_told_one_by_one(
        self, app: Any, operator: Any, new_organisation: Any
    ) -> None:
        """The steps of a product have one award, at their prices by capacity; every figure is another."""
        asset = await register_asset(await new_organisation())
        fcr = [{**FCR, "capacityPrice": price, "offeredCapacity": 2000} for price in (40, 80)]
        placed = await place(
            asset,
            entry("POS_00_04", priced(10), priced(20, 3000)),
            entry("NEG_04_08", priced(7, 2000)),
            entry("NEGPOS_08_12", *fcr),
            entry("NEGPOS_12_16", fcr[0]),
        )
        ids = [[bid["id"] for bid in each["bids"]] for each in placed.json()]
        unpriced: dict[str, Any] = {}
        answer = await send_results(
            asset,
            ("POS_00_04", DAY, [(ids[0][0], 1000, unpriced), (ids[0][1], 3000, unpriced)]),
            ("NEG_04_08", DAY, [(ids[1][0], 1000, {"settlementPrice": 9})]),
            ("NEGPOS_08_12", DAY, [(ids[2][0], 2000, unpriced), (ids[2][1], 0, unpriced)]),
            ("NEGPOS_12_16", DAY, [(ids[3][0], 1000, {"settlementPrice": 60})]),
        )
        listed = (await asset.owner.viewer.get(asset.path("/ancillary/results"))).json()
        assert listed == sorted(answer.json(), key=lambda each: str(each["product"]), reverse=True)
        assert [[one["acceptedCapacity"] for one in each["results"]] for each in answer.json()] == [
            [1000, 3000],
            [1000],
            [2000, 0],
            [1000],
        ]

        async def awards(path: str, price: str) -> dict[str, tuple[float, float]]:
            found = await operator.get(f"/settlements/{path}", params={"asset-id": asset.id})
            return {one["product"]: (one["capacity"], float(one[price])) for one in found.json()}

        assert await awards("afrr-capacity", "price") == {"POS_00_04": (4, 17.5), "NEG_04_08": (1, 9)}
        assert await awards("fcr", "settlementPrice") == {"NEGPOS_08_12": (2, 10), "NEGPOS_12_16": (1, 15)}
        told = await app.pool.fetch(
            """
            select subject, asset_key, data from (
              select subject, asset_key, data from event_outbox where organisation_id = $1
              union select subject, asset_key, data from event where organisation_id = $1 and origin_id = $1
            ) e where starts_with(subject, $2)
            """,
            asset.owner.id,
            f"physical-assets/{asset.id}/ancillary/bids/",
        )
        key = await app.pool.fetchval("select key from asset where id = $1", UUID(asset.id))
        assert {row["asset_key"] for row in told} == {key}, "who has a grant for the battery is told as well"
        products = ["POS_00_04", "POS_00_04", "NEG_04_08", "NEGPOS_08_12", "NEGPOS_08_12", "NEGPOS_12_16"]
        bids = [bid for each in ids for bid in each]
        assert {row["subject"].rpartition("/")[2]: row["data"] for row in told} == {
            bid: {
                "bidID": bid,
                "product": product,
                "deliveryDay": DAY,
                "status": "REJECTED" if bid == ids[2][1] else "ACCEPTED",
            }
            for bid, product in zip(bids, products, strict=True)
        }

    async def test_are_pointed_at_wherever_they_fit_no_bid(self, new_organisation: Any) -> None:
        asset = await register_asset(await new_organisation())
        placed = await place(asset, entry("POS_00_04", priced(1)), entry("POS_04_08", priced(2), priced(3)))
        [[one], [two, three]] = [[bid["id"] for bid in each["bids"]] for each in placed.json()]
        unpriced: dict[str, Any] = {}
        fit, later = (one, 1000, unpriced), ("POS_04_08", DAY, [(two, 1000, unpriced), (three, 2000, unpriced)])
        unknown = await send_results(
            asset,
            ("POS_00_04", DAY, [fit, (two, 1000, unpriced)]),
            ("POS_04_08", NEXT, [(two, 1000, unpriced), (three, 0, unpriced)]),
            status=422,
        )
        assert unknown.json()["type"] == "/docs/problems/unknown-bids"
        assert pointers(unknown) == ["/0/results/1/bidID", "/1/results/0/bidID", "/1/results/1/bidID"]
        too_much = await send_results(asset, ("POS_00_04", DAY, [fit]), later, status=422)
        assert pointers(too_much) == ["/1/results/1/acceptedCapacity"]
        assert (await asset.owner.trader.delete(asset.path(f"/ancillary/bids/{three}"))).status_code == 204
        withdrawn = await send_results(
            asset, ("POS_00_04", DAY, [fit]), ("POS_04_08", DAY, [(three, 1000, unpriced)]), status=409
        )
        assert withdrawn.json()["type"] == "/docs/problems/bid-not-standing"
        assert pointers(withdrawn) == ["/1/results/0/bidID"]
        assert (await asset.owner.viewer.get(asset.path("/ancillary/results"))).json() == []
