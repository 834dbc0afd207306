"""What the console projects while a plan is edited is what the service will judge: one file of cases for both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gridloom.virtual_assets.energy.trajectory import energy_trajectory_kwh, exported_kwh, first_excess, tolerance_kwh
from gridloom.virtual_assets.model import Efficiency

pytestmark = pytest.mark.pure

FILE = Path(__file__).parents[3] / "web/src/features/virtual-assets/projection.cases.json"
CASES: list[dict[str, Any]] = json.loads(FILE.read_text())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
class TestTheService:
    def test_comes_to_what_the_console_comes_to(self, case):
        battery, power = case["battery"], np.array(case["powersKw"], dtype=float)
        efficiency = Efficiency(battery["chargeEfficiency"], battery["dischargeEfficiency"])
        energy = energy_trajectory_kwh(case["startKwh"], power, efficiency)
        assert energy == pytest.approx(case["energiesKwh"], abs=1e-6)
        assert exported_kwh(power).sum() / battery["energyCapacityKwh"] == pytest.approx(case["cycles"])
        top = min(battery["availableEnergyKwh"], battery["energyCapacityKwh"])
        inside = np.full(len(power), 0.5 * top)
        slack = tolerance_kwh(battery["energyCapacityKwh"])
        excess = first_excess(inside, energy[1:], np.full(len(power), top), slack)
        assert (excess is None) == (case["breach"] is None)
        if excess is not None:
            assert excess.position == case["breach"]["index"]
            assert excess.excess_kwh == pytest.approx(case["breach"]["kwh"])
