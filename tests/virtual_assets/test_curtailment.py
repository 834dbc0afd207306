"""When gates close, what no longer fits is cut in the order of time, and what fits is never touched."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gridloom.virtual_assets.gate_closure.curtailment import CycleRule, Standing, cut_to_fit, first_misfit
from gridloom.virtual_assets.model import AdjustmentReason, Efficiency
from gridloom.virtual_assets.schedule.trajectory import energy_trajectory_kwh

PERIODS = 24
EFFICIENCY = Efficiency(0.9, 0.95)


def standing(power_kw, charge_kw=100.0, discharge_kw=100.0, available_kwh=200.0, energy_kwh=100.0, cycles=()):
    power_kw = np.atleast_2d(np.asarray(power_kw, dtype=float))
    shape = power_kw.shape
    return Standing(
        power_kw,
        np.broadcast_to(np.asarray(charge_kw, dtype=float), shape),
        np.broadcast_to(np.asarray(discharge_kw, dtype=float), shape),
        np.broadcast_to(np.asarray(available_kwh, dtype=float), shape[1:]),
        energy_kwh,
        EFFICIENCY,
        1e-6,
        cycles,
    )


LANES = hnp.arrays(np.float64, (2, PERIODS), elements=st.floats(-150, 150))
LIMITS = hnp.arrays(np.float64, (2, PERIODS), elements=st.floats(0, 120))


class TestCutting:
    @given(LANES, LIMITS, LIMITS, hnp.arrays(np.float64, PERIODS, elements=st.floats(0, 250)), st.floats(0, 200))
    def test_leaves_a_schedule_that_fits(self, power_kw, charge_kw, discharge_kw, available_kwh, energy_kwh):
        groups = np.repeat(np.arange(PERIODS // 8), 8)
        cycles = (CycleRule(60.0, groups, 10.0),)
        before = standing(power_kw, charge_kw, discharge_kw, available_kwh, energy_kwh, cycles)
        after_kw, cuts = cut_to_fit(before)
        after = standing(after_kw, charge_kw, discharge_kw, available_kwh, energy_kwh, cycles)
        assert first_misfit(after) is None
        assert cut_to_fit(after)[1] == []
        untouched = np.ones(PERIODS, dtype=bool)
        untouched[[cut.position for cut in cuts]] = False
        np.testing.assert_array_equal(after_kw[:, untouched], power_kw[:, untouched])
        energies = energy_trajectory_kwh(energy_kwh, after_kw.sum(axis=0), EFFICIENCY)
        assert energies.min() >= -1e-5

    @given(LANES, LIMITS, LIMITS)
    def test_only_reduces_each_lane_and_never_turns_it_around(self, power_kw, charge_kw, discharge_kw):
        after_kw, _ = cut_to_fit(standing(power_kw, charge_kw, discharge_kw))
        assert (np.abs(after_kw) <= np.abs(power_kw) + 1e-9).all()
        assert (after_kw * power_kw >= -1e-6).all()

    @given(LANES, LIMITS, LIMITS)
    def test_begins_at_the_first_misfit(self, power_kw, charge_kw, discharge_kw):
        case = standing(power_kw, charge_kw, discharge_kw)
        cuts = cut_to_fit(case)[1]
        assert (cuts[0].position if cuts else None) == first_misfit(case)

    def test_names_availability(self):
        after_kw, cuts = cut_to_fit(standing([0, 80, -80], charge_kw=[100, 100, 30], discharge_kw=[100, 50, 100]))
        assert after_kw.tolist() == [[0, 50, -30]]
        assert [(c.position, c.accepted_kw, c.adjusted_kw, c.reason) for c in cuts] == [
            (1, 80, 50, AdjustmentReason.AVAILABILITY),
            (2, -80, -30, AdjustmentReason.AVAILABILITY),
        ]

    def test_names_the_energy_bounds(self):
        after_kw, cuts = cut_to_fit(standing([-100] * 6, available_kwh=150.0, energy_kwh=100.0))
        assert [cut.reason for cut in cuts] == [AdjustmentReason.STATE_OF_ENERGY_BOUNDARIES] * len(cuts)
        assert [cut.position for cut in cuts] == [2, 3, 4, 5]
        assert energy_trajectory_kwh(100.0, after_kw[0], EFFICIENCY)[-1] == 150.0

    def test_leaves_an_idle_battery_alone_that_holds_more_than_is_available(self):
        after_kw, cuts = cut_to_fit(standing([0, 40, -40], available_kwh=50.0, energy_kwh=100.0))
        assert after_kw.tolist() == [[0, 40, 0]]
        assert [cut.position for cut in cuts] == [2]

    def test_names_the_cycle_limit(self):
        rule = CycleRule(40.0, np.array([0, 0, 1, 1]), 10.0)
        after_kw, cuts = cut_to_fit(standing([100, 100, 100, -10], energy_kwh=200.0, cycles=(rule,)))
        assert after_kw.tolist() == [[100, 20, 100, -10]]
        assert [(cut.position, cut.reason) for cut in cuts] == [(1, AdjustmentReason.CYCLE_LIMIT)]

    def test_is_shared_by_lanes_in_proportion(self):
        after_kw, _ = cut_to_fit(standing([[60], [20]], energy_kwh=10 / 0.95))
        np.testing.assert_allclose(after_kw, [[30], [10]])
