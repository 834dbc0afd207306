"""The world agrees with itself: power, energy, state of charge, dispatch, schedules, trades, settlements and books."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from tests.sandbox.simulator.worlds import SimulatedWorld

from gridloom.kernel.balancing import Direction
from gridloom.kernel.market_time import PERIOD, market_day_of
from gridloom.sandbox.simulator.batteries.physics import REST_LOSS_A_DAY
from gridloom.sandbox.simulator.market.market_data import MarketData
from gridloom.sandbox.simulator.participants.strategies import STRATEGIES
from gridloom.sandbox.simulator.scenario import BATTERIES

pytestmark = pytest.mark.slow

ALL_OK = dict.fromkeys(("STATUS", "AVAILABILITY", "TELEMETRY", "PROMISES", "DISPATCH"), "OK")
LARGEST_LOT_MWH = max(strategy.lot_mw for strategy in STRATEGIES.values()) / 4


def minutes_of(telemetry: Any, signal: str, start: datetime, end: datetime) -> np.ndarray:
    values = np.full((end - start) // timedelta(minutes=1), np.nan)
    for point in telemetry["data"][signal]:
        values[(datetime.fromisoformat(point["time"]) - start) // timedelta(minutes=1)] = point["value"]
    assert not np.isnan(values).any()
    return values


async def read_battery(world: SimulatedWorld, asset_id: str, start: datetime, end: datetime) -> dict[str, np.ndarray]:
    span = {"start": start.isoformat(), "end": end.isoformat()}
    telemetry = await world.get(f"/monitoring/{asset_id}/datapoints", resolution="raw", **span)
    dispatch = (await world.get(f"/physical-assets/{asset_id}/dispatch", **span))["dispatch"]
    found = {name: minutes_of(telemetry, name, start, end) for name in telemetry["data"]}
    found["dispatch"] = np.array([point["power"] for point in dispatch])
    found["planned_soc"] = np.array([point["stateOfChargePercentage"] for point in dispatch])
    assert len(found["dispatch"]) == (end - start) // PERIOD
    return found


async def broken_batteries(world: SimulatedWorld, start: datetime, end: datetime) -> set[str]:
    broken = set()
    for battery in await world.get("/physical-assets"):
        found = await world.get(
            f"/physical-assets/{battery['id']}/unavailability", start=start.isoformat(), end=end.isoformat()
        )
        if found:
            broken.add(battery["id"])
    return broken


async def virtual_assets_backed_by(
    world: SimulatedWorld, batteries: set[str], start: datetime, end: datetime
) -> set[str]:
    """Those that one of the batteries backs."""
    span = {"start": start.isoformat(), "end": end.isoformat()}
    return {
        asset["id"]
        for organisation in await world.get("/organisations")
        for asset in await world.pages(f"/organisations/{organisation['id']}/virtual-assets", **span)
        if any(part["physicalAssetID"] in batteries for part in asset["backing"])
    }


class TestABattery:
    async def test_does_what_it_was_dispatched_for(self, world: SimulatedWorld, window: tuple[datetime, datetime]):
        start, end = window
        moved = 0.0
        broken = await broken_batteries(world, start, end)
        for battery in await world.get("/physical-assets"):
            if battery["id"] in broken:
                continue
            found = await read_battery(world, battery["id"], start, end)
            followed = found["active_power"] - found["reserve_power"] - found["upkeep_power"]
            asked = np.repeat(found["dispatch"], 15)
            for side in (1, -1):
                measured, wanted = (np.maximum(side * power, 0).sum() / 60 for power in (followed, asked))
                assert measured == pytest.approx(wanted, rel=0.001, abs=2.0), battery["name"]
                moved += wanted
        assert moved > 100_000, "batteries charge and discharge"

    async def test_keeps_the_books_of_its_energy(self, world: SimulatedWorld, window: tuple[datetime, datetime]):
        start, end = window
        known = {battery.name: battery for battery in BATTERIES}
        for battery in await world.get("/physical-assets"):
            plate = known[battery["name"]]
            found = await read_battery(world, battery["id"], start, end)
            power = found["active_power"][1:]
            stored = np.maximum(-power, 0) * plate.efficiency - np.maximum(power, 0) / plate.efficiency
            lost = REST_LOSS_A_DAY / 1440 * plate.energy_kwh * len(power)
            change = (found["state_of_charge"][-1] - found["state_of_charge"][0]) / 100 * plate.energy_kwh
            throughput = np.abs(power).sum() / 60
            assert change == pytest.approx(stored.sum() / 60 - lost, abs=0.001 * throughput + 0.0006 * plate.energy_kwh)

    async def test_is_charged_as_its_dispatch_says(self, world: SimulatedWorld, window: tuple[datetime, datetime]):
        start, end = window
        broken = await broken_batteries(world, start - timedelta(days=1), end)
        for battery in await world.get("/physical-assets"):
            if battery["id"] in broken:
                continue
            found = await read_battery(world, battery["id"], start, end)
            measured_at_ends = found["state_of_charge"][14::15]
            apart = measured_at_ends[:-1] - found["planned_soc"][1:]
            is_calm = np.abs(found["reserve_power"]).max() == 0  # a fifth of the power, called for hours, is a quarter
            assert np.abs(apart).max() < (2.5 if is_calm else 30.0), battery["name"]


class TestATrader:
    async def test_trades_what_it_scheduled_but_for_parts_of_a_lot(
        self, world: SimulatedWorld, window: tuple[datetime, datetime]
    ):
        start, end = window
        span = {"start": start.isoformat(), "end": end.isoformat()}
        traded: dict[tuple[str, str], float] = defaultdict(float)
        for row in await world.pages("/settlements/wholesale-trades", **span):
            sign = 1 if row["side"] == "SELL" else -1
            traded[row["assetID"], row["time"]] += sign * float(row["volume"])
        assert traded
        for organisation in await world.get("/organisations"):
            for asset in await world.pages(f"/organisations/{organisation['id']}/virtual-assets", **span):
                target = f"/organisations/{organisation['id']}/virtual-assets/{asset['id']}/blocks"
                for block in await world.get(target, **span):
                    for point in block["schedule"]:
                        expected = traded.pop((asset["id"], point["time"]), 0.0)
                        assert point["power"] / 4000 == pytest.approx(expected, abs=LARGEST_LOT_MWH / 2 + 1e-6)
        assert not traded

    async def test_ends_every_virtual_battery_balanced(self, world: SimulatedWorld, window: tuple[datetime, datetime]):
        start, end = window
        for organisation in await world.get("/organisations"):
            target = f"/organisations/{organisation['id']}/virtual-assets"
            for asset in await world.pages(target, start=start.isoformat(), end=end.isoformat()):
                if datetime.fromisoformat(asset["end"]) <= end:
                    assert asset["endStateOfChargePercentage"] == pytest.approx(50, abs=1.0)


class TestSettlement:
    async def test_is_what_was_called(self, world: SimulatedWorld, window: tuple[datetime, datetime]):
        """Of the aFRR that batteries hold, for their owners and for those who hold virtual batteries."""
        start, end = window
        span = {"start": start.isoformat(), "end": end.isoformat()}
        market_data, day = MarketData(lambda _: 1), market_day_of(start)
        settled = {"POS": 0.0, "NEG": 0.0}
        for row in await world.pages("/settlements/afrr-energy", **span):
            settled[row["direction"]] += float(row["volume"])
        batteries = {one["id"] for one in await world.get("/physical-assets")}
        sellers = {row["assetID"] for row in await world.pages("/settlements/afrr-capacity", **span)}
        assert sellers & batteries
        assert sellers - batteries
        called = dict.fromkeys(settled, 0.0)
        for battery in batteries:
            dispatch = (await world.get(f"/physical-assets/{battery}/dispatch", **span))["dispatch"]
            for place, point in enumerate(dispatch):
                for part in point["parts"]:
                    if part["kind"].startswith("AFRR"):
                        direction = Direction(part["kind"].removeprefix("AFRR_"))
                        called[direction] += (
                            abs(part["power"]) / 4000 * float(market_data.activation(day, direction)[place])
                        )
        assert called == pytest.approx(settled, rel=0.001, abs=1e-3)
        assert sum(called.values()) > 0


class TestTheBooks:
    async def test_hold_no_conflict_outside_announced_outages(self, world: SimulatedWorld):
        """A battery that works shows what its virtual assets lack because another one behind them is broken."""
        await world.live_on()
        now = await world.now()
        span = (now - timedelta(days=1), now + timedelta(days=7))
        broken = await broken_batteries(world, *span)
        lacking = await virtual_assets_backed_by(world, broken, *span)
        for battery in await world.get("/physical-assets"):
            if battery["id"] in broken:
                continue
            health = await world.get(f"/physical-assets/{battery['id']}/health")
            assert {one["virtualAssetID"] for one in health["conflicts"]} <= lacking, health["conflicts"]
            expected = "DEGRADED" if health["conflicts"] else "OK"
            assert {one["name"]: one["status"] for one in health["checks"]} == ALL_OK | {"PROMISES": expected}

    async def test_miss_nothing_outside_announced_outages(
        self, world: SimulatedWorld, window: tuple[datetime, datetime]
    ):
        """Quarter-hour by quarter-hour, in all that was lived through and is planned."""
        start, end = window[0], await world.now() + timedelta(days=2)
        span = {"start": start.isoformat(), "end": end.isoformat()}
        for battery in await world.get("/physical-assets"):
            target = f"/physical-assets/{battery['id']}"
            announced = [
                (datetime.fromisoformat(one["start"]), datetime.fromisoformat(one["end"]))
                for one in await world.pages(f"{target}/unavailability", **span)
            ]
            for period in (await world.get(f"{target}/commitments", **span))["commitments"]:
                time = datetime.fromisoformat(period["time"])
                if any(begins < time + PERIOD and time < ends for begins, ends in announced):
                    continue
                missing = [period[name]["missing"] for name in ("charge", "discharge", "energy")]
                assert missing == [0, 0, 0], (battery["name"], period)
