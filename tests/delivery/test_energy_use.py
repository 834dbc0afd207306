"""Cycles and throughput of a battery's days and years against their limits, and what it earns per MW."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from tests.delivery.conftest import Yard
from tests.virtual_assets.conftest import QUARTER, wire

from gridloom.delivery.performance.energy_use import count_power
from gridloom.delivery.performance.measured import MeasuredMean, Measurements
from gridloom.kernel.market_time import market_day_of, market_day_window

LIMITS = {"dailyCycleLimit": 2, "annualCycleLimit": 500}
DAY = [400.0] * 4 + [-400.0 / 0.81] * 4
"""400 kWh out of the grid's side and back in: a fifth of a cycle of 2,000 kWh."""


async def performance(yard: Yard, battery: dict[str, Any], client: Any = None, **params: str) -> Any:
    window = {"start": wire(yard.start), "end": wire(yard.start + timedelta(days=3)), **params}
    answer = await (client or yard.owner.admin).get(f"/physical-assets/{battery['id']}/performance", params=window)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def deliver_days(yard: Yard, count: int) -> dict[str, Any]:
    """A battery that discharges and charges in the first two hours of each day, until an hour into the last."""
    battery = await yard.battery(**LIMITS)
    virtual = await yard.virtual(battery, end=wire(yard.start + timedelta(days=4)))
    for day in range(count):
        first = market_day_window(market_day_of(yard.start) + timedelta(days=day)).start
        await yard.schedule(virtual, DAY, offset=int((first - yard.start) / QUARTER))
    last = market_day_window(market_day_of(yard.start) + timedelta(days=count - 1)).start
    await yard.advance(last + timedelta(hours=1))
    return battery


class TestPowerThatCounts:
    def test_is_what_was_measured_for_as_long_as_it_was_and_what_was_dispatched_else(self) -> None:
        dispatched_kw, nothing = np.array([400.0, 400.0, -800.0]), MeasuredMean(np.zeros(1), np.zeros(1))
        parts = [
            Measurements(MeasuredMean(np.array([mean]), np.array([share])), nothing, np.zeros(1))
            for mean, share in ((300.0, 1.0), (200.0, 0.25), (np.nan, 0.0))
        ]
        assert count_power(parts, dispatched_kw).tolist() == [300.0, 350.0, -800.0]
        assert count_power([], dispatched_kw).tolist() == dispatched_kw.tolist()


class TestEnergyUse:
    async def test_counts_days_and_the_year_from_their_start_against_their_limits(self, yard: Yard) -> None:
        battery = await deliver_days(yard, 3)
        seen = await performance(yard, battery, start=wire(yard.start + timedelta(minutes=30)))
        assert [one["cycles"] for one in seen["days"]] == pytest.approx([0.2, 0.2, 0.2])
        assert {one["cycleLimit"] for one in seen["days"]} == {2}
        assert [one["throughput"] for one in seen["days"]] == pytest.approx([400 + 400 / 0.81] * 2 + [400], abs=1e-5)
        assert seen["days"][0]["start"] == wire(yard.start), "from its own start, not the window's"
        until = wire(market_day_window(market_day_of(yard.start) + timedelta(days=2)).start + timedelta(hours=1))
        assert (seen["days"][-1]["end"], seen["years"][-1]["end"]) == (until, until), "as far as has been delivered"
        if len({market_day_of(yard.start + timedelta(days=day)).year for day in range(3)}) == 1:
            [year] = seen["years"]
            assert (year["cycles"], year["cycleLimit"]) == (pytest.approx(0.6), 500)
            assert year["dischargedEnergy"] == pytest.approx(1200)
        kept = {name: value for name, value in battery["parameters"].items() if name not in ("version", "recordedAt")}
        changed = {"dailyCycleLimit": 3, "validFrom": wire(yard.start + timedelta(days=1, minutes=30))}
        answer = await yard.owner.admin.put(f"/physical-assets/{battery['id']}/parameters", json=kept | changed)
        assert answer.status_code == 200, answer.text
        assert [one["cycleLimit"] for one in (await performance(yard, battery))["days"]] == [2, 3, 3]

    async def test_is_the_same_from_recorded_days_and_from_versions(self, yard: Yard) -> None:
        battery = await deliver_days(yard, 3)
        last = {"start": wire(yard.start + timedelta(days=2))}
        recorded = await performance(yard, battery, **last)
        assert await yard.edge.pool.fetchval("select count(*) from dispatched_day") > 0
        await yard.edge.pool.execute("delete from dispatched_day")
        assert await performance(yard, battery, **last) == recorded

    async def test_counts_what_was_measured_where_it_was(self, yard: Yard) -> None:
        battery = await deliver_days(yard, 1)
        times = [wire(yard.start + timedelta(minutes=minute)) for minute in range(60)]
        body = {"active_power": {"time": times, "value": [300.0] * 60}}
        answer = await yard.owner.admin.post(f"/monitoring/{battery['id']}/datapoints", json=body)
        assert answer.status_code == 200, answer.text
        seen = await performance(yard, battery, start=wire(yard.start + timedelta(minutes=30)))
        [day] = seen["days"]
        assert day["dischargedEnergy"] == pytest.approx(300)
        assert seen["summary"]["measuredEnergyShare"] == 1
        assert seen["summary"]["dischargedEnergy"] == pytest.approx(150), "of the window"

    async def test_a_battery_that_comes_back_still_counts_the_cycles_of_its_day(self, yard: Yard) -> None:
        battery = await yard.battery(dailyCycleLimit=0.2)
        first = await yard.virtual(battery, end=wire(yard.start + 4 * QUARTER))
        await yard.schedule(first, [400.0] * 4)
        await yard.advance(yard.start + 8 * QUARTER)
        later = yard.start + 16 * QUARTER
        second = await yard.virtual(battery, start=wire(later), end=wire(yard.start + timedelta(days=1)))
        await yard.schedule(second, [400.0], offset=16)
        await yard.advance(later)
        window = {"start": wire(later), "end": wire(later + QUARTER)}
        [point] = (await yard.dispatch(battery, **window))["dispatch"]
        assert point["power"] == 0.0
        span = {"start": wire(later), "end": wire(later + QUARTER)}
        cuts = (await yard.trader.trader.get(f"{yard.url(second)}/adjustments", params=span)).json()
        assert [one["reason"] for one in cuts] == ["CYCLE_LIMIT"]

    async def test_no_limit_that_came_later_holds_back_what_was_promised_without_one(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        kept = {name: value for name, value in battery["parameters"].items() if name not in ("version", "recordedAt")}
        answer = await yard.owner.admin.put(
            f"/physical-assets/{battery['id']}/parameters",
            json=kept | {"dailyCycleLimit": 0.1, "annualCycleLimit": 0.1, "validFrom": wire(yard.start - QUARTER)},
        )
        assert answer.status_code == 200, answer.text
        await yard.schedule(virtual, [800.0] * 4)
        await yard.advance(yard.start + QUARTER)
        assert await yard.powers(battery) == [800.0] * 4


class TestEarnedPerMW:
    async def test_is_for_callers_that_may_read_revenue(self, yard: Yard) -> None:
        battery = await deliver_days(yard, 1)
        row = {
            "tradeID": "own",
            "assetID": battery["id"],
            "time": wire(yard.start),
            "side": "SELL",
            "volume": 0.1,
            "price": 80,
            "market": "DAY_AHEAD",
        }
        answer = await yard.operator.post("/settlements/wholesale-trades", json=[row])
        assert answer.status_code == 200, answer.text
        seen = await performance(yard, battery)
        assert seen["summary"]["earnedPerMw"] == 8.0, "8 EUR of a battery of 1 MW"
        shown = await performance(yard, battery, yard.owner.engineer)
        assert "earnedPerMw" not in shown["summary"]
