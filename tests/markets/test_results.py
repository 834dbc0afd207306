"""Results of orders: booked once however often and by whomever they are posted, with the schedule where it applies."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from tests.assets import pointers
from tests.emitted import events_of
from tests.markets.conftest import desk_of, open_day, set_clock
from tests.markets.test_orders import kind_of
from tests.virtual_assets.conftest import QUARTER, wire

from gridloom.kernel.market_stages import Stage, gate_of
from gridloom.kernel.market_time import market_day_window


class TestAResult:
    async def test_books_the_trades_of_the_order_at_its_stage(self, make_desk):
        desk = await make_desk()
        await desk.execute(await desk.place("DAY_AHEAD", {0: -400, 8: 400}), price=50)
        order_id = await desk.place("IDA1", {0: -500, 8: 300})
        assert await desk.execute(order_id, price=90) == {"orderID": order_id, "status": "EXECUTED"}
        [buy, sell] = [one for one in await desk.trades() if one["tradeID"] == f"order-{order_id}"]
        assert (buy["time"], buy["side"], buy["volume"], buy["price"]) == (desk.time(0), "BUY", 0.025, 90)
        assert (sell["time"], sell["side"], sell["market"], sell["stage"]) == (
            desk.time(8), "BUY", "INTRADAY_AUCTION", "IDA1",
        )  # fmt: skip
        assert (await desk.read(order_id))["trades"][0]["price"] == 90
        stages = await desk.stages()
        assert [stages[name]["traded"] for name in ("DAY_AHEAD", "IDA1", "OTHER")] == [
            {"bought": 0.1, "sold": 0.1}, {"bought": 0.05, "sold": 0}, {"bought": 0, "sold": 0},
        ]  # fmt: skip
        assert [stages[name]["earned"] for name in ("DAY_AHEAD", "IDA1")] == [0, -4.5]

    async def test_counts_once_whoever_posts_it_at_the_same_time(self, make_desk, people, app):
        desk = await make_desk()
        order_id = await desk.place("DAY_AHEAD", {0: 500}, apply=True)
        result = await desk.result(order_id)
        answers = await asyncio.gather(*(desk.report(result) for _ in range(6)))
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.text for answer in answers}) == 1
        assert len(await desk.trades()) == 1
        events = await events_of(app.pool, desk.battery.organisation.id, subject=f"orders/{order_id}")
        assert [event.type for event in events] == ["order.placed", "order.executed"]

    async def test_is_not_contradicted_but_by_a_correction(self, make_desk):
        desk = await make_desk()
        order_id = await desk.place("DAY_AHEAD", {0: 500})
        await desk.execute(order_id, price=80)
        other = await desk.result(order_id, price=81)
        assert kind_of(await desk.report(other)) == (409, "contradicts-order-result")
        assert (await desk.report({**other, "correction": True})).status_code == 200
        assert [one["price"] for one in await desk.trades()] == [81]
        taken_back = {"orderID": order_id, "executed": False, "correction": True}
        assert (await desk.report(taken_back)).json() == [{"orderID": order_id, "status": "NOT_EXECUTED"}]
        assert [one["volume"] for one in await desk.trades()] == [0]
        assert not any(await desk.positions())

    async def test_has_exactly_the_volumes_of_the_order(self, make_desk):
        desk = await make_desk()
        order_id = await desk.place("DAY_AHEAD", {0: 500, 1: -500})
        good = await desk.result(order_id)
        sold, bought = good["trades"]
        for trades, places in (
            ([{**sold, "volume": 0.1}, bought], ["/0/trades/0/volume"]),
            ([{**sold, "side": "BUY"}, bought], ["/0/trades/0/side"]),
            ([sold], ["/0/trades"]),
            ([sold, sold, bought], ["/0/trades/1/time"]),
            ([sold, bought, {**bought, "time": desk.time(2)}], ["/0/trades/2/time"]),
        ):
            answer = await desk.report({**good, "trades": trades})
            assert (*kind_of(answer), pointers(answer)) == (422, "execution-mismatch", places)
        odd = await desk.report({**good, "executed": False})
        assert (*kind_of(odd), pointers(odd)) == (400, "bad-request", ["/0/trades"])
        unknown = await desk.report({**good, "orderID": desk.battery.asset["id"]})
        assert (*kind_of(unknown), pointers(unknown)) == (422, "unknown-order", ["/0/orderID"])
        assert await desk.trades() == []

    async def test_of_a_cancelled_order_is_refused_with_all_others(self, make_desk):
        desk = await make_desk()
        cancelled, placed = await desk.place("DAY_AHEAD", {0: 100}), await desk.place("DAY_AHEAD", {0: 200})
        results = [{"orderID": cancelled, "executed": False}, await desk.result(placed)]
        answer = await desk.report(*results)
        assert (*kind_of(answer), pointers(answer)) == (409, "order-not-waiting", ["/0/orderID"])
        assert await desk.trades() == []

    async def test_and_a_cancellation_at_the_same_time_end_in_one_state(self, make_desk):
        for _ in range(4):
            desk = await make_desk()
            order_id = await desk.place("DAY_AHEAD", {0: 500})
            result = await desk.result(order_id)
            reported, cancelled = await asyncio.gather(
                desk.report(result), desk.trader.delete(f"{desk.orders_url}/{order_id}")
            )
            booked = (reported.status_code, cancelled.status_code) == (200, 409)
            assert booked or (reported.status_code, cancelled.status_code) == (409, 204)
            assert len(await desk.trades()) == booked


class TestTheTradesOfAnOrder:
    async def test_are_recorded_by_results_alone(self, make_desk):
        desk = await make_desk()
        row = {"assetID": desk.battery.asset["id"], "tradeID": "order-1", "time": desk.time(0), "side": "SELL"}
        row |= {"volume": 0.1, "price": 50, "market": "DAY_AHEAD"}
        for client in (desk.trader, desk.operator):
            answer = await client.post("/settlements/wholesale-trades", json=[row])
            assert (*kind_of(answer), pointers(answer)) == (422, "trade-of-an-order", ["/0/tradeID"])
        odd = await desk.trader.post("/settlements/wholesale-trades", json=[{**row, "tradeID": "1", "stage": "IDA1"}])
        assert (odd.status_code, pointers(odd)) == (400, ["/0/stage"])

    async def test_stand_for_the_traders_own_rows_at_that_stage(self, make_desk):
        desk = await make_desk()
        await desk.execute(await desk.place("IDA1", {0: 500}))
        row = {"assetID": desk.battery.asset["id"], "tradeID": "mine", "side": "SELL", "volume": 0.125, "price": 80}
        row |= {"market": "INTRADAY_AUCTION"}
        rows = [
            {**row, "time": desk.time(0), "stage": "IDA1"},
            {**row, "tradeID": "other", "time": desk.time(0), "stage": "IDA2"},
            {**row, "time": desk.time(1), "stage": "IDA1"},
        ]
        answer = await desk.trader.post("/settlements/wholesale-trades", json=rows)
        assert answer.json() == {"received": 3, "inserted": 2, "replaced": 0, "unchanged": 1}
        assert (await desk.positions())[:2] == [1000, 500]


class TestAnAppliedOrder:
    async def test_schedules_the_position_in_the_periods_whose_gates_are_open(self, fresh_app):
        day = open_day()
        edge = await fresh_app(gate_of(Stage.IDA3, day) - timedelta(minutes=10))
        async with desk_of(edge, day) as desk:
            order_id = await desk.place("IDA3", {60: 300, 61: -300}, apply=True)
            await set_clock(desk, market_day_window(day).start + 60 * QUARTER + timedelta(minutes=1))
            assert (await desk.execute(order_id))["applied"] is True
            assert (await desk.scheduled())[59:63] == [0, 0, -300, 0], "the first one's gate had closed"

    async def test_leaves_a_schedule_that_has_changed_since(self, make_desk, app):
        desk = await make_desk()
        order_id = await desk.place("DAY_AHEAD", {0: 500}, apply=True)
        body = {"schedule": desk.schedule({3: 100})}
        assert (await desk.trader.put(f"{desk.battery.url}/schedule", json=body)).status_code == 200
        executed = await desk.execute(order_id)
        assert (executed["applied"], executed["problem"]["type"]) == (False, "/docs/problems/schedule-changed")
        assert (await desk.scheduled())[:4] == [0, 0, 0, 100]
        assert (await desk.positions())[0] == 500, "the trades stand"
        [*_, event] = await events_of(app.pool, desk.battery.organisation.id, subject=f"orders/{order_id}")
        assert (event.data["applied"], event.data["problem"]["type"]) == (False, executed["problem"]["type"])

    async def test_leaves_the_schedule_that_an_outage_refuses(self, make_desk):
        desk = await make_desk()
        order_id = await desk.place("DAY_AHEAD", {0: 1000}, apply=True)
        start = market_day_window(desk.day).start
        body = {
            "description": "",
            "type": "OUTAGE",
            "start": wire(start),
            "end": wire(start + QUARTER),
            "volume": {"energyCapacity": 0, "powerCapacity": {"charge": 500, "discharge": 500}},
        }
        url = f"/physical-assets/{desk.battery.physical[0]['id']}/unavailability"
        assert (await desk.battery.organisation.engineer.post(url, json=body)).status_code == 201
        executed = await desk.execute(order_id)
        assert executed["problem"]["type"] == "/docs/problems/power-beyond-available"
        assert not any(await desk.scheduled())
