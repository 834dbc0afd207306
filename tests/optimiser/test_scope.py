"""What an optimisation of some quarter-hours leaves to those before and after them."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from tests.virtual_assets.test_draft import asset_of_five_days

from gridloom.kernel.ids import BlockID
from gridloom.kernel.market_time import PERIOD, period_start
from gridloom.optimiser.schedules import scope
from gridloom.optimiser.schedules.asset_optimisation import open_window
from gridloom.optimiser.schedules.scope import _cycle_limit, _relax_to_reachable
from gridloom.optimiser.solving.programme import BatteryProgramme
from gridloom.virtual_assets import block_store
from gridloom.virtual_assets.energy.projection import CycleBudget
from gridloom.virtual_assets.model import Block, Market
from gridloom.virtual_assets.schedule.rules import GateClosed

pytestmark = pytest.mark.pure

WINDOW = slice(2, 6)
"""Of eight quarter-hours."""
TOTAL_KW = np.array([400.0, -400.0, 0.0, 0.0, 0.0, 0.0, 80.0, -40.0])
"""What is scheduled: 100 kWh are exported before the window and 20 kWh after it."""


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
        assert _relax_to_reachable(programme).highest_kwh.tolist() == pytest.approx(highest_kwh)


class TestTheCyclesLeft:
    @pytest.mark.parametrize(
        ("groups", "left_kwh"),
        [
            ([0, 0, 0, 0, 1, 1, 1, 1], [500 - 30 - 100, 500 - 20]),
            ([0, 0, 1, 1, 1, 1, 2, 2], [500]),
            ([0, 0, 0, 0, 0, 0, 0, 0], [500 - 30 - 100 - 20]),
        ],
        ids=["two days", "a day", "within a day"],
    )
    def test_are_what_each_day_exports_neither_before_nor_after(self, groups: list[int], left_kwh: list[float]) -> None:
        """30 kWh were exported on the first day before any of these quarter-hours."""
        found = _cycle_limit(CycleBudget(500.0, np.array(groups), 30.0), np.zeros(4), TOTAL_KW, WINDOW)
        assert found.left_kwh.tolist() == left_kwh
        assert found.groups.tolist() == [group - groups[2] for group in groups[WINDOW]]


class TestAScope:
    async def test_is_all_that_free_blocks_may_do_beside_those_that_are_kept(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of ten quarter-hours that can still be cut the third to the sixth are optimised; on the first of two lanes
        a block of the fourth and the fifth is kept."""
        asset: Any = asset_of_five_days()
        begins = asset.first + 1
        kept, free, late, over, reserve, other_reserve = (
            Block(BlockID(UUID(int=number)), lane, begins + first, begins + end, market, 1.0, 1.0)
            for number, (lane, first, end, market) in enumerate(
                (
                    (4, 3, 5, Market.WHOLESALE),
                    (6, 0, 10, Market.WHOLESALE),
                    (4, 6, 10, Market.WHOLESALE),
                    (9, -5, -2, Market.WHOLESALE),
                    (4, 2, 3, Market.FCR),
                    (4, 2, 3, Market.AFRR_NEG),
                )
            )
        )
        power_kw = np.stack([np.arange(10.0) * 10, np.arange(10.0)])
        total_kw = np.array([0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, -40.0])
        inputs = SimpleNamespace(
            charge_kw=np.stack([np.arange(100.0, 110.0), np.full(10, 50.0)]),
            discharge_kw=np.stack([np.arange(200.0, 210.0), np.full(10, 70.0)]),
            lowest_kwh=np.zeros(10),
            highest_kwh=np.full(10, 2000.0),
            cycles=(),
        )
        projection = SimpleNamespace(power_kw=power_kw, total_kw=total_kw, energy_kwh=np.arange(500.0, 511.0))
        spans: list[tuple[int, int, int]] = []

        async def input_of(_: Any, __: Any, first: int, end: int, *, closed: int) -> Any:
            spans.append((first - begins, end - asset.end, closed - begins))
            return [4, 6], inputs

        async def blocks_of(_: Any, key: int) -> Any:
            return [kept, free, late, over, reserve, other_reserve]

        monkeypatch.setattr(scope, "first_cuttable_period", lambda *_: begins)
        monkeypatch.setattr(scope, "load_projection_input", input_of)
        monkeypatch.setattr(scope, "project", lambda _: projection)
        monkeypatch.setattr(block_store, "read_blocks", blocks_of)
        database: Any = None
        found = await scope.load_optimisation_scope(
            database, asset, period_start(begins), begins + 2, begins + 6, keep={kept.id}, ends_on_target=False
        )
        assert spans == [(0, 0, 0)]
        assert (found.first, found.end, found.blocks) == (begins + 2, begins + 6, (free,))
        assert found.fixed_kw.tolist() == [0, 30, 40, 0]
        assert found.accepted_kw.tolist() == [1, 2, 3, 4]
        programme = found.programme
        assert programme.min_kw.tolist() == [-102 - 50, 30 - 50, 40 - 50, -105 - 50]
        assert programme.max_kw.tolist() == [202 + 70, 30 + 70, 40 + 70, 205 + 70]
        assert programme.highest_kwh.tolist() == [2000, 2000, 2000, 1991], "later 9 kWh come in"
        assert (programme.initial_kwh, found.change_after_kwh) == (502.0, 9.0)
        assert (programme.charge_efficiency, programme.discharge_efficiency) == (0.9, 0.95)
        assert found.priced(np.arange(4.0)).price_eur_mwh.tolist() == [0, 1, 2, 3]
        found = await scope.load_optimisation_scope(
            database, asset, period_start(begins), begins + 2, begins + 6, keep={free.id, over.id}, ends_on_target=False
        )
        assert found.fixed_kw.tolist() == [2, 3, 4, 5], "what began before is kept as well, and what is over is not"
        assert found.blocks == (kept,)


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
