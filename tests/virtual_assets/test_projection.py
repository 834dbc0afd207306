"""What will happen: cuts in the order of time, nothing else touched, and energy that never leaves the store."""

import json
from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.virtual_assets.projection_cases import PATH, cases

from gridloom.kernel.ids import BlockID, OrganisationID, VirtualAssetID
from gridloom.kernel.market_time import period_start
from gridloom.kernel.window import Window
from gridloom.virtual_assets.backing.availability import AvailableFraction
from gridloom.virtual_assets.energy.projection import CycleBudget, ProjectionInput, project
from gridloom.virtual_assets.energy.trajectory import energy_trajectory_kwh
from gridloom.virtual_assets.model import AdjustmentReason, AssetTerms, Block, Efficiency, Market, VirtualAsset
from gridloom.virtual_assets.schedule.projection_input import _input_of

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

    def test_cuts_a_copy_and_leaves_what_was_scheduled(self):
        case = inputs([[90.0, -80.0], [30.0, -70.0]], discharge_kw=60.0, charge_kw=50.0)
        first = project(case)
        assert case.power_kw.tolist() == [[90.0, -80.0], [30.0, -70.0]]
        assert first.power_kw.tolist() == [[60.0, -50.0], [30.0, -50.0]]
        assert project(case).cuts == first.cuts != []

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

    def test_names_availability(self):
        after_kw, cuts = cut(inputs([0, 80, -80], charge_kw=[100, 100, 30], discharge_kw=[100, 50, 100]))
        assert after_kw.tolist() == [[0, 50, -30]]
        assert [(c.position, c.accepted_kw, c.adjusted_kw, c.reason) for c in cuts] == [
            (1, 80, 50, AdjustmentReason.AVAILABILITY),
            (2, -80, -30, AdjustmentReason.AVAILABILITY),
        ]

    @pytest.mark.parametrize("lane", [0, 1])
    def test_cuts_one_direction_of_one_lane_where_nothing_else_is_cut(self, lane):
        power_kw = np.zeros((2, 3))
        power_kw[lane] = [30, -20, -21]
        assert [(c.position, c.adjusted_kw) for c in cut(inputs(power_kw, 20, 30))[1]] == [(2, -20)]
        power_kw[lane] = [-20, 30, 31]
        assert [(c.position, c.adjusted_kw) for c in cut(inputs(power_kw, 20, 30))[1]] == [(2, 30)]

    def test_names_the_energy_bounds(self):
        after_kw, cuts = cut(inputs([-100] * 6, available_kwh=150.0, energy_kwh=100.0))
        assert [each.reason for each in cuts] == [AdjustmentReason.STATE_OF_ENERGY_BOUNDARIES] * len(cuts)
        assert [each.position for each in cuts] == [2, 3, 4, 5]
        assert energy_trajectory_kwh(100.0, after_kw[0], EFFICIENCY)[-1] == 150.0

    def test_leaves_an_idle_battery_alone_that_holds_more_than_is_available(self):
        after_kw, cuts = cut(inputs([0, 40, -40], available_kwh=50.0, energy_kwh=100.0))
        assert after_kw.tolist() == [[0, 40, 0]]
        assert [each.position for each in cuts] == [2]

    def test_keeps_what_a_reserve_needs(self):
        after_kw, cuts = cut(inputs([100, 100, 0], energy_kwh=100.0, lowest_kwh=np.full(3, 60.0)))
        assert after_kw[0, 0] == 100
        assert after_kw[0, 1] == pytest.approx((100 - 25 / 0.95 - 60) * 0.95 * 4)
        assert [each.position for each in cuts] == [1]

    def test_names_the_cycle_limit(self):
        rule = CycleBudget(40.0, np.array([0, 0, 1, 1]), 10.0)
        after_kw, cuts = cut(inputs([100, 100, 100, -10], energy_kwh=200.0, cycles=(rule,)))
        assert after_kw.tolist() == [[100, 20, 100, -10]]
        assert [(each.position, each.reason) for each in cuts] == [(1, AdjustmentReason.CYCLE_LIMIT)]

    def test_counts_the_cycles_of_each_day_from_its_first_period_on(self):
        rule = CycleBudget(40.0, np.array([0, 0, 1, 1, 1]), 10.0)
        after_kw, cuts = cut(inputs([40, -20, 100, 100, 4], energy_kwh=200.0, cycles=(rule,)))
        assert after_kw.tolist() == [[40, -20, 100, 60, 0]]
        assert [(each.position, each.reason) for each in cuts] == [(n, AdjustmentReason.CYCLE_LIMIT) for n in (3, 4)]

    def test_is_shared_by_lanes_in_proportion(self):
        after_kw, _ = cut(inputs([[60], [20]], energy_kwh=10 / 0.95))
        np.testing.assert_allclose(after_kw, [[30], [10]])

    def test_of_a_lost_discharge_ends_where_the_store_is_full(self):
        """4 MW and 4 MWh, no losses: +1500 kW in four periods that lose their power, −3000 kW in four later ones."""
        case = ProjectionInput(
            power_kw=np.array([[1500.0] * 4 + [0.0] * 4 + [-3000.0] * 4]),
            charge_kw=np.full((1, 12), 4000.0),
            discharge_kw=np.array([[0.0] * 4 + [4000.0] * 8]),
            lowest_kwh=np.zeros(12),
            highest_kwh=np.full(12, 4000.0),
            energy_kwh=2000.0,
            capacity_kwh=4000.0,
            efficiency=Efficiency(1.0, 1.0),
        )
        found = project(case)
        assert found.energy_kwh.tolist() == [2000.0] * 9 + [2750.0, 3500.0, 4000.0, 4000.0]
        assert [(each.position, each.adjusted_kw) for each in found.cuts[4:]] == [(10, -2000.0), (11, 0.0)]

    def test_of_a_whole_year_is_quick_to_say_where_nothing_is_cut(self):
        count = 35_040
        case = inputs(np.tile([50.0, -50.0 / 0.855], count // 2), energy_kwh=100.0)
        found = project(case)
        assert found.cuts == []
        assert found.power_kw is case.power_kw


class TestAnInput:
    def test_has_what_is_available_of_the_blocks_and_the_room_that_reserves_leave(self):
        window = Window(period_start(1000), period_start(1004))
        terms = AssetTerms("Loom", window, "TenneT", 600.0, 500.0, 2000.0, Efficiency(0.9, 0.8), (), initial_soc=0.25)
        asset = VirtualAsset(
            1, VirtualAssetID(UUID(int=1)), OrganisationID(UUID(int=2)), window.start, terms, (), 1, 0.0
        )
        blocks = [
            Block(BlockID(UUID(int=3)), 0, 1000, 1004, Market.WHOLESALE, 400.0, 300.0),
            Block(BlockID(UUID(int=4)), 1, 1002, 1004, Market.FCR, 200.0, 100.0, 15.0),
        ]
        available = AvailableFraction(
            1000, np.array([1.0, 0.5, 1.0, 1.0]), np.array([1.0, 1.0, 0.25, 1.0]), np.array([1.0, 0.5, 0.75, 1.0])
        )
        found = _input_of(
            asset,
            blocks,
            {0: np.array([10.0, -20.0, 30.0, -40.0])},
            available,
            energy_kwh=asset.initial_kwh,
            cycles=(),
            activated_kwh=np.array([0.0, 1.0, 2.0, 3.0]),
            closed=1001,
        )
        arrays = (found.power_kw, found.charge_kw, found.discharge_kw, found.lowest_kwh, found.highest_kwh)
        assert [array.tolist() for array in arrays] == [
            [[10, -20, 30, -40]],
            [[400, 200, 400, 400]],
            [[300, 300, 75, 300]],
            [0, 25, 25, 25],  # from the end of the period before the reserve on
            [2000, 1000 - 50, 1500 - 50, 2000 - 50],
        ]
        assert (found.energy_kwh, found.capacity_kwh, found.efficiency) == (500, 2000, Efficiency(0.9, 0.8))
        assert found.activated_kwh is not None
        assert found.activated_kwh.tolist() == [0, 1, 2, 3]
        assert (found.cycles, found.closed) == ((), 1)


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
