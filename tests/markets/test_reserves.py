"""Reserves: held from placing on, carved out of the wholesale block when they are awarded, never beyond the battery."""

from __future__ import annotations

import asyncio

import pytest
from tests.assets import pointers
from tests.markets.test_orders import kind_of
from tests.virtual_assets.test_conflicts import lose

from gridloom.kernel.market_time import market_day_window

FCR = {"product": "NEGPOS_08_12", "capacity": 500, "capacityPrice": 66.86}
UP = {"product": "POS_08_12", "capacity": 300, "capacityPrice": 12.5, "energyPrice": 180}
BLOCK = range(32, 48)


async def put(desk, powers):
    return await desk.trader.put(f"{desk.battery.url}/schedule", json={"schedule": desk.schedule(powers)})


async def award(desk, order_id, *reserves, **more):
    taken = [dict(zip(("product", "acceptedCapacity", "price"), one, strict=True)) for one in reserves]
    return await desk.report({"orderID": order_id, "executed": True, "reserves": taken, **more})


class TestReserves:
    async def test_hold_power_and_energy_from_placing_until_their_result(self, make_desk):
        desk = await make_desk()
        order_id = await desk.place("FCR", reserves=[FCR])
        assert (await desk.stages())["FCR"]["reserved"] == [{"product": "NEGPOS_08_12", "capacity": 500}]
        assert len(await desk.battery.blocks()) == 1, "no block tells of an order"
        assert kind_of(await put(desk, {40: 600})) == (422, "power-beyond-available")
        assert kind_of(await desk.trader.put(desk.battery.block_url, json={"schedule": desk.schedule({40: -501})})) == (
            422,
            "power-beyond-available",
        )
        # 15 minutes of 500 kW must be in store throughout the block: 125 of the 1000 kWh.
        assert kind_of(await put(desk, {28: 1000, 29: 1000, 30: 1000, 31: 600})) == (422, "energy-out-of-bounds")
        assert kind_of(await desk.battery.carve(32, 16, "AFRR_POS", 0, 501)) == (409, "no-wholesale-power")
        assert (await desk.report({"orderID": order_id, "executed": False})).status_code == 200
        assert (await put(desk, {28: 1000, 29: 1000, 30: 1000, 31: 600, 40: 400})).status_code == 200

    async def test_are_carved_out_as_blocks_with_a_provisional_award(self, make_desk):
        desk = await make_desk()
        order_id = await desk.place("FCR", reserves=[FCR, {**FCR, "product": "NEGPOS_00_04"}])
        answer = await award(desk, order_id, ("NEGPOS_08_12", 500, 66.86), ("NEGPOS_00_04", 300, 20))
        assert answer.json() == [{"orderID": order_id, "status": "PARTLY_EXECUTED"}]
        blocks = {block["market"] + block["start"]: block for block in await desk.battery.blocks()}
        assert blocks[f"FCR{desk.time(32)}"]["ratedChargePower"] == 500
        assert blocks[f"FCR{desk.time(0)}"]["ratedDischargePower"] == 300
        params = {"asset-id": desk.battery.asset["id"]}
        awards = (await desk.trader.get("/settlements/fcr", params=params)).json()
        assert [(one["product"], one["capacity"], one["settlementPrice"], one["origin"]) for one in awards] == [
            ("NEGPOS_00_04", 0.3, 5, "PROVISIONAL"), ("NEGPOS_08_12", 0.5, 16.715, "PROVISIONAL"),
        ]  # fmt: skip
        stage = (await desk.stages())["FCR"]
        assert stage["earned"] == pytest.approx(0.5 * 66.86 + 0.3 * 20)
        assert sum(one["capacity"] for one in stage["reserved"]) == 800
        again = await award(desk, order_id, ("NEGPOS_00_04", 300, 20), ("NEGPOS_08_12", 500, 66.86))
        assert (again.status_code, len(await desk.battery.blocks())) == (200, len(blocks))
        less = await award(desk, order_id, ("NEGPOS_08_12", 200, 66.86), correction=True)
        assert less.status_code == 200, less.text
        assert [(one["product"], one["capacity"]) for one in (await desk.stages())["FCR"]["reserved"]] == [
            ("NEGPOS_08_12", 200)
        ]
        assert (await desk.stages())["FCR"]["earned"] == pytest.approx(0.2 * 66.86)

    async def test_of_both_tenders_stand_side_by_side_and_orders_keep_off_them(self, make_desk):
        desk = await make_desk()
        await award(desk, await desk.place("FCR", reserves=[FCR]), ("NEGPOS_08_12", 500, 60))
        order_id = await desk.place("AFRR", reserves=[UP])
        waiting = await desk.post(await desk.order("DAY_AHEAD", {40: 100}))
        assert kind_of(waiting) == (409, "result-outstanding")
        await award(desk, order_id, ("POS_08_12", 300, 12.5))
        assert (await desk.read(order_id))["reserves"][0]["acceptedCapacity"] == 300
        assert kind_of(await desk.post(await desk.order("DAY_AHEAD", {40: 300}))) == (422, "position-not-runnable")
        await desk.place("DAY_AHEAD", {40: 200, 41: -500})

    async def test_that_can_no_longer_be_carved_are_awarded_all_the_same(self, make_desk):
        desk = await make_desk()
        assert (await put(desk, {40: 500})).status_code == 200
        order_id = await desk.place("FCR", reserves=[FCR])
        start = market_day_window(desk.day).start
        assert (await lose(desk.battery, start, desk.battery.end, power=500)).status_code == 201
        [result] = (await award(desk, order_id, ("NEGPOS_08_12", 500, 60))).json()
        assert (result["status"], result["problem"]["type"]) == ("EXECUTED", "/docs/problems/schedule-in-the-way")
        stage = (await desk.stages())["FCR"]
        assert (stage["earned"], stage["reserved"], stage["problem"]) == (30, [], result["problem"])

    async def test_are_refused_where_they_do_not_fit(self, make_desk):
        desk = await make_desk()
        assert (await put(desk, {40: 600})).status_code == 200
        for case, stage, reserves, expected, places in (
            ("what the schedule needs", "FCR", [FCR], (409, "schedule-in-the-way"), ["/0"]),
            ("more than the batteries sell", "FCR", [{**FCR, "product": "NEGPOS_00_04", "capacity": 801}],
             (422, "reserve-beyond-batteries"), ["/0/reserves/0/capacity"]),
            ("no energy price", "AFRR", [{**UP, "energyPrice": None}], (400, "bad-request"),
             ["/0/reserves/0/energyPrice"]),
            ("a product of the other tender", "FCR", [UP], (400, "bad-request"), ["/0/reserves/0/product"]),
            ("twice the same", "FCR", [FCR, FCR], (400, "bad-request"), ["/0/reserves/1/product"]),
            ("a negative price of FCR", "FCR", [{**FCR, "capacityPrice": -1}], (400, "bad-request"),
             ["/0/reserves/0/capacityPrice"]),
        ):  # fmt: skip
            answer = await desk.post(await desk.order(stage, reserves=reserves))
            assert (kind_of(answer), pointers(answer)) == (expected, places), f"{case}: {answer.text}"

    async def test_and_a_schedule_at_the_same_time_do_not_take_the_same_power(self, make_desk):
        for _ in range(4):
            desk = await make_desk()
            order = await desk.order("FCR", reserves=[FCR])
            ordered, scheduled = await asyncio.gather(desk.post(order), put(desk, {40: 600}))
            assert sorted((ordered.status_code == 201, scheduled.status_code == 200)) == [False, True], (
                ordered.text,
                scheduled.text,
            )
