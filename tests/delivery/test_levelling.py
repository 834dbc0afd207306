"""Levelling, term by term: what is added to gaps, how large they are, and who does more in place of whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gridloom.delivery.planning.levelling import (
    ANTICIPATED_PERIODS,
    HORIZON_PERIODS,
    ChargingInView,
    anticipate_gaps_kwh,
    displace,
    find_gaps_kwh,
    tilt,
)

pytestmark = pytest.mark.pure


class TestWhatIsAnticipated:
    def test_is_what_the_next_ten_hours_add_beyond_each_batterys_part_of_it(self) -> None:
        """Promised are 300 and 100 kWh; the third battery has no promise, and what is added to it counts for none."""
        added_kwh = np.zeros((ANTICIPATED_PERIODS + 3, 3))
        added_kwh[1], added_kwh[ANTICIPATED_PERIODS + 1] = (8.0, 0.0, 5.0), (0.0, 4.0, 0.0)
        promised_kwh = np.tile([300.0, 100.0, 0.0], (len(added_kwh), 1))
        found = anticipate_gaps_kwh(added_kwh, promised_kwh).tolist()
        assert found == [[2.0, -2.0, 0.0], *[[-3.0, 3.0, 0.0]] * ANTICIPATED_PERIODS, [0.0] * 3, [0.0] * 3]

    def test_is_nothing_where_nothing_is_promised(self) -> None:
        assert anticipate_gaps_kwh(np.ones((2, 2)), np.zeros((2, 2))).tolist() == [[0.0, 0.0], [0.0, 0.0]]


class TestGaps:
    ENERGY_KWH, SHARE_KWH = np.array([600.0, 510.0, 70.0]), np.array([500.0, 490.0, 20.0])
    PROMISED_KWH = np.array([300.0, 100.0, 0.0])

    def _find(self, low: list[float], high: list[float], anticipated: list[float]) -> Any:
        return find_gaps_kwh(
            self.ENERGY_KWH,
            self.SHARE_KWH,
            self.PROMISED_KWH,
            np.array(low),
            np.array(high),
            np.array(anticipated),
        ).tolist()

    def test_are_the_energy_beyond_a_target_that_shares_the_drift_and_leaves_room_for_what_is_to_come(self) -> None:
        """Of 120 kWh of drift the targets have 90 and 30, less what will be added."""
        assert self._find([0.0] * 3, [900.0] * 3, [10.0, -4.0, 7.0]) == pytest.approx([20.0, -14.0, 0.0])

    def test_are_those_to_the_bounds_where_these_are_nearer(self) -> None:
        assert self._find([595.0, 0.0, 0.0], [900.0, 515.0, 900.0], [0.0] * 3) == pytest.approx([5.0, -5.0, 0.0])
        assert self._find([0.0, 530.0, 0.0], [550.0, 500.0, 900.0], [0.0] * 3) == pytest.approx([50.0, -20.0, 0.0])

    def test_are_none_where_nothing_is_promised(self) -> None:
        nothing = np.zeros(3)
        found = find_gaps_kwh(self.ENERGY_KWH, self.SHARE_KWH, nothing, nothing, nothing + 900.0)
        assert found.tolist() == [0.0] * 3


class TestATilt:
    PART_KW, HEADROOM_KW = np.array([100.0, 15.0, 0.0, 50.0]), np.array([10.0, 90.0, 40.0, 60.0])

    def test_moves_as_much_as_those_can_give_that_are_to_do_less(self) -> None:
        found = tilt(self.PART_KW, self.HEADROOM_KW, np.array([30.0, -20.0, 25.0, -8.0]))
        assert found.tolist() == pytest.approx([100 + 10 * 23 / 35, 0.0, 25 * 23 / 35, 42.0])

    def test_moves_as_much_as_those_can_take_that_are_to_do_more(self) -> None:
        found = tilt(self.PART_KW, self.HEADROOM_KW, np.array([30.0, -20.0, 0.0, -60.0]))
        assert found.tolist() == pytest.approx([110.0, 15 - 15 * 10 / 65, 0.0, 50 - 50 * 10 / 65])

    def test_moves_nothing_where_all_are_to_do_more_or_all_less(self) -> None:
        for sign in (1.0, -1.0):
            found = tilt(self.PART_KW, self.HEADROOM_KW, sign * np.array([5.0, 6.0, 7.0, 8.0]))
            assert found.tolist() == self.PART_KW.tolist()


class TestPowerThatComesFirst:
    PART_KW, HEADROOM_KW = np.array([100.0, 80.0, 20.0, 40.0]), np.array([200.0, 10.0, 50.0, 5.0])

    def test_is_taken_from_the_others_as_far_as_they_do_anything_beyond_theirs(self) -> None:
        found = displace(self.PART_KW, self.HEADROOM_KW, np.array([150.0, 60.0, 90.0, 40.0]))
        assert found.tolist() == pytest.approx([110.0, 60.0, 30.0, 40.0])

    def test_is_taken_from_the_others_pro_rata(self) -> None:
        found = displace(self.PART_KW, self.HEADROOM_KW, np.array([130.0, 0.0, 20.0, 0.0]))
        assert found.tolist() == pytest.approx([130.0, 60.0, 20.0, 30.0])

    def test_is_no_more_than_there_is_headroom(self) -> None:
        found = displace(self.PART_KW, self.HEADROOM_KW, np.array([0.0, 80.0, 20.0, 90.0]))
        assert found.tolist() == pytest.approx([95.0, 80.0, 20.0, 45.0])
        assert displace(self.PART_KW, self.HEADROOM_KW, self.PART_KW + 9.0).tolist() == self.PART_KW.tolist()


class TestChargingThatIsInView:
    def test_is_that_of_the_next_periods_with_a_net_after_this_one(self) -> None:
        """Of a gap of 100 kWh each period closes 10 at 40 kW, of 250 that are needed; those without a net count for
        nothing, neither as charging nor as a period."""
        net_kw = np.array([-40.0, *[-40.0, 0.0] * (HORIZON_PERIODS + 3)])
        fair_kw = np.stack([np.where(net_kw, net_kw, -9.0), np.zeros_like(net_kw)])
        view, gaps_kwh = ChargingInView(net_kw, fair_kw), np.array([100.0, -100.0])
        assert view.uncovered_fraction(0, gaps_kwh, 200.0) == pytest.approx(1 - 10 * HORIZON_PERIODS / 500)
        last = len(net_kw) - 1
        for back, periods in ((0, 0), (1, 0), (2, 1), (3, 1), (4, 2)):
            found = view.uncovered_fraction(last - back, gaps_kwh, 200.0)
            assert found == pytest.approx(1 - 10 * periods / 500), back
