"""Plans follow what batteries really hold."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.assets import register_asset
from tests.delivery.conftest import Yard
from tests.virtual_assets.conftest import QUARTER, wire

from gridloom.delivery.performance.store import (
    SocCorrection,
    mark_corrections_applied,
    put_soc_correction,
    read_applied,
    read_pending_corrections,
)

CAPACITY_KWH = 8000.0
LARGE = {"ratedChargePower": 4000, "ratedDischargePower": 4000, "energyCapacity": CAPACITY_KWH}


async def measure(yard: Yard, battery: dict[str, Any], charges: list[float], first: int = 0) -> None:
    """States of charge at the starts of quarter-hours in which the battery stood still."""
    times = [wire(yard.start + (first + place) * QUARTER) for place in range(len(charges))]
    body = {
        "active_power": {"time": times, "value": [0.0] * len(times)},
        "state_of_charge": {"time": times, "value": charges},
        "temperature.rack_1": {"time": times, "value": [21.0] * len(times)},
    }
    answer = await yard.owner.admin.post(f"/monitoring/{battery['id']}/datapoints", json=body)
    assert answer.status_code == 200, answer.text


async def planned(yard: Yard, battery: dict[str, Any]) -> Any:
    """Until the end of what is planned: two market days."""
    return await yard.dispatch(battery, end=wire(yard.start + timedelta(days=2)))


class TestABatteryThatHoldsLessThanPlanned:
    async def test_is_planned_from_what_was_measured(self, yard: Yard) -> None:
        battery = await yard.battery(**LARGE)
        await yard.virtual(battery)
        await yard.advance(yard.start + QUARTER)
        assert {point["stateOfChargePercentage"] for point in (await planned(yard, battery))["dispatch"]} == {50.0}
        await measure(yard, battery, [45.0, 45.0])
        await yard.gate_of(3)
        answer = await planned(yard, battery)
        # The quarter-hours whose gates had closed stay as they were; what is missing is drift, and goes to market.
        levels = [point["stateOfChargePercentage"] for point in answer["dispatch"]]
        assert levels[:2] == [50.0, 50.0]
        assert levels[4:] == pytest.approx([45.0] * len(levels[4:]))

    async def test_is_not_moved_again_by_what_was_measured_before(self, yard: Yard) -> None:
        battery = await yard.battery(**LARGE)
        await yard.virtual(battery)
        await yard.advance(yard.start + QUARTER)
        await measure(yard, battery, [45.0, 45.0])
        await yard.gate_of(3)
        version = (await planned(yard, battery))["version"]
        await measure(yard, battery, [45.0], first=2)
        await yard.gate_of(4)
        answer = await planned(yard, battery)
        levels = [point["stateOfChargePercentage"] for point in answer["dispatch"]]
        await measure(yard, battery, levels[3:5], first=3)  # just as planned
        await yard.gate_of(6)
        answer = await planned(yard, battery)
        assert answer["version"] == version
        assert answer["dispatch"][-1]["stateOfChargePercentage"] == pytest.approx(45.0)

    async def test_is_moved_again_by_what_is_measured_after(self, yard: Yard) -> None:
        battery = await yard.battery(**LARGE)
        await yard.virtual(battery)
        for first, charge in ((0, 45.0), (4, 40.0)):
            await yard.advance(yard.start + (first + 1) * QUARTER)
            await measure(yard, battery, [charge, charge], first=first)
            await yard.gate_of(first + 3)
        levels = [point["stateOfChargePercentage"] for point in (await planned(yard, battery))["dispatch"]]
        assert levels[8:] == pytest.approx([40.0] * len(levels[8:]))

    async def test_is_left_alone_where_a_meter_explains_it(self, yard: Yard) -> None:
        battery = await yard.battery(**LARGE)
        await yard.virtual(battery)
        await yard.advance(yard.start + QUARTER)
        version = (await planned(yard, battery))["version"]
        await measure(yard, battery, [49.0, 49.0])
        await yard.gate_of(3)
        assert (await planned(yard, battery))["version"] == version

    async def test_is_still_to_be_moved_by_what_was_measured_while_it_was_planned(
        self, app: Any, new_organisation: Any
    ) -> None:
        asset = await register_asset(await new_organisation())
        key = await app.pool.fetchval("select key from asset where id = $1", UUID(asset.id))
        await put_soc_correction(app.pool, key, 100, -400.0)
        counted = await read_pending_corrections(app.pool, [key])
        await put_soc_correction(app.pool, key, 101, -500.0)
        await mark_corrections_applied(app.pool, counted, 102)
        assert await read_pending_corrections(app.pool, [key]) == {key: SocCorrection(2, -500.0)}
        assert await read_applied(app.pool, [key]) == {}
        await mark_corrections_applied(app.pool, await read_pending_corrections(app.pool, [key]), 103)
        assert await read_pending_corrections(app.pool, [key]) == {}
        assert await read_applied(app.pool, [key]) == {key: 103}


class TestABatteryThatIsPlannedForTheFirstTime:
    @pytest.mark.parametrize(("is_measured", "level"), [(True, 30.0), (False, 50.0)])
    async def test_begins_with_its_measured_state_of_charge_or_half_full(
        self, yard: Yard, is_measured: bool, level: float
    ) -> None:
        battery = await yard.battery(**LARGE)
        if is_measured:
            await measure(yard, battery, [30.0], first=-32)
        await yard.virtual(battery)
        await yard.advance(await yard.now())
        assert (await planned(yard, battery))["dispatch"][0]["stateOfChargePercentage"] == pytest.approx(level)
