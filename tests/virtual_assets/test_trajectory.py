"""The stored energy follows from the schedules and the efficiencies, and days stand for their periods."""

from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.virtual_assets.test_draft import asset_of_five_days

from gridloom.kernel.ids import BlockID
from gridloom.virtual_assets.energy.trajectory import (
    DaySummaries,
    cycle_limits_kwh,
    days_possibly_out_of_bounds,
    energy_trajectory_kwh,
    first_excess,
    may_exceed_cycles,
    reserved_kwh,
    tolerance_kwh,
)
from gridloom.virtual_assets.model import Block, Efficiency, Market

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

    def test_starts_where_the_asset_starts_and_stays_there_when_idle(self):
        assert set(energy_trajectory_kwh(500.0, np.zeros(96), Efficiency(0.9, 0.9)).tolist()) == {500.0}

    def test_validates_a_whole_year(self):
        power_kw = np.random.default_rng(7).uniform(-10, 10, 35_040)
        energy_kwh = energy_trajectory_kwh(5e4, power_kw, Efficiency(0.95, 0.95))[1:]
        assert first_excess(np.full(35_040, 5e4), energy_kwh, np.full(35_040, 1e5), 1e-6) is None


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
    def test_names_the_first_period_and_the_kwh(self):
        within, after = np.array([5.0, 5.0, 5.0]), np.array([5.0, 12.5, 13.0])
        excess = first_excess(within, after, np.full(3, 10.0), 1e-6)
        assert excess is not None
        assert (excess.position, excess.excess_kwh) == (1, 2.5)

    def test_is_negative_below_empty(self):
        excess = first_excess(np.array([1.0]), np.array([-0.5]), np.array([10.0]), 1e-6)
        assert excess is not None
        assert excess.excess_kwh == -0.5

    def test_is_none_of_a_store_that_is_just_emptied_or_just_filled(self):
        within = np.array([5.0, 5.0])
        assert first_excess(within, np.array([0.0, 10.0]), np.full(2, 10.0), 1e-6) is None

    def test_forgives_what_was_outside_before_and_got_no_worse(self):
        before, available = np.array([8.0, 8.0]), np.array([6.0, 6.0])
        assert first_excess(before, np.array([8.0, 7.0]), available, 1e-6) is None
        assert first_excess(before, np.array([8.0, 8.1]), available, 1e-6) is not None

    def test_does_not_let_many_small_steps_creep_over_the_bound(self):
        energy, refused = np.array([10.0]), False
        for _ in range(50):
            stepped = energy + 4e-7
            if first_excess(energy, stepped, np.array([10.0]), 1e-6):
                refused = True
                break
            energy = stepped
        assert refused
        assert energy[0] <= 10.0 + 1.1e-6


class TestTheEnergyOfReserves:
    """Blocks of 600 kW of charging and 300 kW of discharging over the periods 10 to 13, for half an hour each way."""

    @pytest.mark.parametrize(
        ("market", "stored_kwh", "free_kwh"),
        [
            (Market.FCR, 150.0, 300.0),
            (Market.AFRR_POS, 150.0, 0.0),
            (Market.AFRR_NEG, 0.0, 300.0),
            (Market.WHOLESALE, 0.0, 0.0),
        ],
    )
    def test_is_that_of_their_own_direction_from_the_end_of_the_period_before(self, market, stored_kwh, free_kwh):
        block = Block(BlockID(UUID(int=1)), 0, 10, 14, market, 600.0, 300.0, reserve_minutes=30.0)
        stored, free = reserved_kwh([block], 7, 16)
        held = np.array([0, 0, 1, 1, 1, 1, 1, 0, 0])
        assert stored.tolist() == (stored_kwh * held).tolist()
        assert free.tolist() == (free_kwh * held).tolist()

    @pytest.mark.parametrize(
        ("first", "end", "held"), [(6, 9, [0, 0, 0]), (8, 10, [0, 1]), (13, 15, [1, 0]), (14, 15, [0])]
    )
    def test_is_needed_in_a_window_as_in_all(self, first, end, held):
        block = Block(BlockID(UUID(int=1)), 0, 10, 14, Market.FCR, 600.0, 600.0, reserve_minutes=30.0)
        assert [part.tolist() for part in reserved_kwh([block], first, end)] == [[300.0 * one for one in held]] * 2

    def test_adds_up_where_blocks_stand_side_by_side(self):
        fcr = Block(BlockID(UUID(int=1)), 0, 10, 14, Market.FCR, 600.0, 600.0, reserve_minutes=15.0)
        upward = Block(BlockID(UUID(int=2)), 1, 12, 16, Market.AFRR_POS, 0.0, 100.0, reserve_minutes=60.0)
        stored, free = reserved_kwh([fcr, upward], 10, 16)
        assert stored.tolist() == [150, 250, 250, 250, 100, 100]
        assert free.tolist() == [150, 150, 150, 150, 0, 0]


class TestCycleLimits:
    def test_are_exports_of_so_many_times_the_capacity_a_day_and_a_year(self):
        terms = asset_of_five_days().terms
        capacity_kwh = terms.energy_capacity_kwh
        for daily, annual in ((1.5, 400.0), (1.5, None), (None, 400.0), (None, None)):
            limited = replace(terms, daily_cycle_limit=daily, annual_cycle_limit=annual)
            assert cycle_limits_kwh(limited) == (
                None if daily is None else 1.5 * capacity_kwh,
                None if annual is None else 400.0 * capacity_kwh,
            )

    @pytest.mark.parametrize(
        ("daily_kwh", "annual_kwh", "may_exceed"),
        [
            (None, None, False),
            (110.0, None, False),  # 50 and 60 kWh lie in two days that follow each other
            (109.0, None, True),
            (None, 150.0, False),  # of all days together
            (None, 149.0, True),
            (110.0, 149.0, True),
        ],
    )
    def test_are_exceeded_at_most_by_two_days_in_a_row_or_by_all(self, daily_kwh, annual_kwh, may_exceed):
        exported_kwh = np.array([40.0, 0.0, 50.0, 60.0])
        assert may_exceed_cycles(exported_kwh, daily_kwh, annual_kwh) is may_exceed
