"""How a refusal reads, where prices may come from, and which windows are taken."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.virtual_assets.test_draft import asset_of_five_days

from gridloom.kernel.market_time import PERIOD, format_instant, period_start
from gridloom.kernel.problem import BadRequest
from gridloom.optimiser.schedules.asset_optimisation import open_window, reject_too_long
from gridloom.optimiser.schedules.price_input import check_asked
from gridloom.optimiser.schedules.proposal import no_feasible_schedule
from gridloom.optimiser.schedules.wire import PricesAsked
from gridloom.optimiser.solving.programme import InfeasibilityRule, InfeasibleError

pytestmark = pytest.mark.pure

FIRST = 1_900_000


class TestARefusal:
    def test_says_where_no_way_is_left_and_by_how_much(self) -> None:
        refusal = no_feasible_schedule(InfeasibleError(InfeasibilityRule.ENERGY_ABOVE, 3, 12.5), FIRST)
        at = format_instant(period_start(FIRST + 3))
        assert refusal.members == {"rule": "ENERGY_ABOVE", "firstPeriod": at, "missing": 12.5}
        assert refusal.detail == (
            f"Whatever is scheduled, in the period {at} more would be in store than fits, by 12.5 kWh."
        )
        unknown = no_feasible_schedule(InfeasibleError(InfeasibilityRule.CYCLE_LIMIT, 0, 0.0), FIRST)
        assert unknown.detail.endswith("the cycles that are left do not suffice.")


class TestPricesThatAreAskedFor:
    @pytest.mark.parametrize(
        ("asked", "pointer"),
        [
            ({}, "/prices"),
            ({"forecast": False}, "/prices"),
            ({"forecast": True, "series": "DAY_AHEAD_DE_LU"}, "/prices"),
            ({"forecast": True, "values": []}, "/prices"),
            ({"series": "FCR_DE"}, "/prices/series"),
            ({"series": "WEATHER"}, "/prices/series"),
            ({"series": "DAY_AHEAD_DE_LU", "forecast": False}, None),
            ({"forecast": True}, None),
            ({"values": []}, None),
        ],
    )
    def test_come_from_one_source_of_energy_prices(self, asked: dict[str, Any], pointer: str | None) -> None:
        if pointer is None:
            check_asked(PricesAsked(**asked))
            return
        with pytest.raises(BadRequest) as refusal:
            check_asked(PricesAsked(**asked))
        assert [fault.pointer for fault in refusal.value.errors] == [pointer]
        if pointer == "/prices/series":
            assert "DAY_AHEAD_DE_LU" in refusal.value.errors[0].detail
            assert "FCR_DE" not in refusal.value.errors[0].detail


class TestAWindow:
    def test_is_refused_off_the_grid_outside_the_life_and_where_it_is_too_long(self) -> None:
        asset = asset_of_five_days()
        start, end = asset.terms.window.start, asset.terms.window.end
        before, minute = start - timedelta(days=3), timedelta(minutes=1)
        for begins, ends, pointer in (
            (start + minute, None, "/start"),
            (start, end - minute, "/end"),
            (end, None, "/start"),
            (start + PERIOD, start + PERIOD, "/start"),
        ):
            with pytest.raises(BadRequest) as refusal:
                open_window(asset, before, begins, ends)
            assert [fault.pointer for fault in refusal.value.errors] == [pointer]
        assert open_window(asset, before, end - PERIOD, None) == (asset.end - 1, None)
        assert open_window(asset, before, start, start + PERIOD) == (asset.first, asset.first + 1)
        reject_too_long(5, 5)
        with pytest.raises(BadRequest, match="6 quarter-hours are more than the 5"):
            reject_too_long(6, 5)
