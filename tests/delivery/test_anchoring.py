"""Plans follow what batteries really hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from tests.assets import register_asset
from tests.delivery.conftest import Yard
from tests.delivery.test_replanning import loaded_zone
from tests.virtual_assets.conftest import QUARTER, wire

from gridloom.delivery.dispatch.reading import DispatchSeries
from gridloom.delivery.performance.store import (
    SocCorrection,
    mark_corrections_applied,
    put_soc_correction,
    read_applied,
    read_pending_corrections,
)
from gridloom.delivery.planning.replanning import replan
from gridloom.delivery.runs import run
from gridloom.kernel.market_time import period_start

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
    @pytest.mark.parametrize(
        ("charge", "is_planned", "stored_kwh"),
        [
            pytest.param(30.0, [True, True], 600.0, id="as it was measured"),
            pytest.param(101.0, [False, False], 2000.0, id="full where more than that was measured"),
            pytest.param(None, [True, True], 450.0, id="as it was dispatched"),
            pytest.param(None, [True, False], 440.0, id="as its dispatch ended just before"),
            pytest.param(None, [False, True], 450.0, id="as its dispatch begins"),
            pytest.param(None, [False, False], 900.0, id="half of what it may store"),
        ],
    )
    async def test_begins_with_the_latest_that_is_known_of_it(
        self, monkeypatch: pytest.MonkeyPatch, charge: float | None, is_planned: list[bool], stored_kwh: float
    ) -> None:
        """Of 2,000 kWh it may store 200 to 1,600; it was dispatched to go from 500 to 440 and on from 450 kWh."""

        async def load_dispatch(_: Any, key: int, first: int, end: int) -> DispatchSeries:
            assert (key, first, end) == (10_000, -1, 1), "the quarter-hours before and after the plan's start"
            planned = np.array(is_planned)
            energy_kwh, after_kwh = np.where(planned, [[500.0, 450.0], [440.0, 430.0]], 0.0)
            return DispatchSeries(1, first, planned, energy_kwh, after_kwh, np.full(2, 2000.0), {})

        monkeypatch.setattr(run, "load_dispatch", load_dispatch)
        zone, _ = loaded_zone(1, 1, 1, 4)
        bounds = {"low_kwh": np.full((1, 4), 200.0), "high_kwh": np.full((1, 4), 1600.0)}
        zone = replace(zone, limits=replace(zone.limits, **bounds), capacity_kwh=np.full((1, 4), 2000.0))
        nothing: Any = None
        assert await run._find_first_energy_kwh(nothing, zone, 0, charge) == pytest.approx(stored_kwh)

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


class TestABatteryThatIsPlannedAgain:
    async def test_goes_on_from_the_energy_power_and_exports_of_the_plan_before(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two quarter-hours later, with the batteries in another order."""
        monkeypatch.setattr(run, "carry_share_energy", lambda zone, inputs, before, old, energy_kwh, fresh: energy_kwh)
        zone, start = loaded_zone(4, 6, 4, 4)
        before = replan(zone, None, start, batteries_unchanged=False).plan
        again = replace(zone, first=2, battery_keys=zone.battery_keys[::-1])
        loaded: Any = SimpleNamespace(zone=again, inputs=None)
        state: Any = SimpleNamespace(plan=before, inputs=None)
        nothing: Any = None
        found = await run._load_start(nothing, loaded, state, {}, period_start(2))
        done = before.state_at(2)
        assert done.power_kw.any()
        assert done.day_export_kwh.any()
        assert found.energy_kwh.tolist() == before.energy_kwh[::-1, 2].tolist()
        assert found.state.power_kw.tolist() == done.power_kw[::-1].tolist()
        assert found.state.day_export_kwh.tolist() == done.day_export_kwh[::-1].tolist()
        assert found.state.year_export_kwh.tolist() == done.year_export_kwh[::-1].tolist()


class TestABatteryWhoseCapacityIsLoweredBelowWhatItHolds:
    async def test_is_corrected_by_what_was_measured_but_never_to_more_than_it_was_planned_to_hold(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(run, "carry_share_energy", lambda zone, inputs, before, old, energy_kwh, fresh: energy_kwh)
        zone, start = loaded_zone(1, 2, 4, 4)
        before = replan(zone, None, replace(start, energy_kwh=np.full(4, 500.0)), batteries_unchanged=False).plan
        capacity_kwh = np.repeat([[300.0], [300.0], [2000.0], [2000.0]], 4, axis=1)
        loaded: Any = SimpleNamespace(zone=replace(zone, capacity_kwh=capacity_kwh), inputs=None)
        state: Any = SimpleNamespace(plan=before, inputs=None)
        offsets_kwh = dict(zip(zone.battery_keys.tolist(), (40.0, -40.0, 40.0, 5000.0), strict=True))
        corrections = {key: SocCorrection(1, offset_kwh) for key, offset_kwh in offsets_kwh.items()}
        nothing: Any = None
        found = await run._load_start(nothing, loaded, state, corrections, period_start(0))
        assert found.energy_kwh.tolist() == pytest.approx([500.0, 460.0, 540.0, 2000.0])
