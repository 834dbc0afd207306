"""Bids and results over HTTP: what stands, what is refused, what waits for its result."""

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest
from tests.ancillary.bidding import (
    AUTUMN,
    CAPACITY,
    DAY,
    ENERGY,
    FCR,
    SPRING,
    all_bids,
    entry,
    place,
    record,
    waiting,
)
from tests.assets import PARAMETERS, pointers, register_asset
from tests.clock_changes import at_hour


class TestBidsWithoutResult:
    async def test_answer_one_entry_per_distinct_key_in_the_order_asked(self, new_organisation):
        asset = await register_asset(await new_organisation())
        await place(asset, entry("POS_00_04", CAPACITY), entry("NEGPOS_04_08", FCR))
        keys = [f"{DAY}_NEGPOS_04_08", f"{DAY}_NEG_20_24", f"{DAY}_POS_00_04", f"{DAY}_NEGPOS_04_08"]
        found = await waiting(asset, *keys)
        assert [each["productDateCode"] for each in found] == keys[:3]
        assert [each["product"] for each in found] == ["NEGPOS_04_08", "NEG_20_24", "POS_00_04"]
        assert {each["deliveryDay"] for each in found} == {DAY}
        assert found[1]["bids"] == []
        fcr, afrr = found[0]["bids"][0], found[2]["bids"][0]
        assert fcr == {"id": fcr["id"], "status": "OFFERED", **FCR}
        assert afrr == {"id": afrr["id"], "status": "OFFERED", **CAPACITY}

    async def test_leave_out_what_has_a_result_was_withdrawn_or_replaced(self, new_organisation):
        asset = await register_asset(await new_organisation())
        products = ["POS_00_04", "POS_04_08", "POS_08_12", "POS_12_16"]
        placed = (await place(asset, *(entry(product, CAPACITY) for product in products))).json()
        ids = [each["bids"][0]["id"] for each in placed]
        await record(asset, products[0], ids[0])
        await asset.owner.trader.delete(asset.path(f"/ancillary/bids/{ids[1]}"))
        again = (await place(asset, entry(products[2], {**CAPACITY, "capacityPrice": 9}))).json()
        found = await waiting(asset, *(f"{DAY}_{product}" for product in products))
        assert [[bid["id"] for bid in each["bids"]] for each in found] == [
            [],
            [],
            [again[0]["bids"][0]["id"]],
            [ids[3]],
        ]

    @pytest.mark.parametrize(
        "keys",
        [
            "",
            ",",
            f"{DAY}_POS_00_04,",
            "POS_00_04",
            f"{DAY}_POS_00_05",
            "2026-02-30_POS_00_04",
            f"{SPRING}_POS_093",
            f"{DAY}_POS_097",
            "9999-12-31_POS_00_04",
            "x" * 3000,
        ],
    )
    async def test_refuse_keys_that_name_nothing(self, new_organisation, keys):
        asset = await register_asset(await new_organisation())
        answer = await asset.owner.viewer.get(
            asset.path("/ancillary/bids-without-result"), params={"product-keys": keys}
        )
        assert answer.status_code == 400
        assert set(pointers(answer)) == {"query:product-keys"}

    async def test_refuse_a_missing_list_and_more_than_200_keys(self, new_organisation):
        asset = await register_asset(await new_organisation())
        path = asset.path("/ancillary/bids-without-result")
        assert (await asset.owner.viewer.get(path)).status_code == 400
        keys = [f"{AUTUMN}_{direction}_{number:03}" for direction in ("POS", "NEG") for number in range(1, 101)]
        assert len(await waiting(asset, *keys)) == 200
        answer = await asset.owner.viewer.get(path, params={"product-keys": ",".join([*keys, f"{DAY}_POS_001"])})
        assert answer.status_code == 400
        # Asked twice is asked once, also with a space.
        assert len(await waiting(asset, *keys, f" {keys[0]}")) == 200
        assert len(await waiting(asset, *keys, keys[0])) == 200


class TestPlacing:
    async def test_takes_energy_for_nothing(self, new_organisation):
        asset = await register_asset(await new_organisation())
        products = {"POS_00_04": {**CAPACITY, "energyPrice": 0}, "NEG_001": {**ENERGY, "energyPrice": 0}}
        named = {product: {**bid, "id": str(uuid4())} for product, bid in products.items()}
        placed = await place(asset, *(entry(product, bid) for product, bid in named.items()))
        assert [each["bids"] for each in placed.json()] == [[{"status": "OFFERED", **bid}] for bid in named.values()]
        found = await waiting(asset, *(f"{DAY}_{product}" for product in products))
        assert [each["bids"] for each in found] == [each["bids"] for each in placed.json()]
        again = await place(asset, *(entry(product, bid) for product, bid in named.items()))
        assert again.json() == placed.json()

    async def test_again_with_the_same_id_changes_nothing(self, new_organisation):
        asset = await register_asset(await new_organisation())
        bid = {**CAPACITY, "id": str(uuid4())}
        first = await place(asset, entry("POS_00_04", bid))
        assert first.json()[0]["bids"][0]["id"] == bid["id"]
        assert (await place(asset, entry("POS_00_04", bid))).json() == first.json()
        for name, value in (("capacityPrice", 1), ("offeredCapacity", 3000), ("energyPrice", 1)):
            taken = await place(asset, entry("POS_00_04", {**bid, name: value}), status=409)
            assert taken.json()["type"] == "/docs/problems/bid-id-taken"
        elsewhere = await place(asset, entry("POS_04_08", bid), status=409)
        assert elsewhere.json()["type"] == "/docs/problems/bid-id-taken"
        twice = await place(asset, entry("POS_00_04", bid), entry("POS_04_08", bid), status=400)
        assert pointers(twice) == ["/1/bids/0/id"]

    async def test_beside_a_known_bid_of_the_same_request_adds_a_step(self, new_organisation):
        asset = await register_asset(await new_organisation())
        known, gone = {**CAPACITY, "id": str(uuid4())}, {**CAPACITY, "id": str(uuid4())}
        await place(asset, entry("POS_00_04", known, gone))
        answer = await place(asset, entry("POS_00_04", known, {**CAPACITY, "capacityPrice": 9}))
        assert [bid["status"] for bid in answer.json()[0]["bids"]] == ["OFFERED", "OFFERED"]
        history = (await all_bids(asset, f"{DAY}_POS_00_04"))[0]["bids"]
        assert [bid["status"] for bid in history] == ["OFFERED", "REPLACED", "OFFERED"]
        start = at_hour(DAY, 0)
        window = {"start": start.isoformat(), "end": (start + timedelta(minutes=15)).isoformat()}
        book = (await asset.owner.viewer.get(asset.path("/commitments"), params=window)).json()["commitments"]
        assert book[-1]["discharge"]["ancillary"]["afrrCapacity"] == 8000

    @pytest.mark.parametrize(
        ("product", "bid", "problem", "field"),
        [
            ("NEGPOS_00_04", {**FCR, "energyPrice": 1}, "prices-do-not-fit-product", "energyPrice"),
            ("NEGPOS_00_04", {**FCR, "energyPrice": 0}, "prices-do-not-fit-product", "energyPrice"),
            ("NEGPOS_00_04", {**FCR, "capacityPrice": -0.01}, "prices-do-not-fit-product", "capacityPrice"),
            ("POS_00_04", FCR, "prices-do-not-fit-product", "energyPrice"),
            ("NEG_001", {**ENERGY, "capacityPrice": 0.01}, "prices-do-not-fit-product", "capacityPrice"),
            ("NEG_001", {"capacityPrice": 0, "offeredCapacity": 1000}, "prices-do-not-fit-product", "energyPrice"),
            ("POS_00_04", {**CAPACITY, "offeredCapacity": 1500}, "lot-size-violated", "offeredCapacity"),
            ("POS_00_04", {**CAPACITY, "offeredCapacity": 999}, "lot-size-violated", "offeredCapacity"),
            ("POS_00_04", {**CAPACITY, "offeredCapacity": 13000}, "capacity-not-available", "offeredCapacity"),
            ("NEG_00_04", {**CAPACITY, "offeredCapacity": 11000}, "capacity-not-available", "offeredCapacity"),
            # FCR goes both ways, at 0.8 of the smaller rated power.
            ("NEGPOS_00_04", {**FCR, "offeredCapacity": 9000}, "capacity-not-available", "offeredCapacity"),
        ],
    )
    async def test_refuses_what_breaks_a_rule(self, new_organisation, product, bid, problem, field):
        asset = await register_asset(await new_organisation())
        answer = await place(asset, entry(product, bid), status=422)
        assert answer.json()["type"] == f"/docs/problems/{problem}"
        assert pointers(answer) == [f"/0/bids/0/{field}"]

    @pytest.mark.parametrize("day", ["1999-12-31", "2100-01-01"])
    async def test_on_a_day_without_markets_points_at_the_day(self, new_organisation, day):
        asset = await register_asset(await new_organisation())
        answer = await place(asset, entry("POS_00_04", CAPACITY, day=day), status=400)
        assert pointers(answer) == ["/0/deliveryDay"]

    async def test_respects_what_is_unavailable_for_a_single_minute(self, new_organisation):
        asset = await register_asset(await new_organisation())
        start = at_hour(DAY, 2)
        answer = await asset.owner.engineer.post(
            asset.path("/unavailability"),
            json={
                "description": "",
                "type": "TESTING",
                "start": start.isoformat(),
                "end": (start + timedelta(minutes=1)).isoformat(),
                "volume": {"energyCapacity": 0, "powerCapacity": {"charge": 0, "discharge": 5000}},
            },
        )
        assert answer.status_code == 201
        await place(asset, entry("POS_00_04", {**CAPACITY, "offeredCapacity": 8000}), status=422)
        await place(asset, entry("POS_00_04", {**CAPACITY, "offeredCapacity": 7000}))
        await place(asset, entry("POS_04_08", {**CAPACITY, "offeredCapacity": 12000}))

    async def test_uses_the_rating_in_force_at_delivery(self, new_organisation):
        asset = await register_asset(await new_organisation())
        later = at_hour(DAY, 12).isoformat()
        await asset.owner.engineer.put(
            asset.path("/parameters"), json={**PARAMETERS, "ratedDischargePower": 2000, "validFrom": later}
        )
        await place(asset, entry("POS_08_12", CAPACITY))
        await place(asset, entry("POS_12_16", CAPACITY), status=422)

    @pytest.mark.parametrize(
        ("day", "product", "status"),
        [
            (SPRING, "POS_092", 201),
            (SPRING, "POS_093", 400),
            (AUTUMN, "NEG_100", 201),
            (AUTUMN, "NEG_101", 400),
            (SPRING, "NEG_00_04", 201),
        ],
    )
    async def test_knows_the_days_of_the_clock_changes(self, open_gates, day, product, status):
        asset = await register_asset(await open_gates.new_organisation())
        bid = CAPACITY if product.count("_") == 2 else ENERGY
        await place(asset, entry(product, bid, day=day), status=status)

    async def test_of_nothing_is_refused(self, new_organisation):
        asset = await register_asset(await new_organisation())
        answer = await place(asset, entry("POS_00_04", {**CAPACITY, "offeredCapacity": 0}), status=400)
        assert pointers(answer) == ["/0/bids/0/offeredCapacity"]

    async def test_on_an_inactive_asset_is_refused(self, new_organisation):
        asset = await register_asset(await new_organisation())
        await asset.owner.engineer.change(asset.path(), json={"status": "INACTIVE"})
        await place(asset, entry("POS_00_04", CAPACITY), status=409)

    async def test_at_once_from_everywhere_leaves_one_standing(self, new_organisation):
        asset = await register_asset(await new_organisation())
        await asyncio.gather(
            *(place(asset, entry("POS_00_04", {**CAPACITY, "capacityPrice": price})) for price in range(1, 13))
        )
        history = (await all_bids(asset, f"{DAY}_POS_00_04"))[0]["bids"]
        statuses = [bid["status"] for bid in history]
        assert statuses == ["REPLACED"] * 11 + ["OFFERED"]


class TestWithdrawal:
    async def test_keeps_the_bid_as_withdrawn_and_can_be_repeated(self, new_organisation):
        asset = await register_asset(await new_organisation())
        bid_id = (await place(asset, entry("POS_00_04", CAPACITY))).json()[0]["bids"][0]["id"]
        for _ in range(2):
            assert (await asset.owner.trader.delete(asset.path(f"/ancillary/bids/{bid_id}"))).status_code == 204
        assert (await all_bids(asset, f"{DAY}_POS_00_04"))[0]["bids"][0]["status"] == "WITHDRAWN"

    async def test_gives_the_capacity_back_to_the_battery(self, new_organisation):
        asset = await register_asset(await new_organisation())
        whole = {**CAPACITY, "offeredCapacity": 12_000}
        bid_id = (await place(asset, entry("POS_00_04", whole))).json()[0]["bids"][0]["id"]
        assert (await place(asset, entry("NEGPOS_00_04", FCR), status=409)).json()["holders"] == ["AFRR_CAPACITY"]
        assert (await asset.owner.trader.delete(asset.path(f"/ancillary/bids/{bid_id}"))).status_code == 204
        await place(asset, entry("NEGPOS_00_04", FCR))

    async def test_of_a_bid_with_a_result_or_one_that_was_replaced_is_a_conflict(self, new_organisation):
        asset = await register_asset(await new_organisation())
        first = (await place(asset, entry("POS_00_04", CAPACITY))).json()[0]["bids"][0]["id"]
        second = (await place(asset, entry("POS_00_04", CAPACITY))).json()[0]["bids"][0]["id"]
        assert (await asset.owner.trader.delete(asset.path(f"/ancillary/bids/{first}"))).status_code == 409
        await record(asset, "POS_00_04", second)
        assert (await asset.owner.trader.delete(asset.path(f"/ancillary/bids/{second}"))).status_code == 409

    async def test_after_gate_closure_is_refused(self, app, new_organisation):
        asset = await register_asset(await new_organisation())
        bid_id = (await place(asset, entry("POS_00_04", CAPACITY))).json()[0]["bids"][0]["id"]
        await app.pool.execute("update ancillary_bid set delivery_day = delivery_day - 30 where id = $1", bid_id)
        answer = await asset.owner.trader.delete(asset.path(f"/ancillary/bids/{bid_id}"))
        assert answer.status_code == 422
        assert answer.json()["type"] == "/docs/problems/product-gate-closed"
