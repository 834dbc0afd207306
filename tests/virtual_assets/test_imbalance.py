"""The imbalance report says how far from its target a schedule ends, and what to do about it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.virtual_assets.conftest import QUARTER
from tests.virtual_assets.test_revalidation import make

from gridloom.virtual_assets.energy.imbalance import imbalance_of

__all__ = ["make"]  # a fixture


class TestImbalance:
    @given(st.floats(0, 1e6), st.floats(1, 1e6), st.floats(0, 1))
    def test_is_never_both_charge_and_discharge(self, end_kwh, capacity_kwh, tolerance):
        report = imbalance_of(min(end_kwh, capacity_kwh), capacity_kwh, tolerance)
        assert not (report.imbalance_charge_kwh > 0 and report.imbalance_discharge_kwh > 0)
        assert report.imbalance_charge_kwh >= 0
        assert report.imbalance_discharge_kwh >= 0
        assert 0 <= report.end_state_of_charge_percentage <= 100

    @pytest.mark.parametrize(
        ("end_kwh", "remaining_kwh", "advice"),
        [
            (1500.0, 200.0, "discharge 300.000 kWh more from the store; 200.000 kWh remain,"),
            (600.0, 100.0, "charge 300.000 kWh more into the store; 100.000 kWh remain,"),
            (1500.0, 500.0, "500.000 kWh remain to discharge,"),
            (600.0, 900.0, "400.000 kWh remain to charge,"),
        ],
    )
    def test_that_cannot_all_be_repaired_says_what_can_be_and_what_remains(self, end_kwh, remaining_kwh, advice):
        assert f": {advice}" in imbalance_of(end_kwh, 2000.0, 0.01, remaining_kwh=remaining_kwh).feedback

    @pytest.mark.parametrize("end", [0.49, 0.51, 0.42, 0.58])
    @pytest.mark.parametrize("capacity_kwh", [0.3, 7.0, 1234.5, 2000.0, 9e7])
    def test_is_none_at_the_very_edge_of_the_tolerance(self, end, capacity_kwh):
        """0.51 − 0.5 is more than 0.01 in doubles."""
        tolerance = 0.01 if end in (0.49, 0.51) else 0.08
        assert imbalance_of(end * capacity_kwh, capacity_kwh, tolerance).balanced


class TestTheImbalanceOfAChange:
    @pytest.mark.parametrize("power", [0.0, -1000.0])
    async def test_names_the_part_that_no_schedule_can_repair(self, make, power):
        """Near the end of life little power is left, and closed periods do not count."""
        battery = await make()
        assert (await battery.put([500.0] * 7, offset=150)).status_code == 200
        await battery.edge.pool.execute(
            "update sandbox_clock set ahead = $1::timestamptz - clock_timestamp()", battery.end - 5 * QUARTER
        )
        answer = await battery.put([power], offset=191)
        assert answer.status_code == 200, answer.text
        assert "remain" in answer.json()["imbalance"]["feedback"]

    @pytest.mark.parametrize(
        ("power", "advice"),
        [
            (500.0, "charge 450.000 kWh more into the store; 76.316 kWh remain, for which"),
            (-800.0, "discharge 631.579 kWh more from the store; 88.421 kWh remain, for which"),
        ],
    )
    async def test_is_repaired_with_what_open_idle_periods_can_take(self, make, power, advice):
        """526 kWh were drawn the day before, or 720 kWh stored; in the two periods whose gates are open 225 kWh each
        can be stored, or 315.8 kWh drawn."""
        battery = await make()
        assert (await battery.put([power] * 4, offset=50)).status_code == 200
        await battery.edge.pool.execute(
            "update sandbox_clock set ahead = $1::timestamptz - clock_timestamp()", battery.end - 3 * QUARTER
        )
        assert advice in (await battery.read())["feedback"]
