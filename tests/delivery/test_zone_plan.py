"""The plan of a zone: reserves that no battery holds, and one that an earlier release has stored."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gridloom.delivery.codec import pack
from gridloom.delivery.model import CODE_OF_KIND, PartKind
from gridloom.delivery.plan_store import unpack_earlier_plan
from gridloom.delivery.planning.model import ZonePlan

pytestmark = pytest.mark.pure

FCR, POS = CODE_OF_KIND[PartKind.FCR], CODE_OF_KIND[PartKind.AFRR_POS]


class TestReservesThatNoBatteryHolds:
    def test_are_less_by_the_same_fraction_where_another_battery_steps_in(self) -> None:
        """Of three quarter-hours: the third battery holds half of what two lack, a quarter, and nothing."""
        plan: Any = SimpleNamespace(
            battery_keys=np.array([10, 11, 12]),
            reserve_keys=np.array([[0, FCR, 7], [1, FCR, 7], [2, FCR, 7], [0, POS, 7], [1, POS, 8]]),
            unstored_reserve_kw=np.array(
                [[0.6, 300.0, 0.0], [0.2, 100.0, 50.0], [-0.4, -100.0, 0.0], [0.0, 40.0, 0.0], [0.0, 0.0, 0.0]]
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
