"""Where a battery did not do what it must."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from msgspec import UNSET

from gridloom.delivery.codec import pack
from gridloom.delivery.dispatch.reading import DispatchSeries
from gridloom.delivery.model import PartKind
from gridloom.delivery.performance import routes
from gridloom.delivery.performance.deviations import find_offset_kwh
from gridloom.delivery.performance.measured import MeasuredMean, Measurements
from gridloom.delivery.performance.performance import Performance
from gridloom.delivery.performance.recording import unpack_days
from gridloom.market_calendar import market_day_periods

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


NOTHING: Any = None
NAN = np.nan
DAYS = [date(2026, 7, 1) + timedelta(days=day) for day in range(5)]
FIRSTS = [market_day_periods(day)[0] for day in DAYS]


class TestTheSummary:
    """Of six quarter-hours: the second was not planned, and the last two are to come; of one of these some is measured
    already."""

    FIRST = 2_000_000

    def _performance(self) -> Performance:
        dispatch = DispatchSeries(
            1,
            self.FIRST,
            np.array([True, False, True, True, True, True]),
            np.array([900.0, 0.0, 800.0, 760.0, 700.0, 600.0]),
            np.zeros(6),
            np.full(6, 2000.0),
            {
                (PartKind.VIRTUAL, 1): np.array([300.0, 0.0, -800.0, 0.0, 200.0, 300.0]),
                (PartKind.OWN, 0): np.array([100.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
                (PartKind.FCR, 1): np.full(6, 77.0),
            },
        )
        active = MeasuredMean(
            np.array([300.0, 50.0, -900.0, 20.0, 100.0, NAN]), np.array([1.0, 1.0, 0.5, 0.25, 0.5, 0.0])
        )
        reserve = MeasuredMean(np.array([-40.0, 0.0, 0.0, NAN, 0.0, NAN]), np.array([1.0, 1.0, 0.5, 0.0, 0.5, 0.0]))
        return Performance(dispatch, Measurements(active, reserve, np.array([50.0, 51.0, NAN, 40.0, NAN, NAN])))

    def test_counts_what_was_planned_and_has_passed_or_was_measured(self) -> None:
        found = self._performance()
        counts = routes.find_counted(found, self.FIRST + 4)
        assert counts.tolist() == [True, False, True, True, True, False]
        assert routes.find_counted(found, self.FIRST + 5).tolist() == [True, False, True, True, True, False]
        passed = routes.find_counted(found, self.FIRST + 6)
        assert passed.tolist() == [True, False, True, True, True, True]
        assert routes.sum_up(found, passed, UNSET).measured_periods == 4
        summary = routes.sum_up(found, counts, 12.5)
        assert summary == routes.PerformanceSummary(
            measured_periods=4,
            measured_share=0.5625,
            assumed_energy=125.0,
            charged_energy=212.5,
            discharged_energy=113.75,
            measured_energy_share=round(1 - 125 / 350, 6),
            earned_per_mw=12.5,
            asked_energy=350.0,
            delivered_energy=322.5,
            energy_deviation=-38.75,
            availability_delivered=round(322.5 / 350, 6),
            state_of_charge_drift=2.0,
        )

    def test_of_nothing_says_nothing_of_shares(self) -> None:
        summary = routes.sum_up(self._performance(), np.zeros(6, dtype=bool), UNSET)
        assert (summary.measured_share, summary.measured_energy_share) == (UNSET, UNSET)
        assert (summary.availability_delivered, summary.asked_energy) == (UNSET, 0.0)

    def test_has_deviations_only_of_what_counts(self) -> None:
        found = self._performance()
        columns = routes.performance_columns(found, routes.find_counted(found, self.FIRST + 4))
        expected = {
            "dispatchedPower": [400.0, 0.0, -800.0, 0.0, 200.0, 300.0],
            "plannedStateOfChargePercentage": [45.0, 0.0, 40.0, 38.0, 35.0, 30.0],
            "powerDeviation": [-60.0, NAN, -50.0, 5.0, -50.0, NAN],
            "energyDeviation": [-15.0, NAN, -12.5, 1.25, -12.5, NAN],
            "reserveResponse": [-40.0, 0.0, 0.0, NAN, 0.0, NAN],
            "availabilityDelivered": [0.85, NAN, 1.0, NAN, 0.75, NAN],
            "stateOfChargeDrift": [5.0, 51.0, NAN, 2.0, NAN, NAN],
        }
        assert {name: columns[name].tolist() for name in expected} == {
            name: pytest.approx(row, nan_ok=True) for name, row in expected.items()
        }


def recorded(day: date, value: float) -> bytes:
    """A day on which the power was `value` for half of each quarter-hour, the state of charge the quarter-hour."""
    first, end = market_day_periods(day)
    count = end - first
    return pack(
        {
            "active": np.full(count, value),
            "active_share": np.full(count, 0.5),
            "reserve": np.full(count, -value),
            "reserve_share": np.full(count, 0.25),
            "soc": np.arange(count, dtype=np.float64),
        }
    )


class TestMeasurements:
    def test_are_completed_where_nothing_was_measured(self) -> None:
        def mean(values: list[float], share: list[float]) -> MeasuredMean:
            return MeasuredMean(np.array(values), np.array(share))

        live = Measurements(mean([1.0, NAN], [0.5, 0.0]), mean([NAN, 2.0], [0.0, 0.125]), np.array([NAN, 3.0]))
        kept = Measurements(mean([9.0, 4.0], [1.0, 0.25]), mean([5.0, 8.0], [0.75, 1.0]), np.array([7.0, 8.0]))
        found = live.completed_by(kept)
        assert (found.active_kw.mean.tolist(), found.active_kw.share.tolist()) == ([1.0, 4.0], [0.5, 0.25])
        assert (found.reserve_kw.mean.tolist(), found.reserve_kw.share.tolist()) == ([5.0, 2.0], [0.75, 0.125])
        assert found.soc.tolist() == [7.0, 3.0]

    def test_of_recorded_days_are_those_of_their_periods(self) -> None:
        bodies = {DAYS[0]: recorded(DAYS[0], 10.0), DAYS[1]: recorded(DAYS[1], 20.0)}
        found = unpack_days(bodies, FIRSTS[1] - 2, FIRSTS[2] + 1)
        assert found.active_kw.mean.tolist() == pytest.approx([10.0] * 2 + [20.0] * 96 + [NAN], nan_ok=True)
        assert found.active_kw.share.tolist() == [0.5] * 98 + [0.0]
        assert found.reserve_kw.mean.tolist() == pytest.approx([-10.0] * 2 + [-20.0] * 96 + [NAN], nan_ok=True)
        assert found.soc.tolist() == pytest.approx([94.0, 95.0, *range(96), NAN], nan_ok=True)
