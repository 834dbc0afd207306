"""Projections come true: lost availability, cycle limits and settled activations count before any gate closes."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.virtual_assets.conftest import QUARTER, Battery, wire
from tests.virtual_assets.test_revalidation import adjustments, advance, in_days, lose, make
from tests.virtual_assets.test_schedules import problem

__all__ = ["make"]

LARGE = {
    "ratedChargePower": 4000,
    "ratedDischargePower": 4000,
    "energyCapacity": 4000,
    "chargeEfficiency": 1.0,
    "dischargeEfficiency": 1.0,
}


async def projected(battery: Battery) -> list[dict[str, Any]]:
    params = {"start": battery.asset["start"], "end": battery.asset["end"]}
    answer = await battery.client.get(f"{battery.url}/state-of-energy/projected", params=params)
    assert answer.status_code == 200, answer.text
    points: list[dict[str, Any]] = answer.json()
    return points


async def percentages(battery: Battery) -> list[float]:
    params = {"start": battery.asset["start"], "end": battery.asset["end"]}
    answer = await battery.client.get(f"{battery.url}/state-of-charge", params=params)
    return [point["stateOfChargePercentage"] for point in answer.json()]


class TestLostAvailability:
    async def test_that_was_announced_shows_at_once_where_it_will_leave_the_asset(self, make):
        """+1500 kW in the periods 0 to 3, which lose all power; −3000 kW in 8 to 11. The store is full at 4000 kWh:
        the holder also bears what cannot be charged any more."""
        battery = await make(parameters=LARGE, **LARGE, **in_days(2))
        await battery.put([1500] * 4)
        await battery.put([-3000] * 4, offset=8)
        assert (await battery.read())["endStateOfChargePercentage"] == 87.5
        await lose(battery, 0, 4, power=4000)

        async def check() -> None:
            asset = await battery.read()
            assert asset["endStateOfChargePercentage"] == 100
            assert (asset["imbalanceCharge"], asset["imbalanceDischarge"]) == (0, 2000)
            assert "discharge 2000.000 kWh more from the store" in asset["feedback"]
            points = await projected(battery)
            assert [point["energy"] for point in points[:13]] == [2000] * 9 + [2750, 3500, 4000, 4000]
            assert max(await percentages(battery)) == 100

        await check()
        points = await projected(battery)
        assert [place for place, point in enumerate(points) if "expectedCut" in point] == [0, 1, 2, 3, 10, 11]
        assert points[0]["expectedCut"] == {"acceptedSchedule": 1500, "adjustedSchedule": 0, "reason": "AVAILABILITY"}
        assert points[10]["expectedCut"]["adjustedSchedule"] == -2000
        await advance(battery.edge, battery.start + 6 * QUARTER)
        await check()
        window = {"start": battery.asset["start"], "end": wire(battery.start + 12 * QUARTER)}
        position = (await battery.client.get(f"{battery.url}/position", params=window)).json()
        assert [point["delivered"] for point in position] == [0] * 8 + [-0.75, -0.75, -0.5, 0]
        listed = (await battery.client.get(f"/organisations/{battery.organisation.id}/virtual-assets")).json()
        assert [asset["imbalanceDischarge"] for asset in listed] == [2000]
        answer = await battery.put([4000, 4000], offset=20)
        assert answer.json()["imbalance"]["balanced"]
        await advance(battery.edge, battery.end)
        assert [place for place, *_ in await adjustments(battery)] == [0, 1, 2, 3, 10, 11]
        assert (await battery.read())["endStateOfChargePercentage"] == 50

    async def test_gives_room_that_the_schedule_alone_would_not_have(self, make):
        battery = await make(**in_days(2))
        await battery.put([-1000] * 4)  # to 1900 kWh
        problem(await battery.put([-1000], offset=8), 422, "energy-out-of-bounds")
        await lose(battery, 0, 4, power=1000)  # nothing of it will be charged
        assert (await battery.put([-1000], offset=8)).status_code == 200


class TestCycleLimits:
    async def test_are_part_of_what_will_happen(self, make_battery):
        """Four cycles on a limit of half a one: scheduled to end where it began, and it will not."""
        battery = await make_battery(
            dailyCycleLimit=0.5,
            parameters={"chargeEfficiency": 1.0, "dischargeEfficiency": 1.0},
            chargeEfficiency=1.0,
            dischargeEfficiency=1.0,
        )
        answer = await battery.put(([1000] * 4 + [-1000] * 4) * 8, offset=8)
        assert answer.status_code == 200
        cuts = answer.json()["expectedCuts"]
        assert {cut["reason"] for cut in cuts} == {"CYCLE_LIMIT", "STATE_OF_ENERGY_BOUNDARIES"}
        imbalance = answer.json()["imbalance"]
        assert not imbalance["balanced"]
        assert "nothing to do" not in imbalance["feedback"]
        assert imbalance["endStateOfChargePercentage"] == 100
        assert (await battery.read())["imbalanceDischarge"] == 1000
        assert max(await percentages(battery)) == 100
        whole, later = await projected(battery), wire(battery.start + 24 * QUARTER)
        part = await battery.client.get(f"{battery.url}/state-of-energy/projected", params={"start": later})
        assert any(cut["timestamp"] < later for cut in cuts)
        assert part.json() == whole[24:], "cuts before it do not show in a part"

    async def test_that_leave_no_way_say_what_remains(self, make_battery):
        battery = await make_battery(annualCycleLimit=0.1, initialStateOfChargePercentage=95)  # 200 kWh
        imbalance = (await battery.put([0])).json()["imbalance"]
        assert imbalance["imbalanceDischarge"] == 900
        assert "discharge 210.526 kWh more from the store; 689.474 kWh remain" in imbalance["feedback"]
        assert (await battery.read())["feedback"] == imbalance["feedback"]
        await battery.put([800], offset=100)
        imbalance = (await battery.put([0], offset=101)).json()["imbalance"]
        assert "689.474 kWh remain to discharge, and open gates, power and cycles leave no way" in imbalance["feedback"]


async def settle(operator: Any, battery: Battery, first: datetime, mwh: list[float], direction: str = "POS") -> None:
    rows = [
        {
            "assetID": battery.asset["id"],
            "time": wire(first + place * QUARTER),
            "direction": direction,
            "volume": volume,
            "price": 100,
        }
        for place, volume in enumerate(mwh)
    ]
    answer = await operator.post("/settlements/afrr-energy", json=rows)
    assert answer.status_code == 200, answer.text


async def latest(battery: Battery) -> dict[str, Any]:
    body: dict[str, Any] = (await battery.client.get(f"{battery.url}/state-of-energy/latest")).json()
    return body


@pytest.fixture
def make_running(make_battery: Any) -> Any:
    """Ten megawatt-hours without losses, half full, living since yesterday and until the day after tomorrow."""

    async def make_one(**changes: Any) -> Battery:
        start = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(days=1)
        size = {
            "ratedChargePower": 10_000,
            "ratedDischargePower": 10_000,
            "energyCapacity": 10_000,
            "chargeEfficiency": 1.0,
            "dischargeEfficiency": 1.0,
        }
        battery: Battery = await make_battery(
            parameters=size, **{**size, "start": wire(start), "end": wire(start + timedelta(days=3)), **changes}
        )
        return battery

    return make_one


class TestActivations:
    async def test_that_no_store_could_give_are_left_unexplained(self, operator, make_running):
        battery = await make_running()
        await settle(operator, battery, battery.start, [3.0, 3.0, 3.0])
        now = await latest(battery)
        assert (now["energy"], now["unexplainedEnergy"]) == (0, pytest.approx(4000))
        points = await projected(battery)
        assert [point.get("unexplainedEnergy") for point in points[:4]] == [None, 1000, 3000, None]
        assert min(await percentages(battery)) == 0
        await settle(operator, battery, battery.start + timedelta(hours=2), [2.0], "NEG")
        assert (await latest(battery))["energy"] == pytest.approx(2000)
