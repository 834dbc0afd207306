"""Volumes of an asset by delivery period: what was bought, sold and activated, upward as export."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pytest
from tests.revenue.reference import utc

from gridloom.market_calendar import market_day_number, market_day_periods
from gridloom.settlements.measures import POSITION, FactSource, measure_count, positions_of
from gridloom.settlements.period_aggregates import FloatArray, spread_blocks
from gridloom.settlements.period_volumes import read_period_volumes, volumes_of_sheets

pytestmark = pytest.mark.pure


def sheet(source: FactSource, **measures: list[float]) -> FloatArray:
    made = np.zeros((measure_count(source), 2))
    for name, values in measures.items():
        made[POSITION[name] - positions_of(source).start] = values
    return made


class TestBlocks:
    def test_are_spread_evenly_over_the_periods_that_they_have_that_day(self) -> None:
        for day, first in ((date(2026, 3, 29), 12), (date(2026, 6, 1), 16), (date(2026, 10, 25), 20)):
            numbers = np.array([market_day_number(day)])
            spread = spread_blocks(np.array([[60.0, 32.0, 0.0, 0.0, 0.0, 16.0]]), numbers)
            assert spread.tolist() == [[60 / first] * first + [2.0] * 16 + [0.0] * 48 + [1.0] * 16], day


class TestPeriods:
    """Of three market days around the one that loses an hour; each sheet says which of the periods it holds."""

    BEFORE, AFTER = utc(date(2026, 3, 28), 0), utc(date(2026, 3, 30), 24)

    @pytest.fixture(autouse=True)
    def asked(self, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        asked: list[Any] = []

        async def read_sheets(db: Any, source: FactSource, keys: list[int], days: list[date], as_of: Any) -> list[Any]:
            asked.append((source, keys, days, as_of))
            sheets = []
            for day in days:
                first, end = market_day_periods(day)
                made = np.zeros((measure_count(source), end - first))
                name = "sell_volume_mwh" if source is FactSource.WHOLESALE else "afrr_neg_volume_mwh"
                made[POSITION[name] - positions_of(source).start] = np.arange(first, end)
                sheets.append(made)
            return sheets

        monkeypatch.setattr("gridloom.settlements.store.read_sheets", read_sheets)
        return asked

    async def test_that_end_with_a_market_day_need_no_other(self, asked: list[Any]) -> None:
        nothing: Any = None
        first, end = market_day_periods(date(2026, 3, 29))
        assert (await read_period_volumes(nothing, 7, first, end)).sold_mwh.tolist() == list(range(first, end))
        assert [(days, as_of) for _, _, days, as_of in asked] == [([date(2026, 3, 29)], None)] * 2

    async def test_outside_the_calendar_hold_nothing(self, asked: list[Any]) -> None:
        nothing: Any = None
        first, _ = market_day_periods(date(2000, 1, 1))
        assert (await read_period_volumes(nothing, 7, first - 2, first + 2)).sold_mwh.tolist() == [
            *(0.0, 0.0),
            *(first, first + 1),
        ]
        asked.clear()
        assert (await read_period_volumes(nothing, 7, first - 5, first)).sold_mwh.tolist() == [0.0] * 5
        assert (await read_period_volumes(nothing, 7, first + 9, first + 5)).sold_mwh.tolist() == []
        assert asked == []


class TestVolumes:
    def test_of_activations_are_what_was_exported_less_what_was_imported(self) -> None:
        activations = sheet(FactSource.AFRR_ENERGY, afrr_pos_volume_mwh=[3.0, 1.0], afrr_neg_volume_mwh=[0.5, 4.0])
        found = volumes_of_sheets(sheet(FactSource.WHOLESALE), activations)
        assert found.activated_mwh.tolist() == [2.5, -3.0]
