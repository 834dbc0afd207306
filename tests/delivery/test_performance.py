"""Where a battery did not do what it must."""

from __future__ import annotations

import numpy as np
import pytest

from gridloom.delivery.dispatch.reading import DispatchSeries
from gridloom.delivery.model import PartKind
from gridloom.delivery.performance.deviations import find_offset_kwh
from gridloom.delivery.performance.measured import MeasuredMean, Measurements
from gridloom.delivery.performance.performance import Performance

pytestmark = pytest.mark.pure


class TestAnOffset:
    """Of a battery of which the last of three quarter-hours counts; what was measured before is old."""

    @pytest.mark.parametrize(
        ("measured_soc", "is_planned", "offset_kwh"),
        [
            pytest.param(52.1, True, 42.0, id="more than 2 % of what it holds"),
            pytest.param(47.9, True, -42.0, id="or less"),
            pytest.param(51.9, True, None, id="within 2 %"),
            pytest.param(60.0, False, None, id="while nothing is planned"),
            pytest.param(np.nan, True, None, id="where nothing was measured"),
        ],
    )
    def test_is_what_the_battery_holds_more_than_planned(
        self, measured_soc: float, is_planned: bool, offset_kwh: float | None
    ) -> None:
        planned = np.array([not is_planned, not is_planned, is_planned])
        energy_kwh, capacity_kwh = np.array([100.0, 300.0, 1000.0]), np.array([500.0, 1000.0, 2000.0])
        dispatch = DispatchSeries(1, 0, planned, energy_kwh, energy_kwh, capacity_kwh, {})
        nothing = MeasuredMean(np.zeros(3), np.zeros(3))
        measured = Measurements(nothing, nothing, np.array([10.0, 90.0, measured_soc]))
        assert find_offset_kwh(Performance(dispatch, measured)) == offset_kwh


class TestADeviation:
    """Of a battery of 2 MWh: 40 kW are tolerated, or 5 % of what it must do where that is more."""

    @pytest.mark.parametrize(
        ("asked_kw", "measured_kw", "reserve_kw", "deviates"),
        [
            pytest.param(0.0, 39.0, 0.0, False, id="at rest, within 2 % of its energy"),
            pytest.param(0.0, 41.0, 0.0, True, id="at rest, beyond it"),
            pytest.param(-1000.0, -951.0, 0.0, False, id="within 5 % of its power"),
            pytest.param(-1000.0, -949.0, 0.0, True, id="beyond 5 % of its power"),
            pytest.param(400.0, 361.0, 0.0, False, id="within 2 % of its energy, which is more than 5 % of its power"),
            pytest.param(400.0, 61.0, 300.0, False, id="as far as reserved power may explain it"),
            pytest.param(400.0, 59.0, 300.0, True, id="beyond what reserved power explains"),
        ],
    )
    def test_is_beyond_what_meters_and_reserved_power_explain(
        self, asked_kw: float, measured_kw: float, reserve_kw: float, deviates: bool
    ) -> None:
        nothing = np.zeros(1)
        parts = {(PartKind.VIRTUAL, 1): np.array([asked_kw]), (PartKind.FCR, 1): np.array([reserve_kw])}
        dispatch = DispatchSeries(1, 0, np.ones(1, dtype=bool), nothing, nothing, np.array([2000.0]), parts)
        measured = MeasuredMean(np.array([measured_kw]), np.ones(1))
        found = Performance(dispatch, Measurements(measured, MeasuredMean(nothing, nothing), np.full(1, np.nan)))
        assert found.deviates.tolist() == [deviates]
