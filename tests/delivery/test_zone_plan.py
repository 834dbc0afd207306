"""The plan of a zone: reserves that no battery holds, and one that an earlier release has stored."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.delivery.test_replanning import loaded_zone
from tests.delivery.zones import even_limits

from gridloom.delivery.codec import pack
from gridloom.delivery.inputs.reloading import _make_zone
from gridloom.delivery.model import CODE_OF_KIND, PartKind, StartState, sum_rows
from gridloom.delivery.plan_store import unpack_earlier_plan
from gridloom.delivery.planning.model import StoredInputs, ZonePlan
from gridloom.delivery.planning.replanning import replan
from gridloom.kernel.market_time import market_day_window, period_number

pytestmark = pytest.mark.pure

FCR, POS = CODE_OF_KIND[PartKind.FCR], CODE_OF_KIND[PartKind.AFRR_POS]


class TestReservesThatNoBatteryHolds:
    def test_are_less_by_the_same_fraction_where_another_battery_steps_in(self) -> None:
        """Of three quarter-hours: the third battery holds half of what two lack, a quarter, and nothing."""
        plan: Any = SimpleNamespace(
            battery_keys=np.array([10, 11, 12]),
            reserve_keys=np.array([[0, FCR, 7], [1, FCR, 7], [2, FCR, 7], [0, POS, 7], [1, POS, 8]]),
            unstored_reserve_kw=np.array(
                [[0.6, 300.0, 0.0], [0.2, 100.0, 50.0], [-0.4, -100.0, 0.0], [0.0, 40.0, 1e-8], [0.0, 0.0, 0.0]]
            ),
            shortfall_keys=np.array([[7, FCR, 10]]),
            shortfall_kw=np.array([[0.0, 5.0, 0.0]]),
        )
        keys, lacking_kw = ZonePlan.unheld_reserves(plan)
        found = {tuple(key): row for key, row in zip(keys.tolist(), lacking_kw.tolist(), strict=True) if any(row)}
        assert found == {
            (7, FCR, 10): pytest.approx([0.3, 230.0, 0.0]),
            (7, FCR, 11): pytest.approx([0.1, 75.0, 50.0]),
            (7, POS, 10): pytest.approx([0.0, 40.0, 0.0]),
        }


def plan_from(first: int, periods: int, reserves: int = 0, of: float = 0.0) -> ZonePlan:
    """Of two batteries: the number of the period in all that is told by period, and `of` besides."""
    zone, start = loaded_zone(1, 3, 2, periods)
    plan = replan(zone, None, start, batteries_unchanged=False).plan
    columns = of + first + np.arange(periods + 1.0)
    rows = {name: len(getattr(plan, name)) for name in ("power_kw", "virtual_kw", "own_kw", "drift_kw", "energy_kwh")}
    rows |= {"share_energy_changes_kwh": 2, "reserve_kw": reserves, "unstored_reserve_kw": reserves}
    rows |= {"netted_fraction": 2, "totals_kw": 4}
    told: dict[str, Any] = {
        name: place * 1000.0 + np.tile(columns[: periods + (name == "energy_kwh")], (count, 1))
        for place, (name, count) in enumerate(rows.items())
    }
    return replace(
        plan,
        first=first,
        reserve_keys=np.array([[row, FCR, 7] for row in range(reserves)]).reshape(-1, 3),
        share_energy_start_kwh=np.array([of, of + 1]),
        exported_kwh=np.array([[10.0, 100.0], [20.0, 200.0]]) + of,
        before_kw=np.array([of, 3.0]),
        **told,
    )


class TestSums:
    def test_are_of_each_group_however_many_there_are(self) -> None:
        """65,543 is 7 to those who keep its last two bytes."""
        for groups, count in (([7, 2, 7], 8), ([7, 65_543, 7], 65_544)):
            sums = sum_rows(np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]]), np.array(groups), count)
            assert sums.shape == (count, 2)
            assert {row: sums[row].tolist() for row in np.flatnonzero(sums.any(axis=1)).tolist()} == {
                7: [5.0, 50.0],
                groups[1]: [2.0, 20.0],
            }


class TestAPlanThatGoesOn:
    def test_has_the_periods_of_the_one_before_until_its_own_and_began_as_that(self) -> None:
        before, after = plan_from(100, 5, 1), plan_from(103, 4, 2, of=0.25)
        whole = after.prepend(before)
        assert (whole.first, whole.end) == (100, 107)
        for name in ("share_energy_start_kwh", "exported_kwh", "before_kw"):
            assert getattr(whole, name).tolist() == getattr(before, name).tolist()
        for name in ("asset_keys", "battery_keys", "reserve_keys", "shares", "versions"):
            assert getattr(whole, name).tolist() == getattr(after, name).tolist()
        for name in ("power_kw", "virtual_kw", "own_kw", "drift_kw", "energy_kwh", "share_energy_changes_kwh"):
            old, new = getattr(before, name), getattr(after, name)
            assert getattr(whole, name).tolist() == np.concatenate([old[:, :3], new], axis=1).tolist(), name
        for name in ("netted_fraction", "totals_kw"):
            old, new = getattr(before, name), getattr(after, name)
            assert getattr(whole, name).tolist() == np.concatenate([old[:, :3], new], axis=1).tolist(), name
        for name in ("reserve_kw", "unstored_reserve_kw"):
            [old], new = getattr(before, name).tolist(), getattr(after, name).tolist()
            assert getattr(whole, name).tolist() == [old[:3] + new[0], [0.0] * 3 + new[1]], name
        assert after.prepend(plan_from(103, 9)) is after


class TestAZoneOfWhichOnlySchedulesWereReadAgain:
    INPUTS = StoredInputs(
        100,
        np.array([[90, 200], [90, 104], [90, 200]]),
        np.array([[1.0, 1.0], [1.0, 0.8], [1.0, 1.0]]),
        np.array([[50.0, 100.0, 50.0]] * 3),
        np.zeros((0, 4), dtype=np.int64),
        np.zeros((0, 2)),
        np.zeros(2, dtype=np.int64),
        replace(even_limits([1000.0] * 2, [2000.0] * 2, 5), charge_kw=np.arange(10.0).reshape(2, 5)),
        np.arange(20.0, 30.0).reshape(2, 5),
    )

    def _plan(self) -> ZonePlan:
        return replace(
            plan_from(100, 5, 2),
            share_of=np.array([[0, 0], [1, 0], [1, 1], [2, 1]]),
            shares=np.array([1.0, 0.25, 0.75, 1.0]),
            shortfall_keys=np.array([[7, FCR, 10_000]]),
            shortfall_kw=np.arange(5.0)[None],
        )

    def test_is_that_of_the_plan_but_for_what_other_schedules_do_to_batteries(self) -> None:
        """The second virtual asset gives 8 kW more in the first quarter-hour, 2.5 kWh of what it stores. It ends with
        the next, at its target all the same."""
        plan = self._plan()
        power_kw = plan.power_kw[:, 2:].copy()
        power_kw[1, 0] += 8.0
        zone = _make_zone(plan, self.INPUTS, power_kw, np.array([1]), 102)
        assert (zone.first, zone.end) == (102, 105)
        for name in ("asset_keys", "battery_keys", "share_of", "shares", "reserve_keys", "shortfall_keys"):
            assert getattr(zone, name).tolist() == getattr(plan, name).tolist(), name
        assert zone.power_kw.tolist() == power_kw.tolist()
        moved_kwh = np.array([[-0.625, 0.625, 0.0], [-1.875, 1.875, 0.0]])
        expected_kwh = plan.share_energy_changes_kwh[:, 2:] + moved_kwh
        assert zone.share_energy_changes_kwh.tolist() == [pytest.approx(row) for row in expected_kwh.tolist()]
        assert zone.limits.charge_kw.tolist() == [[2.0, 3.0, 4.0], [7.0, 8.0, 9.0]]
        assert zone.capacity_kwh.tolist() == [[22.0, 23.0, 24.0], [27.0, 28.0, 29.0]]
        assert zone.reserve_kw.tolist() == (plan.reserve_kw + plan.unstored_reserve_kw)[:, 2:].tolist()
        assert zone.shortfall_kw.tolist() == [[2.0, 3.0, 4.0]]
        same = _make_zone(plan, self.INPUTS, plan.power_kw[:, 2:], np.zeros(0, dtype=np.int64), 102)
        assert same.share_energy_changes_kwh.tolist() == plan.share_energy_changes_kwh[:, 2:].tolist()


class TestStoredInputs:
    def test_are_read_back_where_none_of_them_is_missing(self) -> None:
        inputs = TestAZoneOfWhichOnlySchedulesWereReadAgain.INPUTS
        arrays = {name: np.asarray(array) for name, array in inputs.arrays().items()}
        read = StoredInputs.of_arrays(100, arrays)
        assert read is not None
        assert read.first == 100
        assert {name: array.tolist() for name, array in read.arrays().items()} == {
            name: array.tolist() for name, array in arrays.items()
        }
        for missing in arrays:
            rest = {name: array for name, array in arrays.items() if name != missing}
            assert StoredInputs.of_arrays(100, rest) is None, missing


class TestTheInputOfADispatch:
    def test_is_what_the_zone_has_from_a_period_on(self) -> None:
        """It begins three quarter-hours before a year does."""
        turn = period_number(market_day_window(date(2027, 1, 1)).start)
        zone, _ = loaded_zone(1, 3, 2, 5, turn - 3)
        drift_kw = np.arange(10.0).reshape(2, 5)
        zone = replace(
            zone,
            limits=replace(zone.limits, drift_kw=drift_kw),
            share_energy_changes_kwh=np.array([[9.0, 9.0, 1.0, 2.0, 4.0], [9.0, 9.0, -1.0, -2.0, -4.0]]),
        )
        state = StartState(np.ones(2), np.ones(2), np.ones(2))
        given = zone.dispatch_input(2, np.array([7.0, 8.0]), np.array([100.0, 200.0]), state)
        assert given.power_kw.tolist() == zone.power_kw[:, 2:].tolist()
        assert given.limits.drift_kw.tolist() == [[2.0, 3.0, 4.0], [7.0, 8.0, 9.0]]
        assert given.limits.energy_kwh.tolist() == [7.0, 8.0]
        assert given.share_energy_kwh.tolist() == [[100.0, 101.0, 103.0, 107.0], [200.0, 199.0, 197.0, 193.0]]
        assert np.diff(given.days).tolist() == [1, 0]
        assert given.years.tolist() == [2026, 2027, 2027]
        assert given.start is state


class TestTheStateOfBatteries:
    POWERS_KW: Any = {
        "virtual_kw": np.array([[400.0, -400.0, 40.0, 80.0, 120.0, 9.0], [0.0, 20.0, -80.0, 0.0, 4.0, 9.0]]),
        "own_kw": np.array([[0.0, 0.0, 40.0, -20.0, 0.0, 9.0], [0.0, 20.0, 0.0, -8.0, 0.0, 9.0]]),
        "drift_kw": np.array([[-40.0, 0.0, 0.0, 0.0, 0.0, 9.0], [8.0, 0.0, 0.0, 0.0, 0.0, 9.0]]),
    }

    def _find(self, day: date, index: int) -> tuple[list[float], list[float], list[float]]:
        """In a plan that begins three quarter-hours before a day does."""
        plan = replace(plan_from(period_number(market_day_window(day).start) - 3, 6), **self.POWERS_KW)
        state = plan.state_at(index)
        return state.day_export_kwh.tolist(), state.year_export_kwh.tolist(), state.power_kw.tolist()

    def test_counts_what_was_exported_in_the_day_and_in_the_year(self) -> None:
        day = date(2026, 7, 2)
        assert self._find(day, 0) == ([10.0, 20.0], [100.0, 200.0], [0.0, 3.0])
        assert self._find(day, 1) == ([100.0, 22.0], [190.0, 202.0], [360.0, 8.0])
        assert self._find(day, 2) == ([100.0, 32.0], [190.0, 212.0], [-400.0, 40.0])
        assert self._find(day, 3) == ([0.0, 0.0], [210.0, 212.0], [80.0, -80.0])
        assert self._find(day, 5) == ([45.0, 1.0], [255.0, 213.0], [120.0, 4.0])

    def test_begins_anew_with_the_year(self) -> None:
        assert self._find(date(2027, 1, 1), 2) == ([100.0, 32.0], [190.0, 212.0], [-400.0, 40.0])
        assert self._find(date(2027, 1, 1), 3) == ([0.0, 0.0], [0.0, 0.0], [80.0, -80.0])
        assert self._find(date(2027, 1, 1), 5) == ([45.0, 1.0], [45.0, 1.0], [120.0, 4.0])


class TestAPlanOfAnEarlierRelease:
    def test_keeps_its_reserves_and_what_was_served(self) -> None:
        """Two quarter-hours: 400 kW are exported and 100 imported, and 50 of the rest are unserved in the second."""
        stored = {
            "asset_keys": np.array([7, 8]),
            "power_kw": np.array([[400.0, 400.0], [-100.0, -100.0]]),
            "battery_keys": np.array([10]),
            "virtual_kw": np.array([[300.0, 250.0]]),
            "own_kw": np.zeros((1, 2)),
            "energy_kwh": np.array([[500.0, 425.0, 360.0]]),
            "unserved_kw": np.array([0.0, 50.0]),
            "due_kwh": np.array([[510.0, 430.0, 365.0]]),
            "netted_part": np.array([[0.25, 0.3], [1.0, 1.0]]),
            "part_of": np.array([[0, CODE_OF_KIND[PartKind.VIRTUAL], 7], [0, FCR, 1], [0, POS, 8]]),
            "part_kw": np.array([[300.0, 250.0], [20.0, 20.0], [30.0, 0.0]]),
        }
        plan = unpack_earlier_plan(96, pack(stored))
        assert (plan.first, plan.end) == (96, 98)
        assert plan.reserve_keys.tolist() == [[0, FCR, 1], [0, POS, 8]]
        assert plan.reserve_kw.tolist() == [[20.0, 20.0], [30.0, 0.0]]
        assert plan.totals_kw.tolist() == [[400.0, 400.0], [100.0, 100.0], [100.0, 100.0], [0.0, 50.0]]
        assert plan.share_energy_start_kwh.tolist() == [510.0]
        assert plan.share_energy_changes_kwh.tolist() == [[-80.0, -65.0]]
        assert plan.netted_fraction.tolist() == stored["netted_part"].tolist()
        assert plan.drift_kw.tolist() == plan.own_kw.tolist() == [[0.0, 0.0]]
        assert (plan.exported_kwh.tolist(), plan.before_kw.tolist(), plan.versions.tolist()) == (
            [[0.0] * 2],
            [0.0],
            [0],
        )
        assert plan.asked_reserve_kw.tolist() == plan.reserve_kw.tolist()
        assert (plan.shortfall_kw.shape, plan.is_cycle_bound.tolist()) == ((0, 2), [0, 0])
