"""What is planned at a stage is taken by the real orders and by the real PUT, stage after stage."""

from __future__ import annotations

import os
import random
from collections.abc import Awaitable, Callable
from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from tests.markets.conftest import Desk, desk_of, open_day
from tests.optimiser.synthetic_prices import load_days, shaped_day
from tests.people import OrganisationUnderTest, People
from tests.virtual_assets.conftest import QUARTER, Battery, new_asset, register, wire

from gridloom.kernel.market_time import block_window, market_day_window
from gridloom.platform.http.application import Application

AUCTIONS = ("DAY_AHEAD", "IDA1", "IDA2", "IDA3")
MARGINAL = ("AFRR_CAPACITY_POS_DE_MARGINAL", "AFRR_CAPACITY_NEG_DE_MARGINAL")


async def publish(operator: Any, day: date) -> None:
    """Prices of thirty days and of the day itself: every auction, FCR and aFRR capacity."""
    await load_days(operator, day - timedelta(days=30), 31)
    rng, rows = np.random.default_rng(3), []
    for ahead in range(-12, 1):
        one = day + timedelta(days=ahead)
        start = market_day_window(one).start
        prices = shaped_day(one)
        for series, size in (("IDA1_DE_LU", 15.0), ("IDA2_DE_LU", 9.0), ("IDA3_DE_LU", 9.0)):
            prices = prices + rng.normal(0, size, len(prices))
            rows += [
                {
                    "series": series,
                    "start": wire(start + place * QUARTER),
                    "end": wire(start + (place + 1) * QUARTER),
                    "price": round(price, 2),
                }
                for place, price in enumerate(prices.tolist())
            ]
        for series, level in (("FCR_DE", 9.0), *((name, 6.0) for name in MARGINAL)):
            for hour in range(0, 24, 4):
                block = block_window(one, hour, hour + 4)
                price = round(level + float(rng.random()), 2)
                rows.append({"series": series, "start": wire(block.start), "end": wire(block.end), "price": price})
    answer = await operator.post("/reference-prices", json=rows, timeout=60)
    assert answer.status_code == 200, answer.text


async def random_desk(
    edge: Application, operator: Any, organisation: OrganisationUnderTest, day: date, rng: random.Random
) -> Desk:
    """Any power, size, losses, cycles and life around the day; now and then a schedule, a reserve, a second block."""
    power, hours = rng.choice([50.0, 450.0, 1000.0, 4000.0]), rng.choice([1.0, 2.0, 4.0])
    physical = await register(
        operator,
        organisation.id,
        ratedChargePower=power * 1.2,
        ratedDischargePower=power * 1.2,
        energyCapacity=power * hours * 1.3,
        chargeEfficiency=1.0,
        dischargeEfficiency=1.0,
    )
    window = market_day_window(day)
    changes: dict[str, Any] = {
        "start": wire(window.start - rng.choice([0, 24, 90]) * QUARTER),
        "end": wire(window.end + rng.choice([0, 0, 40, 96]) * QUARTER),
        "ratedChargePower": power * rng.choice([0.5, 1.0]),
        "ratedDischargePower": power,
        "energyCapacity": power * hours,
        "chargeEfficiency": rng.choice([0.85, 0.943, 1.0]),
        "dischargeEfficiency": rng.choice([0.85, 0.943, 1.0]),
    }
    if rng.random() < 0.5:
        changes["dailyCycleLimit"] = rng.choice([0.5, 1.0, 2.0])
    if rng.random() < 0.3:
        changes["annualCycleLimit"] = rng.choice([1.0, 300.0])
    answer = await operator.post(
        f"/organisations/{organisation.id}/virtual-assets", json=new_asset([physical], **changes)
    )
    assert answer.status_code == 201, answer.text
    desk = Desk(Battery(organisation, organisation.trader, answer.json(), [physical], edge), operator, day)
    if rng.random() < 0.3:
        at = (window.start - desk.battery.start) // QUARTER
        await desk.battery.carve(at + 16 * rng.randint(0, 5), 16, "FCR", power * 0.2, power * 0.2)
    if rng.random() < 0.3:
        await desk.battery.carve(0, 30, "WHOLESALE", power * 0.25, power * 0.25)
    if rng.random() < 0.4:
        last = (desk.battery.end - desk.battery.start) // QUARTER
        await desk.battery.put([power * 0.1] * 3, last - 3)
    return desk


async def plan(desk: Desk, stage: str | None = None, **more: Any) -> Any:
    body = {"deliveryDay": desk.day.isoformat(), **({} if stage is None else {"stage": stage}), **more}
    answer = await desk.trader.post(f"{desk.battery.url}/market-plans", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def order_plan(desk: Desk, found: Any, **more: Any) -> str:
    """Order exactly what was planned."""
    asked = {
        **more,
        "virtualAssetID": desk.battery.asset["id"],
        "ifMatch": found["ifMatch"],
        "stage": found["stage"],
        "deliveryDay": found["deliveryDay"],
    }
    if found["reserves"]:
        asked["reserves"] = found["reserves"]
    else:
        asked |= {name: found[name] for name in ("schedule", "minimumSurplus", "atAnyPrice") if name in found}
    answer = await desk.post(asked)
    assert answer.status_code == 201, answer.text
    return str(answer.json()[0]["id"])


async def break_down(desk: Desk, rng: random.Random) -> None:
    """Some hours in which most of the power is gone."""
    start = market_day_window(desk.day).start + rng.randint(0, 60) * QUARTER
    rated = desk.battery.physical[0]["parameters"]["ratedDischargePower"]
    answer = await desk.operator.post(
        f"/physical-assets/{desk.battery.physical[0]['id']}/unavailability",
        json={
            "description": "Fuse",
            "type": "OUTAGE",
            "start": wire(start),
            "end": wire(start + 24 * QUARTER),
            "volume": {"energyCapacity": 0, "powerCapacity": {"charge": 0.9 * rated, "discharge": 0.9 * rated}},
        },
    )
    assert answer.status_code in (200, 201), answer.text


async def trade_day(desk: Desk, rng: random.Random) -> dict[str, Any]:
    """Plan, order and execute every auction; what was planned at each."""
    plans = {}
    for stage in AUCTIONS:
        if stage == "IDA2" and rng.random() < 0.4:
            await break_down(desk, rng)
        found = plans[stage] = await plan(desk, stage)
        total = {one["time"]: one["power"] for one in found["schedule"]}
        assert all(abs(one["power"] / 100 - round(one["power"] / 100)) < 1e-6 for one in found["trades"])
        assert sum(trip["gain"] for trip in found["trips"]) == pytest.approx(found["worth"], abs=0.01) or (
            "wearPrice" in found
        )
        assert found["p10"] <= found["worth"] + 1e-9 <= found["p90"] + 2e-9
        order = await order_plan(desk, found)
        await desk.execute(order, 70)
        put = await desk.trader.put(
            f"{desk.battery.url}/schedule",
            json={"schedule": [{"time": time, "power": power} for time, power in total.items()]},
        )
        assert put.status_code == 200, (stage, put.text)
    return plans


class TestAPlanOfADay:
    async def test_is_taken_by_orders_and_by_the_put_at_every_stage(
        self, fresh_app: Callable[[], Awaitable[Application]]
    ) -> None:
        """EXPLORE=1 tries five hundred batteries."""
        edge, day = await fresh_app(), open_day()
        async with People(edge) as people:
            operator = (await people.operator()).client
            await publish(operator, day)
            organisation = await people.new_organisation()
            traded = forced = 0
            for seed in range(500 if os.environ.get("EXPLORE") else 6):
                rng = random.Random(seed)
                desk = await random_desk(edge, operator, organisation, day, rng)
                plans = await trade_day(desk, rng)
                traded += any(one["trades"] for one in plans.values())
                forced += any("forced" in one for one in plans.values())
            assert traded >= 4
            assert forced >= 1, "an outage between two auctions"

    async def test_offers_reserves_first_and_plans_beside_them(
        self, fresh_app: Callable[[], Awaitable[Application]]
    ) -> None:
        """FCR, then aFRR beside the FCR that an order holds: each is taken by the real order."""
        edge, day = await fresh_app(), open_day()
        async with People(edge) as people:
            operator = (await people.operator()).client
            await publish(operator, day)
            organisation = await people.new_organisation()
            desk = await random_desk(edge, operator, organisation, day, random.Random(11))
            fcr = await plan(desk, "FCR")
            assert fcr["stage"] == "FCR"
            assert fcr["reserves"], "FCR pays more than the wholesale market here"
            assert fcr["trades"] == fcr["schedule"] == []
            assert fcr["p10"] <= fcr["worth"] <= fcr["p90"]
            order = await order_plan(desk, fcr)
            body = {"deliveryDay": day.isoformat(), "stage": "AFRR"}
            waiting = await desk.trader.post(f"{desk.battery.url}/market-plans", json=body)
            assert waiting.status_code == 409, waiting.text
            assert waiting.json()["type"].endswith("/result-outstanding")
            rows = [
                {"product": one["product"], "acceptedCapacity": one["capacity"], "price": 9.5}
                for one in fcr["reserves"]
            ]
            answer = await desk.report({"orderID": order, "executed": True, "reserves": rows})
            assert answer.status_code == 200, answer.text
            afrr = await plan(desk, "AFRR")
            assert all(one["energyPrice"] is not None for one in afrr["reserves"])
            if afrr["reserves"]:
                await desk.report({"orderID": await order_plan(desk, afrr), "executed": False})
            await desk.execute(await order_plan(desk, await plan(desk, "DAY_AHEAD")), 60)

    async def test_ends_beside_its_target_where_no_lot_reaches_it(
        self, fresh_app: Callable[[], Awaitable[Application]]
    ) -> None:
        """A battery of half a lot, charged to more than its target on the last day of its life."""
        edge, day = await fresh_app(), open_day()
        window = market_day_window(day)
        small = {"ratedChargePower": 50, "ratedDischargePower": 50, "energyCapacity": 100}
        life = {"start": wire(window.start - 96 * QUARTER), "end": wire(window.end)}
        async with desk_of(edge, day, **small, **life) as desk:
            await publish(desk.operator, day)
            assert (await desk.battery.put([-50.0, -50.0])).status_code == 200
            for stage in ("DAY_AHEAD", "IDA1"):
                found = await plan(desk, stage)
                assert found["trades"] == []
                assert found["endStateOfCharge"] > 0.6

    async def test_is_made_for_each_asset_of_a_portfolio(self, fresh_app: Callable[[], Awaitable[Application]]) -> None:
        edge, day = await fresh_app(), open_day()
        async with People(edge) as people:
            operator = (await people.operator()).client
            await publish(operator, day)
            organisation = await people.new_organisation()
            desks = [await random_desk(edge, operator, organisation, day, random.Random(seed)) for seed in (3, 5)]
            ids = [desk.battery.asset["id"] for desk in desks]
            made = await organisation.trader.post(
                f"/organisations/{organisation.id}/portfolios", json={"name": "Both", "virtualAssetIDs": ids}
            )
            url = f"/organisations/{organisation.id}/portfolios/{made.json()['id']}/market-plans"
            answer = await organisation.trader.post(url, json={"deliveryDay": day.isoformat(), "stage": "DAY_AHEAD"})
            assert answer.status_code == 200, answer.text
            found = answer.json()
            alone = {desk.battery.asset["id"]: await plan(desk, "DAY_AHEAD") for desk in desks}
            assert {one["virtualAssetID"]: one["schedule"] for one in found["assets"]} == {
                id: one["schedule"] for id, one in alone.items()
            }
            assert found["worth"] == pytest.approx(sum(one["worth"] for one in alone.values()))

    async def test_is_refused_after_the_gate_without_prices_and_without_a_life(
        self, fresh_app: Callable[[], Awaitable[Application]]
    ) -> None:
        edge, day = await fresh_app(), open_day()
        async with People(edge) as people:
            organisation = await people.new_organisation()
            operator = (await people.operator()).client
            desk = await random_desk(edge, operator, organisation, day, random.Random(3))
            url = f"{desk.battery.url}/market-plans"
            for body, status, kind in (
                ({"deliveryDay": day.isoformat(), "stage": "IDA1"}, 422, "prices-missing"),
                ({"deliveryDay": (day - timedelta(days=4)).isoformat()}, 409, "gate-passed"),
                ({"deliveryDay": day.isoformat(), "stage": "CONTINUOUS"}, 400, "bad-request"),
                ({"deliveryDay": day.isoformat(), "fee": -1}, 400, "bad-request"),
            ):
                answer = await desk.trader.post(url, json=body)
                assert (answer.status_code, answer.json()["type"].rsplit("/", 1)[-1]) == (status, kind), answer.text
            await publish(operator, day)
            far = {"deliveryDay": (day + timedelta(days=9)).isoformat(), "stage": "DAY_AHEAD"}
            answer = await desk.trader.post(url, json=far)
            assert (answer.status_code, answer.json()["type"].rsplit("/", 1)[-1]) == (422, "no-delivery-day"), (
                answer.text
            )
            assert (await organisation.viewer.post(url, json=far)).status_code == 403
