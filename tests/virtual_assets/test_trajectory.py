"""The stored energy follows from the schedules and the efficiencies, and days stand for their periods."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gridloom.virtual_assets.energy.trajectory import (
    DaySummaries,
    days_possibly_out_of_bounds,
    energy_trajectory_kwh,
    first_excess,
    tolerance_kwh,
)
from gridloom.virtual_assets.model import Efficiency

pytestmark = pytest.mark.pure

POWERS = hnp.arrays(np.float64, st.integers(1, 200), elements=st.floats(-1e4, 1e4, allow_subnormal=False))
DAYS = hnp.arrays(np.float64, (3, 96), elements=st.floats(-100, 100, allow_subnormal=False))
RATIOS = st.floats(0.5, 1.0)
EFFICIENCIES = st.builds(Efficiency, RATIOS, RATIOS)


def reference_kwh(initial_kwh, power_kw, efficiency):
    """Period by period, as the contract writes it."""
    energies = [initial_kwh]
    for power in power_kw:
        charge, discharge = max(0.0, -power), max(0.0, power)
        energies.append(energies[-1] + 0.25 * (charge * efficiency.charge - discharge / efficiency.discharge))
    return np.array(energies)


class TestEnergyTrajectory:
    @given(POWERS, EFFICIENCIES, st.floats(0, 1e5))
    def test_equals_the_formula_applied_period_by_period(self, power_kw, efficiency, initial_kwh):
        got = energy_trajectory_kwh(initial_kwh, power_kw, efficiency)
        np.testing.assert_allclose(got, reference_kwh(initial_kwh, power_kw, efficiency), rtol=1e-9, atol=1e-6)

    @given(POWERS, EFFICIENCIES)
    def test_never_gains_energy_on_a_round_trip(self, power_kw, efficiency):
        there_and_back = np.concatenate([power_kw, -power_kw])
        end_kwh = energy_trajectory_kwh(0.0, there_and_back, efficiency)[-1]
        assert end_kwh <= 1e-6

    @given(POWERS, EFFICIENCIES)
    def test_returns_no_more_to_the_grid_than_the_round_trip_efficiency_allows(self, power_kw, efficiency):
        taken_kwh = -np.minimum(power_kw, 0).sum() / 4
        stored_kwh = energy_trajectory_kwh(0.0, np.minimum(power_kw, 0), efficiency)[-1]
        returned_kwh = stored_kwh * efficiency.discharge
        assert returned_kwh <= taken_kwh * efficiency.charge * efficiency.discharge * (1 + 1e-9) + 1e-9


class TestDaySummaries:
    @given(DAYS, EFFICIENCIES)
    def test_of_one_day_are_to_the_last_bit_what_they_are_among_others(self, power_kw, efficiency):
        together = DaySummaries.of(power_kw, efficiency).rows_kwh
        for place in range(3):
            alone = DaySummaries.of(power_kw[place : place + 1], efficiency).rows_kwh
            assert alone[:, 0].tolist() == together[:, place].tolist()

    @given(DAYS, EFFICIENCIES)
    def test_give_the_same_energies_and_extremes_as_the_periods(self, power_kw, efficiency):
        summaries = DaySummaries.of(power_kw, efficiency)
        energy_kwh = energy_trajectory_kwh(1000.0, power_kw.ravel(), efficiency)
        starts_kwh = summaries.day_starts_kwh(1000.0)
        np.testing.assert_allclose(starts_kwh, energy_kwh[::96], atol=1e-8)
        by_day_kwh = energy_kwh[1:].reshape(3, 96)
        np.testing.assert_allclose(starts_kwh[:-1] + summaries.lowest_kwh, by_day_kwh.min(axis=1), atol=1e-8)
        np.testing.assert_allclose(starts_kwh[:-1] + summaries.highest_kwh, by_day_kwh.max(axis=1), atol=1e-8)

    @given(
        DAYS,
        hnp.arrays(np.float64, 96, elements=st.floats(-100, 100)),
        st.integers(0, 2),
        hnp.arrays(np.float64, (3, 96), elements=st.floats(200, 900)),
    )
    def test_miss_no_day_that_a_change_puts_out_of_bounds(self, power_kw, new_kw, day, available_kwh):
        efficiency, slack = Efficiency(0.9, 0.9), tolerance_kwh(900)
        changed_kw = power_kw.copy()
        changed_kw[day] = new_kw
        before_kwh = energy_trajectory_kwh(400.0, power_kw.ravel(), efficiency)[1:]
        after_kwh = energy_trajectory_kwh(400.0, changed_kw.ravel(), efficiency)[1:]
        excess = first_excess(before_kwh, after_kwh, available_kwh.ravel(), slack)
        suspicious = days_possibly_out_of_bounds(
            DaySummaries.of(power_kw, efficiency),
            DaySummaries.of(changed_kw, efficiency),
            400.0,
            available_kwh.min(axis=1),
            slack,
        )
        if excess is not None and excess.position // 96 != day and abs(excess.excess_kwh) > 2 * slack:
            assert suspicious[excess.position // 96]


class TestFirstExcess:
    def test_is_none_of_a_store_that_is_just_emptied_or_just_filled(self):
        within = np.array([5.0, 5.0])
        assert first_excess(within, np.array([0.0, 10.0]), np.full(2, 10.0), 1e-6) is None
