"""What an optimisation of some quarter-hours leaves to those before and after them."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from tests.virtual_assets.test_draft import asset_of_five_days

from gridloom.kernel.market_time import PERIOD, period_start
from gridloom.optimiser.schedules.asset_optimisation import open_window
from gridloom.optimiser.schedules.scope import relax_to_reachable
from gridloom.optimiser.solving.programme import BatteryProgramme
from gridloom.virtual_assets.schedule.rules import GateClosed

pytestmark = pytest.mark.pure


class TestAStoreThatLostCapacity:
    @pytest.mark.parametrize(
        ("initial_kwh", "max_kw", "highest_kwh"),
        [
            pytest.param(1000.0, 400.0, [875, 800, 800], id="gives away what it can"),
            pytest.param(1000.0, -40.0, [1008, 1016, 1024], id="or is to charge all the same"),
            pytest.param(796.0, -40.0, [804, 812, 820], id="also what is to be charged beyond it"),
        ],
    )
    def test_may_hold_what_cannot_be_given_away_in_time(
        self, initial_kwh: float, max_kw: float, highest_kwh: list[float]
    ) -> None:
        """1,000 kWh are in store and 800 fit; 80 % come out of what is discharged, and go in of what is charged."""
        nothing, highest = np.zeros(3), np.full(3, 800.0)
        programme = BatteryProgramme(nothing, nothing - 400, nothing + max_kw, nothing, highest, initial_kwh, 0.8, 0.8)
        assert relax_to_reachable(programme).highest_kwh.tolist() == pytest.approx(highest_kwh)


class TestTheWindow:
    def test_begins_with_the_first_quarter_hour_whose_gate_is_open_whatever_is_asked_for(self) -> None:
        asset = asset_of_five_days()
        start = period_start(asset.first)
        now = start + 10 * PERIOD - timedelta(seconds=asset.terms.gate_closure_s)
        for asked, first in ((None, 11), (start, 11), (start + 11 * PERIOD, 11), (start + 12 * PERIOD, 12)):
            assert open_window(asset, now, asked, None) == (asset.first + first, None), asked
        before = start - timedelta(days=3)
        assert open_window(asset, before, start - PERIOD, start + 4 * PERIOD) == (asset.first, asset.first + 4)
        for end, pointers in ((None, []), (start + 10 * PERIOD, ["/end"])):
            with pytest.raises(GateClosed) as refusal:
                open_window(asset, period_start(asset.end) if end is None else now, None, end)
            assert [fault.pointer for fault in refusal.value.errors] == pointers, "of what was asked for"
        late = period_start(asset.end) + timedelta(days=1)
        assert open_window(asset, before, None, late) == (asset.first, asset.end), "within its life"
