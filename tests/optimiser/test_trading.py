"""Positions planned anew: always something the battery can run, in whole lots, worth more than holding."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.optimiser.cycle_budget import CycleSpending, spend_cycles
from gridloom.optimiser.day_table import DayTable
from gridloom.optimiser.limits import LimitReason, plain_reasons
from gridloom.optimiser.solving.linear import Deadline
from gridloom.optimiser.solving.programme import BatteryProgramme, CancelledError, CycleLimit, Floats, InfeasibleError
from gridloom.optimiser.solving.solve import solve
from gridloom.optimiser.trading.positions import can_run, end_between
from gridloom.optimiser.trading.replanning import HURDLE_EUR_MWH, LOT_KW, Replanner, hold_end
from gridloom.optimiser.trading.trips import find_trips

pytestmark = pytest.mark.pure


def random_programme(rng: np.random.Generator, count: int) -> BatteryProgramme:
    """Any power, size, losses, cycles; now and then reserves, negative prices, less power for a while."""
    power, hours = rng.choice([450.0, 1000.0, 5000.0]), rng.choice([1.0, 2.0, 4.0])
    energy = power * hours
    price = 60 + 50 * np.sin(np.arange(count) / 7) + rng.normal(0, 25, count)
    least, most = np.full(count, -power), np.full(count, power * rng.choice([0.8, 1.0]))
    low, high = np.zeros(count), np.full(count, energy)
    if rng.random() < 0.4:
        most[: count // 3] *= 0.5
        low[: count // 3] += 0.125 * energy
        high[: count // 3] -= 0.125 * energy
    cycles = (CycleLimit(np.zeros(count, dtype=np.int64), np.array([rng.choice([0.5, 1.5]) * energy])),)
    return BatteryProgramme(
        np.round(price, 2),
        least,
        most,
        low,
        high,
        energy / 2,
        0.943,
        0.9,
        cycles if rng.random() < 0.7 else (),
        wear_eur_mwh=float(rng.choice([0.0, 7.0])),
    )


def in_lots(position: Floats, before: Floats) -> bool:
    lots = (position - before) / LOT_KW
    return bool(np.allclose(lots, np.round(lots)))


class TestAPlanAnew:
    @given(st.integers(0, 10_000), st.sampled_from([48, 92, 96]))
    def test_can_be_run_in_whole_lots_and_ends_where_it_should(self, seed: int, count: int) -> None:
        rng = np.random.default_rng(seed)
        day, planner = random_programme(rng, count), Replanner()
        first = planner.replan(day, np.zeros(count), 0.0)
        assert can_run(day, first.power_kw)
        assert in_lots(first.power_kw, np.zeros(count))
        assert day.value_eur(first.power_kw) >= 0 or first.is_forced
        later = replace(day, price_eur_mwh=day.price_eur_mwh + rng.normal(0, 15, count))
        target_kwh = float(day.energy_kwh(first.power_kw)[-1])
        held = hold_end(later, target_kwh, LOT_KW)
        again = planner.replan(later, first.power_kw, HURDLE_EUR_MWH, target_kwh)
        assert not again.is_forced
        assert can_run(held, again.power_kw)
        assert in_lots(again.power_kw, first.power_kw)
        assert abs(later.energy_kwh(again.power_kw)[-1] - target_kwh) <= LOT_KW / 4 + 1e-6
        traded_mwh = np.abs(again.power_kw - first.power_kw).sum() / 4000
        gain = later.value_eur(again.power_kw) - later.value_eur(first.power_kw)
        assert gain >= HURDLE_EUR_MWH * traded_mwh - 0.2 * LOT_KW / 4, "but for what the end within a lot is worth"

    def test_breaks_ties_the_same_way_whatever_was_solved_before(self) -> None:
        rng, worn = np.random.default_rng(3), Replanner(lot_kw=None)
        day = replace(random_programme(rng, 96), price_eur_mwh=np.repeat([10.0, 90.0, 20.0, 90.0], 24))
        fresh = Replanner(lot_kw=None).replan(day, np.zeros(96), 1.0).power_kw
        for _ in range(5):
            worn.replan(replace(day, price_eur_mwh=rng.normal(50, 40, 96)), np.zeros(96), 1.0)
        assert (worn.replan(day, np.zeros(96), 1.0).power_kw == fresh).all()

    def test_earns_within_lots_what_the_exact_programme_earns_but_for_their_size(self) -> None:
        rng = np.random.default_rng(5)
        for _ in range(5):
            day = random_programme(rng, 96)
            lots, exact = (Replanner(lot_kw=size).replan(day, np.zeros(96), 0.0).power_kw for size in (LOT_KW, None))
            assert 0.9 * day.value_eur(exact) <= day.value_eur(lots) <= day.value_eur(exact) + 1e-6

    def test_is_the_same_on_a_busy_machine_where_rounding_finds_no_way(self) -> None:
        """A dozen at once for two processors: each has a sixth of the time, and all that it needs."""
        rng = np.random.default_rng(183)
        day = random_programme(rng, 96)
        before = Replanner().replan(day, np.zeros(96), 0.0).power_kw
        later = replace(day, price_eur_mwh=day.price_eur_mwh + rng.normal(0, 15, 96))
        target_kwh = float(day.energy_kwh(before)[-1])

        def replan(_: int) -> Floats:
            return Replanner().replan(later, before, HURDLE_EUR_MWH, target_kwh).power_kw

        alone = replan(0)
        with ThreadPoolExecutor(12) as threads:
            assert all((found == alone).all() for found in threads.map(replan, range(12)))


class TestAPriceOfWear:
    def test_does_not_hang_on_a_plan_before_that_was_stopped_or_had_no_time(self) -> None:
        quarters = np.tile(np.repeat([20.0, 90.0], 48), (28, 1))
        table = DayTable(date(2026, 1, 1), quarters, np.ones(28, dtype=bool))
        spending = CycleSpending(table, (1000.0, 1000.0), 2000.0, (0.943, 0.943), 100)
        budget = CycleLimit(np.zeros(96, dtype=np.int64), np.array([100_000.0]))
        day = replace(random_programme(np.random.default_rng(0), 96), cycles=(budget,))
        stopped = Deadline(5)
        stopped.stop()
        with pytest.raises(CancelledError):
            spend_cycles(day, spending, 0, stopped)
        assert [spend_cycles(day, spending, 0, Deadline(s)).wear_eur_mwh > 0 for s in (0, 5)] == [True, True]


class TestTrips:
    @given(st.integers(0, 10_000))
    def test_of_a_schedule_gain_what_it_is_worth(self, seed: int) -> None:
        day = random_programme(np.random.default_rng(seed), 96)
        found = solve(day)
        trips = find_trips(day, found.power_kw, plain_reasons(96))
        assert sum(trip.gain_eur for trip in trips) == pytest.approx(found.value_eur, abs=1e-6)
        sold_kwh = sum(trip.sold.energy_kwh for trip in trips if trip.sold is not None)
        assert sold_kwh == pytest.approx(np.maximum(found.power_kw, 0).sum() / 4, abs=1e-3)

    def test_live_on_the_first_purchase_and_name_what_holds_them(self) -> None:
        """The first sale is of what was there, the others are of the purchases in their order."""
        price = np.array([50.0] * 4 + [10.0] * 4 + [20.0] * 4 + [90.0] * 8 + [100.0] * 4)
        day = BatteryProgramme(
            price, np.full(24, -1000.0), np.full(24, 1000.0), np.zeros(24), np.full(24, 2000.0), 100.0, 1.0, 1.0
        )
        power = np.concatenate(
            [[400.0], np.zeros(3), np.full(4, -1000.0), np.full(4, -1000.0), np.zeros(8), np.full(4, 1000.0)]
        )
        first, second, rest = find_trips(day, power, plain_reasons(24))
        assert first.bought is None
        assert first.gain_eur == pytest.approx(5.0)
        assert second.bought is not None
        assert second.bought.first == 4
        assert second.bought.price_eur_mwh == pytest.approx(10.0)
        assert second.gain_eur == pytest.approx(100 - 10)
        assert set(second.limited_by) == {LimitReason.POWER, LimitReason.ENERGY}
        assert rest.sold is None


class TestAPositionThatCanNoLongerBeRun:
    def test_is_moved_by_the_least_volume_that_can(self) -> None:
        """A quarter of the discharge is gone for an hour: what is missing there is sold elsewhere or not bought."""
        count = 96
        day = BatteryProgramme(
            np.concatenate([np.full(48, 20.0), np.full(48, 80.0)]),
            np.full(count, -1000.0),
            np.full(count, 1000.0),
            np.zeros(count),
            np.full(count, 2000.0),
            0.0,
            1.0,
            1.0,
        )
        before = np.zeros(count)
        before[10:14], before[60:64] = -1000.0, 1000.0
        most = np.full(count, 1000.0)
        most[60:64] = 700.0
        broken = end_between(replace(day, max_kw=most), -25, 25)
        found = Replanner().replan(broken, before, HURDLE_EUR_MWH)
        assert found.is_forced
        assert can_run(broken, found.power_kw)
        moved = found.power_kw - before
        assert np.abs(moved).sum() == pytest.approx(2 * 1200, abs=101)
        assert (moved[60:64] == -300).all()

    def test_has_a_problem_where_no_lot_fits(self) -> None:
        count = 4
        day = BatteryProgramme(
            np.zeros(count), np.full(count, 10.0), np.full(count, 20.0), np.zeros(count), np.full(count, 99.0), 50, 1, 1
        )
        with pytest.raises(InfeasibleError):
            Replanner().replan(day, np.zeros(count), 2.0)
