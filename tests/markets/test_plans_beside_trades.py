"""Plans beside what is scheduled, sold and ordered already: orders take them, and nothing is forced without a need."""

from __future__ import annotations

import os
import random
from collections.abc import Awaitable, Callable
from datetime import date, timedelta
from typing import Any

import pytest
from tests.clock_changes import next_day_of
from tests.markets.conftest import Desk, desk_of, open_day, set_clock
from tests.markets.test_plans import break_down, order_plan, plan, publish, random_desk
from tests.people import People
from tests.virtual_assets.conftest import wire

from gridloom.kernel.market_stages import AUCTION_STAGES, Stage, gate_of
from gridloom.kernel.market_time import market_day_window
from gridloom.platform.http.application import Application

FreshApp = Callable[..., Awaitable[Application]]


async def publish_flat(operator: Any, first: date, days: int, price: float = 50.0) -> None:
    """Day-ahead prices that give no reason to trade."""
    rows = []
    for ahead in range(days):
        window = market_day_window(first + timedelta(days=ahead))
        rows.append({"series": "DAY_AHEAD_DE_LU", "start": wire(window.start), "end": wire(window.end), "price": price})
    answer = await operator.post("/reference-prices", json=rows)
    assert answer.status_code == 200, answer.text


async def sell_over_the_counter(desk: Desk, powers: dict[str, float]) -> None:
    """By time."""
    rows = [
        {
            "assetID": desk.battery.asset["id"],
            "tradeID": "forward",
            "time": time,
            "side": "SELL" if power > 0 else "BUY",
            "volume": abs(power) / 4000,
            "price": 60,
            "market": "OTC",
        }
        for time, power in powers.items()
        if power
    ]
    answer = await desk.trader.post("/settlements/wholesale-trades", json=rows)
    assert answer.status_code == 200, answer.text


class TestTheEndOfADay:
    async def test_is_that_of_the_day_ahead_position_however_the_morning_was_traded_anew(
        self, fresh_app: FreshApp
    ) -> None:
        """What the day-ahead auction bought for the morning was bought for the afternoon instead."""
        day = open_day()
        edge = await fresh_app(gate_of(Stage.DAY_AHEAD, day) - timedelta(minutes=10))
        async with desk_of(edge, day) as desk:
            await desk.execute(await desk.place("DAY_AHEAD", {8: -1000, 9: -1000, 80: 1000, 81: 1000}, apply=True))
            await desk.execute(await desk.place("IDA1", {8: 0, 9: 0, 60: -1000, 61: -1000}, apply=True))
            await publish_flat(desk.operator, day, 2)
            await set_clock(desk, gate_of(Stage.IDA3, day) - timedelta(minutes=10))
            found = await plan(desk, "IDA3")
            assert "forced" not in found
            assert found["trades"] == []
            assert found["endStateOfCharge"] == pytest.approx(0.5)


class TestAYearlyBudget:
    async def test_of_few_past_days_forces_no_trade_of_what_is_sold_already(self, fresh_app: FreshApp) -> None:
        """A day's even share of the budget is less than the cycle that was sold over the counter."""
        edge, day = await fresh_app(), open_day()
        end = wire(market_day_window(day + timedelta(days=3)).end)
        async with desk_of(edge, day, annualCycleLimit=1.5, end=end) as desk:
            await publish_flat(desk.operator, day - timedelta(days=10), 12)
            powers = {20: -1000.0, 60: 1000.0, 64: 1000.0, 80: -1000.0}
            await sell_over_the_counter(
                desk, {desk.time(first + more): power for first, power in powers.items() for more in range(4)}
            )
            for stage in ("DAY_AHEAD", "IDA1"):
                found = await plan(desk, stage)
                assert "wearPrice" in found
                assert "forced" not in found, stage


class TestReserves:
    async def test_are_planned_as_if_the_order_that_they_replace_were_gone(self, fresh_app: FreshApp) -> None:
        edge, day = await fresh_app(), open_day()
        async with desk_of(edge, day) as desk:
            await publish(desk.operator, day)
            first = await plan(desk, "FCR")
            assert first["reserves"]
            await order_plan(desk, first)
            again = await plan(desk, "FCR")
            assert again["reserves"] == first["reserves"]
            await order_plan(desk, again)

    async def test_leave_what_is_scheduled_and_sold(self, fresh_app: FreshApp) -> None:
        """Over random batteries with blocks, outages, schedules and trades. EXPLORE=1 tries eighty."""
        edge, day = await fresh_app(), open_day()
        async with People(edge) as people:
            operator = (await people.operator()).client
            await publish(operator, day)
            organisation = await people.new_organisation()
            offered = 0
            for seed in range(80 if os.environ.get("EXPLORE") else 8):
                rng = random.Random(seed)
                desk = await random_desk(edge, operator, organisation, day, rng)
                if rng.random() < 0.3:
                    await break_down(desk, rng)
                wanted = await plan(desk, "DAY_AHEAD")
                if rng.random() < 0.7:
                    body = {"schedule": wanted["schedule"]}
                    put = await desk.trader.put(f"{desk.battery.url}/schedule", json=body)
                    assert put.status_code == 200, (seed, put.text)
                if rng.random() < 0.5:
                    half = {point["time"]: point["power"] / 2 for point in wanted["schedule"]}
                    if any(half.values()):
                        await sell_over_the_counter(desk, half)
                for stage in ("FCR", "AFRR"):
                    found = await plan(desk, stage)
                    if found["reserves"]:
                        offered += 1
                        order_id = await order_plan(desk, found)
                        rows = [
                            {"product": one["product"], "acceptedCapacity": one["capacity"], "price": 9}
                            for one in found["reserves"]
                        ]
                        answer = await desk.report({"orderID": order_id, "executed": True, "reserves": rows})
                        assert answer.status_code == 200, answer.text
                        assert "problem" not in answer.json()[0], (seed, answer.text)
            assert offered >= 6


class TestAMarketDay:
    @pytest.mark.parametrize("hours", [23, 24, 25])
    async def test_is_planned_and_ordered_gate_by_gate_as_the_clock_goes(self, fresh_app: FreshApp, hours: int) -> None:
        """Random batteries, some of which schedule what they trade; an outage now and then. Without one no trade is
        forced. EXPLORE=1 tries sixty."""
        day = next_day_of(hours, in_days=3)
        edge = await fresh_app(gate_of(Stage.DAY_AHEAD, day) - timedelta(hours=1))
        async with People(edge) as people:
            operator = (await people.operator()).client
            await publish(operator, day)
            organisation = await people.new_organisation()
            desks = {
                seed: await random_desk(edge, operator, organisation, day, random.Random(seed))
                for seed in range(hours, hours + (60 if os.environ.get("EXPLORE") else 3))
            }
            broken: set[int] = set()
            for stage in AUCTION_STAGES:
                await set_clock(desks[hours], gate_of(stage, day) - timedelta(minutes=10))
                for seed, desk in desks.items():
                    rng = random.Random(f"{seed} {stage}")
                    if stage is not Stage.DAY_AHEAD and rng.random() < 0.1:
                        broken.add(seed)
                        await break_down(desk, rng)
                    found = await plan(desk, stage)
                    assert len(found["schedule"]) <= (48 if stage is Stage.IDA3 else 4 * hours)
                    applies = random.Random(seed).random() < 0.8
                    executed = await desk.execute(await order_plan(desk, found, apply=applies), 70)
                    if applies and seed not in broken:
                        assert "forced" not in found, (seed, stage)
                        assert executed["applied"], (seed, stage, executed)
