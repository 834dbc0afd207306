"""What will happen: cuts in the order of time, nothing else touched, and energy that never leaves the store."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.virtual_assets.projection_cases import PATH, cases

from gridloom.virtual_assets.energy.projection import CycleBudget, ProjectionInput, project
from gridloom.virtual_assets.energy.trajectory import energy_trajectory_kwh
from gridloom.virtual_assets.model import Efficiency

pytestmark = pytest.mark.pure

PERIODS = 24
EFFICIENCY = Efficiency(0.9, 0.95)


def inputs(power_kw, charge_kw=100.0, discharge_kw=100.0, available_kwh=200.0, energy_kwh=100.0, cycles=(), **changes):
    power_kw = np.atleast_2d(np.asarray(power_kw, dtype=float))
    shape = power_kw.shape
    case = ProjectionInput(
        power_kw=power_kw,
        charge_kw=np.broadcast_to(np.asarray(charge_kw, dtype=float), shape),
        discharge_kw=np.broadcast_to(np.asarray(discharge_kw, dtype=float), shape),
        lowest_kwh=np.zeros(shape[1]),
        highest_kwh=np.broadcast_to(np.asarray(available_kwh, dtype=float), shape[1:]),
        energy_kwh=energy_kwh,
        capacity_kwh=250.0,
        efficiency=EFFICIENCY,
        cycles=cycles,
    )
    return replace(case, **changes)


def cut(case):
    found = project(case)
    return found.power_kw, found.cuts


LANES = hnp.arrays(np.float64, (2, PERIODS), elements=st.floats(-150, 150))
LIMITS = hnp.arrays(np.float64, (2, PERIODS), elements=st.floats(0, 120))
ENERGIES = hnp.arrays(np.float64, PERIODS, elements=st.floats(0, 250))
ACTIVATED = hnp.arrays(np.float64, PERIODS, elements=st.sampled_from([0.0, 0.0, 0.0, -60.0, 45.0, -7.5]))
GROUPS = np.repeat(np.arange(PERIODS // 8), 8)


class TestProjection:
    @given(LANES, LIMITS, LIMITS, ENERGIES, st.floats(0, 200))
    def test_leaves_a_schedule_that_fits(self, power_kw, charge_kw, discharge_kw, available_kwh, energy_kwh):
        cycles = (CycleBudget(60.0, GROUPS, 10.0),)
        case = inputs(power_kw, charge_kw, discharge_kw, available_kwh, energy_kwh, cycles)
        after_kw, cuts = cut(case)
        assert cut(replace(case, power_kw=after_kw))[1] == []
        untouched = np.ones(PERIODS, dtype=bool)
        untouched[[each.position for each in cuts]] = False
        np.testing.assert_array_equal(after_kw[:, untouched], power_kw[:, untouched])
        energies = energy_trajectory_kwh(energy_kwh, after_kw.sum(axis=0), EFFICIENCY)
        assert energies.min() >= -1e-5
        np.testing.assert_allclose(project(case).energy_kwh, energies, atol=1e-5)

    def test_keeps_within_the_store_what_rounding_would_put_beyond_it(self):
        """Within the tolerance nothing is cut, and still no more is stored than there can be, nor less than nothing."""
        for energy_kwh, power_kw in ((250.0, -4e-6), (0.0, 4e-6)):
            found = project(inputs([power_kw], available_kwh=250.0, energy_kwh=energy_kwh))
            assert (found.cuts, found.energy_kwh.tolist()) == ([], [energy_kwh, energy_kwh])

    @given(LANES, LIMITS, LIMITS)
    def test_only_reduces_each_lane_and_never_turns_it_around(self, power_kw, charge_kw, discharge_kw):
        after_kw, _ = cut(inputs(power_kw, charge_kw, discharge_kw))
        assert (np.abs(after_kw) <= np.abs(power_kw) + 1e-9).all()
        assert (after_kw >= -charge_kw - 1e-6).all()
        assert (after_kw <= discharge_kw + 1e-6).all()
        assert (after_kw * power_kw >= -1e-6).all()

    @given(LANES, LIMITS, LIMITS, ENERGIES, ACTIVATED, st.floats(0, 250), st.integers(0, PERIODS))
    def test_is_the_same_as_one_period_at_a_time(
        self, power_kw, charge_kw, discharge_kw, available_kwh, activated_kwh, energy_kwh, closed
    ):
        """Whole arrays are a shortcut; the slow way is a projection of each period alone."""
        cycles = (CycleBudget(60.0, GROUPS, 10.0), CycleBudget(100.0, np.zeros(PERIODS, dtype=np.int64), 0.0))
        case = inputs(
            power_kw, charge_kw, discharge_kw, available_kwh, energy_kwh, cycles,
            activated_kwh=activated_kwh, closed=closed,
        )  # fmt: skip
        whole = project(case)
        spent = [10.0, 0.0]
        for n in range(PERIODS):
            if n % 8 == 0 and n:
                spent[0] = 0.0
            one = replace(
                case,
                **{name: getattr(case, name)[:, n : n + 1] for name in ("power_kw", "charge_kw", "discharge_kw")},
                **{name: getattr(case, name)[n : n + 1] for name in ("lowest_kwh", "highest_kwh", "activated_kwh")},
                energy_kwh=energy_kwh,
                closed=max(0, closed - n),
                cycles=[
                    CycleBudget(rule.limit_kwh, rule.groups[n : n + 1], exported)
                    for rule, exported in zip(cycles, spent, strict=True)
                ],
            )
            alone = project(one)
            np.testing.assert_allclose(whole.power_kw[:, n], alone.power_kw[:, 0], atol=1e-4)
            assert whole.unexplained_kwh[n] == pytest.approx(alone.unexplained_kwh[0], abs=1e-5)
            energy_kwh = alone.end_kwh
            assert whole.energy_kwh[n + 1] == pytest.approx(energy_kwh, abs=1e-5)
            exported = max(0.0, float(alone.total_kw[0])) / 4
            spent = [each + exported for each in spent]

    @given(LANES, LIMITS, LIMITS, ENERGIES, ACTIVATED, st.floats(0, 250), st.integers(0, PERIODS))
    def test_keeps_the_energy_in_the_store_and_says_what_it_cannot_explain(
        self, power_kw, charge_kw, discharge_kw, available_kwh, activated_kwh, energy_kwh, closed
    ):
        case = inputs(
            power_kw, charge_kw, discharge_kw, available_kwh, energy_kwh, activated_kwh=activated_kwh, closed=closed
        )
        found = project(case)
        assert found.energy_kwh.min() >= 0
        assert found.energy_kwh.max() <= 250
        np.testing.assert_array_equal(found.power_kw[:, :closed], power_kw[:, :closed])
        changes = energy_trajectory_kwh(0.0, found.total_kw, EFFICIENCY)[-1]
        balance = energy_kwh + changes + activated_kwh.sum() + found.unexplained_kwh.sum()
        assert found.end_kwh == pytest.approx(balance, abs=1e-4)

    def test_keeps_what_a_reserve_needs(self):
        after_kw, cuts = cut(inputs([100, 100, 0], energy_kwh=100.0, lowest_kwh=np.full(3, 60.0)))
        assert after_kw[0, 0] == 100
        assert after_kw[0, 1] == pytest.approx((100 - 25 / 0.95 - 60) * 0.95 * 4)
        assert [each.position for each in cuts] == [1]


class TestTheCases:
    def test_for_other_languages_are_up_to_date(self):
        """Write them anew with `python -m tests.virtual_assets.projection_cases`."""
        known, made = json.loads(PATH.read_text()), json.loads(json.dumps(cases()))
        assert len(known) == len(made)
        for old, new in zip(known, made, strict=True):
            assert old["name"] == new["name"]
            assert old["standing"] == new["standing"]
            for name in ("powerKW", "energyKWh", "unexplainedKWh"):
                np.testing.assert_allclose(old["projection"][name], new["projection"][name], atol=1e-9)
            assert [c["reason"] for c in old["projection"]["cuts"]] == [c["reason"] for c in new["projection"]["cuts"]]
