"""What each operational series is computed from, where all figures differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.virtual_assets.test_draft import FIRST, asset_of_five_days

from gridloom.virtual_assets.backing.availability import AvailableFraction
from gridloom.virtual_assets.model import Efficiency
from gridloom.virtual_assets.schedule.projection_input import ActivatedEnergy, EnergyTrajectory
from gridloom.virtual_assets.state_of_energy.operational import CATEGORIES, OperationalInput

pytestmark = pytest.mark.pure

TERMS = replace(asset_of_five_days().terms, charge_kw=1000.0, discharge_kw=600.0, efficiency=Efficiency(0.8, 0.5))
"""Of 2000 kWh."""


def series(energy_kwh: list[float], *, exported_before_kwh: float = 0.0) -> dict[str, list[float]]:
    """Of three periods; half of the charging, a third of the discharging and a quarter of the energy are lost in the
    second one."""
    power_kw = np.array([200.0, -400.0, 100.0])
    charge, discharge, energy = (np.array([1.0, part, 1.0]) for part in (1 / 2, 2 / 3, 3 / 4))
    available = AvailableFraction(FIRST, charge, discharge, energy)
    trajectory = EnergyTrajectory(FIRST, power_kw, np.array(energy_kwh), exported_before_kwh)
    activated = ActivatedEnergy(40.0, np.array([10.0, 0.0, 30.0]))
    inputs = OperationalInput(TERMS, trajectory, available, activated)
    return {name: CATEGORIES[name].values(inputs).tolist() for name in CATEGORIES}


class TestASeries:
    def test_of_capacity_is_what_is_rated_and_what_is_left_of_it(self) -> None:
        found = series([1000, 1000, 1000, 1000])
        assert found["powerCapacityChargeRated"] == [1000] * 3
        assert found["powerCapacityDischargeRated"] == [600] * 3
        assert found["energyCapacityRated"] == [2000] * 3
        assert found["powerCapacityChargeAvailable"] == [1000, 500, 1000]
        assert found["powerCapacityDischargeAvailable"] == pytest.approx([600, 400, 600])
        assert found["energyCapacityAvailable"] == [2000, 1500, 2000]
        assert (found["chargeEfficiency"], found["dischargeEfficiency"]) == ([0.8] * 3, [0.5] * 3)

    def test_of_deliverable_power_is_the_lesser_of_what_power_and_the_store_allow(self) -> None:
        """From its start 40 kWh give 80 kW for a quarter-hour, and 40 kWh of room take 200 kW."""
        plenty = series([1000, 1000, 1000, 0])
        assert plenty["maximumDeliverablePower"] == pytest.approx([600, 400, 600])
        assert plenty["minimumDeliverablePower"] == pytest.approx([-1000, -500, -1000])
        scarce = series([40, 1460, 1960, 0])
        assert scarce["maximumDeliverablePower"] == pytest.approx([80, 400, 600])
        assert scarce["minimumDeliverablePower"] == pytest.approx([-1000, -200, -200])
        beyond = series([-1e-9, 1700, 2000, 0])
        assert (beyond["maximumDeliverablePower"][0], beyond["minimumDeliverablePower"][1:]) == (0, [0, 0])

    def test_of_cycles_is_what_was_exported_until_the_periods_end(self) -> None:
        """Of discharging alone, and with all that came before the window."""
        found = series([1000, 1000, 1000, 1000], exported_before_kwh=150.0)
        assert found["cyclesWholesale"] == pytest.approx([200 / 2000, 200 / 2000, 225 / 2000])
        assert found["cyclesAFRR"] == pytest.approx([50 / 2000, 50 / 2000, 80 / 2000])
        assert found["cyclesTotal"] == pytest.approx([250 / 2000, 250 / 2000, 305 / 2000])
        assert found["cyclesFCR"] == [0] * 3
