"""The programme: the known vector, an independent solver, no burning, and reasons where nothing is feasible."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridloom.optimiser.solving import solve as solve_module
from gridloom.optimiser.solving.battery_model import BatteryModel, SharedLimit
from gridloom.optimiser.solving.feasibility import unreachable
from gridloom.optimiser.solving.linear import Deadline, SolverResult, SolverStatus
from gridloom.optimiser.solving.programme import (
    BatteryProgramme,
    CancelledError,
    CycleLimit,
    InfeasibilityRule,
    InfeasibleError,
    Solution,
    SolutionStatus,
)
from gridloom.optimiser.solving.repair import repair_nearest
from gridloom.optimiser.solving.reserves import ReserveSlot, solve_with_reserves
from gridloom.optimiser.solving.solve import solve, solve_together

pytestmark = pytest.mark.pure

ETA = 0.943


def programme(prices: Any, **changes: Any) -> BatteryProgramme:
    """1 MW, 1 MWh, from half full to half full unless said otherwise."""
    count = len(prices)
    power, energy = changes.pop("power", 1000.0), changes.pop("energy", 1000.0)
    start, end, slack = changes.pop("start", 0.5), changes.pop("end", 0.5), changes.pop("slack", 0.01)
    cycles, charge = changes.pop("cycles", None), changes.pop("charge", power)
    charge_eta, discharge_eta = changes.pop("etas", (ETA, ETA))
    lowest, highest = np.zeros(count), np.full(count, energy)
    if end is not None:
        lowest[-1], highest[-1] = max(0.0, (end - slack) * energy), min(energy, (end + slack) * energy)
    limits = () if cycles is None else (CycleLimit(np.arange(count) // 96, np.full(-(-count // 96), cycles * energy)),)
    assert not changes
    return BatteryProgramme(
        np.asarray(prices, dtype=float),
        np.full(count, -charge),
        np.full(count, power),
        lowest,
        highest,
        start * energy,
        charge_eta,
        discharge_eta,
        limits,
    )


def independent_value(asked: BatteryProgramme) -> float:
    """The same decision put another way: energy as running sums, a binary in every period, scipy's own solver."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped]

    count, step = len(asked), asked.step_h
    up = np.tril(np.full((count, count), step * asked.charge_efficiency))
    down = np.tril(np.full((count, count), step / asked.discharge_efficiency))
    zeros, eye = np.zeros((count, count)), np.eye(count)
    rows = [
        LinearConstraint(
            np.hstack([up, -down, zeros]), asked.lowest_kwh - asked.initial_kwh, asked.highest_kwh - asked.initial_kwh
        ),
        LinearConstraint(np.hstack([eye, zeros, -np.diag(asked.charge_kw)]), -np.inf, 0),
        LinearConstraint(np.hstack([zeros, eye, np.diag(asked.discharge_kw)]), -np.inf, asked.discharge_kw),
    ]
    for limit in asked.cycles:
        member = (limit.groups[None, :] == np.arange(len(limit.left_kwh))[:, None]) * step
        empty = np.zeros_like(member)
        rows.append(LinearConstraint(np.hstack([empty, member, empty]), -np.inf, limit.left_kwh))
    cost = np.concatenate([asked.price_eur_mwh, -asked.price_eur_mwh, np.zeros(count)]) * step / 1000
    found = milp(
        cost,
        constraints=rows,
        bounds=Bounds(0, np.concatenate([asked.charge_kw, asked.discharge_kw, np.ones(count)])),
        integrality=np.concatenate([np.zeros(2 * count), np.ones(count)]),
        options={"mip_rel_gap": 1e-9},
    )
    assert found.status == 0, found.message
    return -float(found.fun)


def assert_keeps_to(asked: BatteryProgramme, power_kw: np.ndarray) -> None:
    energy = asked.energy_kwh(power_kw)
    slack = 1e-6 + 1e-9 * float(asked.highest_kwh.max())
    assert (power_kw >= asked.min_kw - 1e-9).all()
    assert (power_kw <= asked.max_kw + 1e-9).all()
    assert (energy >= asked.lowest_kwh - slack).all()
    assert (energy <= asked.highest_kwh + slack).all()
    for limit in asked.cycles:
        exported = np.bincount(limit.groups, np.maximum(power_kw, 0) * asked.step_h, minlength=len(limit.left_kwh))
        assert (exported <= limit.left_kwh + 1e-3).all()


class TestTheProgramme:
    def test_knows_the_vector_of_four_negative_quarters(self) -> None:
        asked = programme([-100.0] * 4, start=1.0, end=1.0, slack=0.0)
        relaxed = BatteryModel([asked])
        assert relaxed.value_eur(relaxed.run(Deadline(5)).objective) == pytest.approx(11.0751, abs=1e-4)
        cut = BatteryModel([asked], cut=[np.ones(4, dtype=bool)])
        assert cut.value_eur(cut.run(Deadline(5)).objective) == pytest.approx(5.8622, abs=1e-4)
        best = solve(asked)
        assert best.status is SolutionStatus.OPTIMAL
        assert best.value_eur == best.bound_eur == pytest.approx(5.5376, abs=1e-4)
        assert sorted(best.power_kw.round(1).tolist()) == [-1000.0, -1000.0, 778.5, 1000.0]

    def test_burns_no_energy_in_any_of_several_batteries(self) -> None:
        burning = programme([-100.0] * 4, start=1.0, end=1.0, slack=0.0)
        giving = programme([-100.0] * 4, end=None, charge=0.0)
        limit = SharedLimit(*np.full((2, 4), 1e5))
        for together in ([burning, giving], [giving, burning], [burning, burning]):
            found = solve_together(together, Deadline(5), shared=limit)
            expected = [5.5376 if one is burning else 0.0 for one in together]
            assert [one.value_eur for one in found] == pytest.approx(expected, abs=1e-4)
            assert {one.status for one in found} == {SolutionStatus.OPTIMAL}
        narrow = SharedLimit(np.full(4, 900.0), np.full(4, 800.0))
        found = solve_together([burning, burning], Deadline(5), shared=narrow)
        total_kw = found[0].power_kw + found[1].power_kw
        assert (total_kw.min(), total_kw.max()) == pytest.approx((-900, 800), abs=1e-3), "also within what they share"

    @settings(max_examples=25)
    @given(
        st.integers(0, 10_000),
        st.integers(4, 40),
        st.sampled_from([500.0, 1000.0, 4000.0]),
        st.booleans(),
        st.sampled_from([(1000.0, (ETA, ETA)), (700.0, (0.98, 0.9)), (1300.0, (0.85, 0.97))]),
        st.sampled_from([-30.0, 30.0]),
    )
    def test_is_as_good_as_an_independent_solver_finds(
        self,
        seed: int,
        count: int,
        energy: float,
        has_cycles: bool,
        charging: tuple[float, tuple[float, float]],
        mean_eur_mwh: float,
    ) -> None:
        rng, (charge, etas) = np.random.default_rng(seed), charging
        cycles = 1.0 if has_cycles else None
        prices = rng.normal(mean_eur_mwh, 60, count)
        asked = programme(prices, energy=energy, cycles=cycles, charge=charge, etas=etas)
        found = solve(asked)
        assert found.status is SolutionStatus.OPTIMAL
        assert found.value_eur == pytest.approx(independent_value(asked), rel=1e-6, abs=1e-6)
        assert_keeps_to(asked, found.power_kw)

    def test_of_a_week_stays_close_to_its_bound_and_never_burns(self) -> None:
        rng = np.random.default_rng(3)
        asked = programme(rng.normal(0, 50, 672), energy=2000.0, cycles=2.0)
        found = solve(asked)
        assert_keeps_to(asked, found.power_kw)
        assert found.value_eur <= found.bound_eur
        assert found.gap <= 0.02

    def test_shadow_prices_say_what_one_more_unit_earns(self) -> None:
        rng = np.random.default_rng(5)
        prices = rng.uniform(10, 150, 96)
        base = solve(programme(prices, cycles=1.0))
        assert base.shadow is not None
        more_cycles = solve(programme(prices, cycles=1.001)).value_eur - base.value_eur
        assert more_cycles == pytest.approx(base.shadow.cycles_eur_kwh[0][0] * 1.0, rel=0.05, abs=1e-6)
        assert base.shadow.charge_eur_kw >= 0
        assert base.shadow.discharge_eur_kw >= 0

    def test_ends_when_its_time_is_over(self) -> None:
        asked = programme(np.random.default_rng(1).normal(50, 40, 2688), cycles=1.0)
        assert BatteryModel([asked]).run(Deadline(0)).ended is SolverStatus.LIMIT

    def test_is_solved_to_the_end_where_that_is_asked_for_however_long(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(solve_module, "EXACT_PERIODS", 4)
        earned = []
        for seed in range(6):
            asked = programme(np.random.default_rng(seed).normal(-60, 40, 24), charge=700.0, etas=(0.85, 0.97))
            quick, exact = solve(asked), solve(asked, exact=True)
            assert exact.status is SolutionStatus.OPTIMAL
            assert exact.value_eur == pytest.approx(independent_value(asked), rel=1e-6, abs=1e-6)
            assert quick.value_eur <= exact.value_eur + 1e-6
            assert quick.gap <= 0.05
            both = solve_together([asked, asked], Deadline(5))
            assert sum(one.bound_eur for one in both) == pytest.approx(2 * quick.bound_eur), "a part of it for each"
            earned.append(exact.value_eur - quick.value_eur)
        assert max(earned) > 1e-3, "what is quick is not always as good"

    def test_that_runs_out_of_time_keeps_the_better_of_what_it_has_found(
        self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """With binaries, which had no time to prove it, or with directions as a relaxation suggests them."""
        run, better = solve_module._run_model, []

        def run_unproven(model: BatteryModel, deadline: Deadline) -> SolverResult:
            found = run(model, deadline)
            is_schedule = len(found.columns) > 3 * 24 and not solve_module._does_both(model, found)
            unproven = replace(found, ended=SolverStatus.LIMIT, bound=1.01 * found.bound)
            return unproven if is_schedule else found

        for seed in range(6):
            asked = programme(np.random.default_rng(seed).normal(-60, 40, 24), charge=700.0, etas=(0.85, 0.97))
            exact = solve(asked)
            with monkeypatch.context() as patch:
                patch.setattr(solve_module, "_run_model", run_unproven)
                unproven = solve(asked)
                patch.setattr(solve_module, "EXACT_PERIODS", 4)
                quick = solve(asked)
            assert quick.value_eur - 1e-6 <= unproven.value_eur <= exact.value_eur + 1e-6 <= unproven.bound_eur + 2e-6
            better.append(unproven.value_eur - quick.value_eur)
            if better[-1] > 1e-3:
                assert unproven.status is SolutionStatus.TIME_LIMIT, "what is not proven is not called the best"
        assert max(better) > 1e-3
        assert capfd.readouterr().out == "", "a solver has nothing to say but its answer"

    def test_that_is_stopped_has_no_answer(self) -> None:
        asked, slot = programme([50.0] * 8), ReserveSlot(0, 8, 0.1, True, True, 0.25, 100.0)
        deadline = Deadline(5)
        assert 0 < deadline.remaining_s() <= 5
        deadline.stop()
        for attempt in (
            lambda: solve(asked, deadline),
            lambda: solve_with_reserves(asked, [slot], deadline, exact=False),
            lambda: repair_nearest(asked, np.zeros(8), deadline),
        ):
            with pytest.raises(CancelledError):
                attempt()


class TestTheGap:
    def test_is_relative_to_the_bound_and_nothing_where_the_best_is_proven(self) -> None:
        for status, value_eur, bound_eur, gap in (
            (SolutionStatus.OPTIMAL, 90.0, 100.0, 0.0),
            (SolutionStatus.TIME_LIMIT, 90.0, 100.0, 0.1),
            (SolutionStatus.TIME_LIMIT, -110.0, -100.0, 0.1),
            (SolutionStatus.TIME_LIMIT, 101.0, 100.0, 0.0),
        ):
            assert Solution(status, np.zeros(1), value_eur, bound_eur).gap == pytest.approx(gap)


class TestNoWay:
    def test_is_blamed_on_the_first_period_that_must_overflow(self) -> None:
        asked = programme([50.0] * 8, start=0.9, end=None)
        asked.min_kw[2:6] = asked.max_kw[2:6] = -1000.0
        asked.min_kw[:2] = asked.max_kw[:2] = 0.0
        with pytest.raises(InfeasibleError) as refusal:
            solve(asked)
        assert (refusal.value.rule, refusal.value.position) == (InfeasibilityRule.ENERGY_ABOVE, 2)
        assert refusal.value.missing_kwh > 0
        with pytest.raises(InfeasibleError) as refusal:
            solve_together([programme([50.0] * 8), asked], Deadline(5), shared=SharedLimit(*np.full((2, 8), 1e5)))
        assert (refusal.value.rule, refusal.value.position) == (InfeasibilityRule.ENERGY_ABOVE, 2), "of any of them"

    def test_is_blamed_on_powers_that_leave_none_between_them(self) -> None:
        asked = programme([50.0] * 4, end=None)
        asked.min_kw[2] = asked.max_kw[2] + 1
        found = unreachable(asked)
        assert found is not None
        assert (found.rule, found.position) == (InfeasibilityRule.POWER, 2)

    @settings(max_examples=60)
    @given(st.integers(0, 10_000))
    def test_is_found_where_the_solver_finds_none_and_only_there(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        asked = programme([50.0] * 6, end=None, charge=800.0, power=400.0, etas=(0.8, 0.5))
        asked.min_kw[:] = rng.uniform(-800, 300, 6)
        asked.max_kw[:] = asked.min_kw + rng.uniform(0, 700, 6)
        asked.lowest_kwh[:] = rng.uniform(0, 600, 6)
        asked.highest_kwh[:] = asked.lowest_kwh + rng.uniform(50, 600, 6)
        ended = BatteryModel([asked]).run(Deadline(5)).ended
        assert (unreachable(asked) is not None) is (ended is SolverStatus.INFEASIBLE)

    def test_is_blamed_on_what_batteries_share_where_each_by_itself_finds_one(self) -> None:
        together = [programme([50.0] * 4, end=None) for _ in range(2)]
        for one in together:
            one.min_kw[:] = one.max_kw[:] = -100.0
        limit = SharedLimit(np.full(4, 199.0), np.full(4, 1000.0))
        with pytest.raises(InfeasibleError) as refusal:
            solve_together(together, Deadline(5), shared=limit)
        assert refusal.value.rule is InfeasibilityRule.SHARED_LIMIT
        enough = SharedLimit(np.full(4, 201.0), np.full(4, 0.0))
        assert [one.power_kw.tolist() for one in solve_together(together, Deadline(5), shared=enough)] == [
            [-100.0] * 4,
            [-100.0] * 4,
        ]

    def test_is_blamed_on_cycles_when_they_do_not_suffice(self) -> None:
        with pytest.raises(InfeasibleError) as refusal:
            solve(programme([50.0] * 96, start=1.0, end=0.0, cycles=0.5))
        assert refusal.value.rule is InfeasibilityRule.CYCLE_LIMIT

    def test_is_blamed_on_the_first_period_of_the_day_whose_cycles_do_not_suffice(self) -> None:
        """Of three days the second has to give away 400 kWh, and may give 300; then the third, of two limits one."""
        asked = programme([50.0] * 12, start=1.0, end=None, etas=(1.0, 1.0))
        days, all_days = np.arange(12) // 4, np.zeros(12, dtype=np.int64)
        asked.highest_kwh[7], asked.highest_kwh[3] = 300.0, 700.0
        for limits, position in (
            ([CycleLimit(days, np.array([300.0, 300.0, 500.0]))], 4),
            ([CycleLimit(all_days, np.array([900.0])), CycleLimit(days, np.array([300.0, 300.0, 500.0]))], 4),
            ([CycleLimit(days, np.array([200.0, 900.0, 500.0]))], 0),
            ([CycleLimit(days, np.array([300.0, 500.0, 500.0])), CycleLimit(all_days, np.array([600.0]))], 0),
        ):
            with pytest.raises(InfeasibleError) as refusal:
                solve(replace(asked, cycles=tuple(limits)))
            assert (refusal.value.rule, refusal.value.position) == (InfeasibilityRule.CYCLE_LIMIT, position)
        enough = CycleLimit(days, np.array([300.0, 400.0, 0.0]))
        assert_keeps_to(replace(asked, cycles=(enough,)), solve(replace(asked, cycles=(enough,))).power_kw)


class TestARepair:
    @settings(max_examples=40)
    @given(st.integers(0, 10_000), st.integers(8, 96))
    def test_is_feasible_ends_balanced_and_turns_nothing_around(self, seed: int, count: int) -> None:
        rng = np.random.default_rng(seed)
        asked = programme(rng.normal(40, 50, count), energy=1500.0)
        sent = rng.normal(0, 900, count) * (rng.random(count) < 0.7)
        repaired = repair_nearest(asked, sent, Deadline(5))
        assert_keeps_to(asked, repaired)
        assert (repaired * sent >= -1e-6).all() or np.abs(repaired).sum() > 0

    def test_keeps_to_the_cycles_of_each_day_and_moves_what_is_worth_least(self) -> None:
        """Two days of 400 kWh at most, of which 600 were asked for on the second; its cheapest hour gives way."""
        prices = np.repeat([50.0, 60.0, 90.0, 80.0], 4)
        asked = programme(prices, energy=4000.0, start=0.5, end=None, etas=(1.0, 1.0))
        limit = CycleLimit(np.arange(16) // 8, np.array([400.0, 400.0]))
        sent = np.repeat([300.0, 0.0, 300.0, 300.0], 4)
        repaired = repair_nearest(replace(asked, cycles=(limit,)), sent, Deadline(5))
        assert repaired[:8].tolist() == pytest.approx(sent[:8].tolist())
        assert [repaired[8:12].sum() / 4, repaired[12:].sum() / 4] == pytest.approx([300.0, 100.0])
        assert repair_nearest(asked, sent, Deadline(5)).tolist() == pytest.approx(sent.tolist())


class TestReserves:
    @pytest.mark.parametrize(
        ("is_up", "is_down", "most_kw", "lot_kw", "power_kw", "bound_eur"),
        [
            pytest.param(True, False, 900.0, 1.0, 600.0, 120.0, id="upward: 750 kWh, less what is lost"),
            pytest.param(False, True, 900.0, 1.0, 812.0, 162.5, id="downward: room of 812.5 kWh"),
            pytest.param(True, True, 900.0, 1.0, 444.0, 800 / 9, id="both: 1.25 times as much in store as room"),
            pytest.param(True, False, 900.0, 7.0, 595.0, 120.0, id="in lots"),
            pytest.param(False, True, 300.0, 1.0, 300.0, 60.0, id="no more than the product takes"),
        ],
    )
    def test_are_as_large_as_the_store_and_its_room_last_for_the_time_asked(
        self, is_up: bool, is_down: bool, most_kw: float, lot_kw: float, power_kw: float, bound_eur: float
    ) -> None:
        """For an hour, of a store that is half full; 250 kWh go in or 312.5 come out before the first quarter ends."""
        asked = programme([0.0] * 4, end=None, etas=(1.0, 0.8))
        slot = ReserveSlot(0, 4, 0.2, is_up, is_down, 1.0, most_kw, lot_kw)
        found = solve_with_reserves(asked, [slot], Deadline(5), exact=False)
        assert found.power_kw.tolist() == pytest.approx([power_kw])
        assert (found.spot.value_eur, found.bound_eur) == pytest.approx((0.0, bound_eur))

    @pytest.mark.parametrize(
        ("prices", "power_kw"),
        [
            pytest.param([0.0] * 8, [600.0, 600.0, 800.0, 800.0], id="all of it"),
            pytest.param([1000.0] * 4 + [-1000.0] * 4, [0.0, 600.0, 800.0, 0.0], id="what the spot market leaves"),
        ],
    )
    def test_share_the_power_of_each_direction_with_the_spot_market(
        self, prices: list[float], power_kw: list[float]
    ) -> None:
        """Two upward ones after each other, and two downward ones, of a store that is large enough for all."""
        asked = programme(prices, energy=40_000.0, end=None, charge=800.0, power=600.0)
        slots = [
            ReserveSlot(first, first + 4, 0.2, is_up, not is_up, 0.01, 5000.0)
            for is_up in (True, False)
            for first in (0, 4)
        ]
        found = solve_with_reserves(asked, slots, Deadline(5), exact=False)
        assert found.power_kw.tolist() == pytest.approx(power_kw)

    def test_are_refused_with_the_reason_where_no_schedule_is_feasible(self) -> None:
        asked = programme([50.0] * 2, energy=100_000.0, start=0.0, end=1.0)
        with pytest.raises(InfeasibleError) as refusal:
            solve_with_reserves(asked, [ReserveSlot(0, 2, 0.1, True, True, 0.25, 9.0)], Deadline(5), exact=False)
        assert refusal.value.rule is InfeasibilityRule.END_STATE_OF_CHARGE
