"""Orders: placed on the position that is recorded, replaced and cancelled until the gate, refused with the reason."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests.assets import pointers
from tests.concurrency import await_blocked
from tests.conftest import migrated_database, running
from tests.emitted import events_of
from tests.markets.conftest import desk_of, open_day, set_clock
from tests.people import client_of
from tests.virtual_assets.conftest import QUARTER
from tests.virtual_assets.test_conflicts import lose

from gridloom.kernel.market_stages import Stage, gate_of
from gridloom.kernel.market_time import market_day_window
from gridloom.kernel.shares import ShareLimits


def kind_of(answer):
    return answer.status_code, answer.json()["type"].rsplit("/", 1)[1]


class TestAnOrder:
    async def test_trades_the_change_of_the_position_and_holds_periods_that_are_left_out(self, make_desk):
        desk = await make_desk()
        first = await desk.place("DAY_AHEAD", {0: -1000, 1: -1000, 8: 1000})
        await desk.execute(first)
        second = await desk.read(await desk.place("IDA1", {1: -600, 8: 1000, 9: 300}))
        assert [(one["time"], one["side"], one["volume"]) for one in second["volumes"]] == [
            (desk.time(1), "SELL", 0.1),
            (desk.time(9), "SELL", 0.075),
        ]
        assert [point["power"] for point in second["schedule"]][:10] == [-1000, -600, *[0] * 6, 1000, 300]

    async def test_rests_on_all_trades_whatever_their_market(self, make_desk):
        desk = await make_desk()
        trade = {"assetID": desk.battery.asset["id"], "time": desk.time(4), "price": 50}
        rows = [
            {**trade, "tradeID": "T1", "side": "SELL", "volume": 0.1, "market": "OTC"},
            {**trade, "tradeID": "T2", "side": "BUY", "volume": 0.05, "market": "INTRADAY_CONTINUOUS"},
        ]
        assert (await desk.trader.post("/settlements/wholesale-trades", json=rows)).status_code == 200
        assert (await desk.positions())[4] == 200
        order = await desk.read(await desk.place("DAY_AHEAD", {4: 500, 5: -300}))
        assert [(one["side"], one["volume"]) for one in order["volumes"]] == [("SELL", 0.075), ("BUY", 0.075)]

    async def test_replaces_the_one_that_stands_at_its_stage(self, make_desk, app):
        desk = await make_desk()
        first, second = await desk.place("DAY_AHEAD", {0: 100}), await desk.place("DAY_AHEAD", {0: 200})
        assert [(await desk.read(one))["status"] for one in (first, second)] == ["CANCELLED", "STANDING"]
        assert (await desk.stages())["DAY_AHEAD"]["orderID"] == second
        waiting = (await desk.operator.get("/orders", params={"delivery-day": desk.day.isoformat()})).json()
        own = [one["id"] for one in waiting if one["virtualAssetID"] == desk.battery.asset["id"]]
        assert own == [second]
        events = await events_of(app.pool, desk.battery.organisation.id, subject="orders")
        assert [event.type for event in events] == ["order.placed", "order.cancelled", "order.placed"]

    async def test_waits_for_the_results_of_earlier_stages(self, make_desk):
        desk = await make_desk()
        first = await desk.place("DAY_AHEAD", {0: 500})
        early = await desk.post(await desk.order("IDA1", {0: 400}))
        assert kind_of(early) == (409, "result-outstanding")
        assert early.json()["orderID"] == first
        answer = await desk.report({"orderID": first, "executed": False})
        assert answer.json()[0]["status"] == "NOT_EXECUTED"
        later = await desk.place("IDA1", {0: 400})
        assert (await desk.read(later))["volumes"][0]["volume"] == 0.1, "nothing was executed before"
        assert kind_of(await desk.post(await desk.order("DAY_AHEAD", {0: 500}))) == (409, "later-order-standing")

    async def test_is_made_for_the_markets_as_they_are(self, make_desk):
        desk = await make_desk()
        order = await desk.order("DAY_AHEAD", {0: 100})
        trade = {"assetID": desk.battery.asset["id"], "tradeID": "T1", "time": desk.time(4), "side": "SELL"}
        rows = [{**trade, "volume": 0.1, "price": 50, "market": "OTC"}]
        assert (await desk.trader.post("/settlements/wholesale-trades", json=rows)).status_code == 200
        changed = await desk.post(order)
        assert kind_of(changed) == (412, "precondition-failed")
        assert changed.json()["orders"][0]["etag"] == (await desk.etag()).strip('"')
        order.pop("ifMatch")
        assert kind_of(await desk.post(order)) == (428, "precondition-required")

    async def test_changes_with_availability_and_blocks(self, make_desk):
        desk = await make_desk()
        before, start = await desk.etag(), market_day_window(desk.day).start
        assert (await lose(desk.battery, start, start + 4 * QUARTER, power=100)).status_code == 201
        between = await desk.etag()
        assert (await desk.battery.carve(32, 16, "FCR", 100, 100)).status_code == 201
        assert len({before, between, await desk.etag()}) == 3

    async def test_is_known_to_its_holder_and_the_operator_alone(self, make_desk, app, new_organisation):
        desk = await make_desk()
        owner = await new_organisation()
        order_id = await desk.place("DAY_AHEAD", {0: 100})
        url = f"{desk.orders_url}/{order_id}"
        assert [(await client.get(url)).status_code for client in (desk.operator, owner.trader)] == [200, 403]
        assert (await desk.markets(owner.trader)).status_code == 403
        admin = desk.battery.organisation.admin
        assert (await admin.get("/orders")).status_code == 403
        assert (await desk.report({"orderID": order_id, "executed": False}, client=admin)).status_code == 403
        rows = await app.pool.fetch(
            """select asset_key, type from event_outbox where subject = $1
               union all select asset_key, type from event where subject = $1""",
            f"orders/{order_id}",
        )
        assert {(row["asset_key"], row["type"]) for row in rows} == {(None, "order.placed")}

    async def test_needs_the_permission_to_schedule_where_it_applies(self, make_desk):
        desk = await make_desk()
        made = await desk.battery.organisation.admin.post(
            "/auth/api-keys", json={"name": "orders", "permissions": ["Create:trades", "Read:virtual-assets"]}
        )
        assert made.status_code == 201, made.text
        async with client_of(desk.battery.edge, made.json()["secret"]) as key:
            order = await desk.order("DAY_AHEAD", {0: 100})
            assert (await desk.post({**order, "apply": True}, client=key)).status_code == 403
            assert (await desk.post(order, client=key)).status_code == 201

    async def test_keeps_its_asset_from_being_deleted(self, make_desk):
        desk = await make_desk()
        order_id = await desk.place("DAY_AHEAD", {0: 100})
        assert kind_of(await desk.operator.delete(desk.battery.url)) == (409, "allocation-stands")
        assert (await desk.trader.delete(f"{desk.orders_url}/{order_id}")).status_code == 204
        assert (await desk.operator.delete(desk.battery.url)).status_code == 204

    async def test_is_placed_with_all_others_of_the_request_or_not_at_all(self, make_desk):
        desk = await make_desk()
        good = await desk.order("DAY_AHEAD", {0: 100})
        answer = await desk.post(good, await desk.order("IDA1", {0: 200}))
        assert (*kind_of(answer), pointers(answer)) == (409, "result-outstanding", ["/1"])
        assert [(one["index"], one["status"]) for one in answer.json()["orders"]] == [(1, 409)]
        assert (await desk.trader.get(desk.orders_url)).json() == []


CYCLE = {0: -1000, 1: -1000, 2: -1000, 3: -1000, 4: 1000, 5: 1000, 6: 1000, 7: 1000}
DAY = ["/0/deliveryDay"]
REFUSED: tuple[Any, ...] = (
    ("not a lot", "DAY_AHEAD", {0: 150, 1: 100}, {}, 422, "not-a-lot", ["/0/schedule/0/power"]),
    ("beyond its power", "DAY_AHEAD", {2: 1100}, {}, 422, "position-not-runnable", ["/0"]),
    ("beyond its energy", "DAY_AHEAD", dict.fromkeys(range(5), 1000), {}, 422, "position-not-runnable", ["/0"]),
    ("beyond its cycles", "DAY_AHEAD", CYCLE | {8: 100}, {}, 422, "position-not-runnable", ["/0"]),
    ("before what the stage trades", "IDA3", {47: 100}, {}, 422, "outside-stage", ["/0/schedule/0/power"]),
    ("no schedule", "IDA1", None, {}, 400, "bad-request", ["/0/schedule"]),
    ("reserves at an auction", "IDA1", {0: 100}, {"reserves": []}, 400, "bad-request", ["/0/reserves"]),
    (
        "a day without a life",
        "IDA1",
        {0: 100},
        {"deliveryDay": "2031-01-01"},
        422,
        "no-delivery-day",
        ["/0/deliveryDay"],
    ),
    ("a fee finer than cents", "IDA1", {0: 100}, {"fee": 0.001}, 400, "bad-request", ["/0/fee"]),
    ("a stage without orders", "CONTINUOUS", {0: 100}, {}, 400, "bad-request", ["/0/stage"]),
    ("an unknown field", "IDA1", {0: 100}, {"limit": 3}, 400, "bad-request", ["/0/limit"]),
)


class TestARefusedOrder:
    async def test_says_where_it_breaks_which_rule_and_changes_nothing(self, make_desk):
        desk = await make_desk(dailyCycleLimit=0.5)
        for case, stage, powers, more, status, type, places in REFUSED:
            answer = await desk.post(await desk.order(stage, powers, **more))
            assert (*kind_of(answer), pointers(answer)) == (status, type, places), f"{case}: {answer.text}"
        assert (await desk.trader.get(desk.orders_url)).json() == []

    async def test_names_the_assets_that_are_not_the_organisations(self, make_desk):
        desk, other = await make_desk(), await make_desk()
        answer = await desk.post(await other.order("DAY_AHEAD", {0: 100}))
        assert (*kind_of(answer), pointers(answer)) == (422, "unknown-virtual-asset", ["/0/virtualAssetID"])


class TestManyOrders:
    async def test_take_a_place_of_their_organisations_computations_and_a_few_none(self, settings):
        limits = ShareLimits(computations_running=1, computations_waiting=0)
        async with (
            migrated_database() as url,
            running(replace(settings, database_url=url, shares=limits)) as service,
            desk_of(service, open_day()) as desk,
        ):
            days = [str(desk.day + timedelta(days=after)) for after in range(2)]
            order = await desk.order("DAY_AHEAD", {0: 100})
            many = [{**order, "deliveryDay": day, "stage": stage} for day in days for stage in ("IDA1", "IDA2", "IDA3")]
            answers = await asyncio.gather(*(desk.post(*many) for _ in range(4)))
            refused = [answer for answer in answers if answer.status_code == 429]
            assert 1 <= len(refused) < 4, [answer.text for answer in answers]
            assert {(kind_of(answer)[1], answer.json()["share"]) for answer in refused} == {
                ("share-exceeded", "computations")
            }
            answers = await asyncio.gather(*(desk.post(*many[:5]) for _ in range(4)))
            assert 429 not in {answer.status_code for answer in answers}


class TestTheGate:
    async def test_is_the_exchanges_and_exclusive(self, fresh_app):
        day = open_day()
        gate = gate_of(Stage.IDA1, day)
        edge = await fresh_app(gate - timedelta(minutes=10))
        async with desk_of(edge, day) as desk:
            stages = await desk.stages()
            assert [(name, stages[name]["status"]) for name in ("DAY_AHEAD", "IDA1", "IDA2", "OTHER")] == [
                ("DAY_AHEAD", "PAST"), ("IDA1", "NEXT"), ("IDA2", "LATER"), ("OTHER", "LATER"),
            ]  # fmt: skip
            assert stages["IDA1"]["gate"] == gate.strftime("%Y-%m-%dT%H:%M:%SZ")
            placed, cancelled = await desk.place("IDA1", {0: 100}), await desk.order("IDA1", {0: 200})
            await set_clock(desk, gate)
            assert kind_of(await desk.post(cancelled)) == (409, "gate-passed")
            refused = await desk.trader.delete(f"{desk.orders_url}/{placed}")
            assert (refused.status_code, refused.json()["gate"]) == (409, stages["IDA1"]["gate"])
            await desk.execute(placed)

    async def test_has_a_complete_list_of_what_was_placed_in_time(self, fresh_app):
        """An order that was judged in time and commits after the gate is in the list that is read meanwhile."""
        day = open_day()
        gate = gate_of(Stage.DAY_AHEAD, day)
        edge = await fresh_app(gate - timedelta(minutes=10))
        async with desk_of(edge, day) as desk:
            order = await desk.order("DAY_AHEAD", {0: 100})
            async with edge.pool.acquire() as connection, connection.transaction():
                await connection.execute("lock table market_order in exclusive mode")
                placing = asyncio.ensure_future(desk.post(order))
                await await_blocked(edge, connection, placing)
                async with edge.pool.acquire() as clock:
                    await clock.execute("update sandbox_clock set ahead = $1::timestamptz - clock_timestamp()", gate)
                params = {"stage": "DAY_AHEAD", "delivery-day": day.isoformat()}
                listing = asyncio.ensure_future(desk.operator.get("/orders", params=params))
                await asyncio.sleep(0.2)
                assert not listing.done(), "an order that was in time is still to come"
            placed = await placing
            assert placed.status_code == 201, placed.text
            assert [one["id"] for one in (await listing).json()] == [placed.json()[0]["id"]]

    async def test_of_delivery_makes_an_order_without_a_result_overdue(self, fresh_app):
        day = open_day()
        edge = await fresh_app(gate_of(Stage.IDA2, day) - timedelta(minutes=10))
        async with desk_of(edge, day) as desk:
            order_id = await desk.place("IDA2", {40: 100}, apply=True)
            await set_clock(desk, market_day_window(day).start + timedelta(minutes=1))
            assert (await desk.read(order_id))["status"] == "OVERDUE"
            assert (await desk.execute(order_id)) == {"orderID": order_id, "status": "EXECUTED", "applied": True}
            assert (await desk.scheduled())[40] == 100
            events = await events_of(edge.pool, desk.battery.organisation.id, subject="orders")
            assert [event.type for event in events] == ["order.placed", "order.overdue", "order.executed"]
