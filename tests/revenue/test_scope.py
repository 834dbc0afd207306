"""What is read for a statement: of the whole market days of its window, and all of it as of the same instant."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from tests.revenue.reference import utc

from gridloom.market_calendar import market_day_periods
from gridloom.revenue.aggregation import DaySheets
from gridloom.revenue.grid import days_of
from gridloom.revenue.model import SecondsSpan
from gridloom.revenue.statement.loading import fact_entries
from gridloom.revenue.statement.model import LineType
from gridloom.revenue.statement.scope import Scope
from gridloom.settlements.measures import POSITION, FactSource, measure_count, positions_of
from gridloom.settlements.period_aggregates import encode_aggregates
from gridloom.virtual_assets.history.store import UnannouncedCut

pytestmark = pytest.mark.pure

DAY = date(2026, 3, 29)
FIRST, END = market_day_periods(DAY)
NOTHING: Any = None


def make_scope(by_asset: dict[int, Any]) -> Scope:
    """Of one market day, as one bucket."""
    fields = dict.fromkeys(("tolls", "ratings", "auctions", "owners", "cuts", "unheld"), NOTHING)
    span = SecondsSpan(utc(DAY, 0).timestamp(), utc(DAY, 24).timestamp())
    numbers = days_of(span)
    edges = np.array([FIRST, END])
    sheets = DaySheets(int(numbers[0]), by_asset)
    return Scope(frozenset(by_asset), numbers, edges, sheets, imbalance_price_eur_mwh=NOTHING, now=NOTHING, **fields)


class TestFacts:
    def test_of_some_periods_are_cut_from_those_of_the_days(self) -> None:
        """Trades on the first of two days, and activations on the second; another asset has none."""
        span = SecondsSpan(utc(DAY, 0).timestamp(), utc(DAY + timedelta(days=1), 24).timestamp())
        numbers = days_of(span)

        def sheet(source: FactSource, count: int, name: str) -> bytes:
            values = np.zeros((measure_count(source), count))
            values[POSITION[name] - positions_of(source).start] = np.arange(count)
            encoded = encode_aggregates(source, values)
            assert encoded is not None
            return encoded

        own = {
            FactSource.WHOLESALE: [sheet(FactSource.WHOLESALE, 92, "sell_volume_mwh"), None],
            FactSource.AFRR_ENERGY: [None, sheet(FactSource.AFRR_ENERGY, 96, "afrr_pos_volume_mwh")],
        }
        scope = replace(
            make_scope({7: own}),
            keys=frozenset({7, 8}),
            numbers=numbers,
            cuts={7: [UnannouncedCut(FIRST + 91, -500), UnannouncedCut(FIRST + 95, 9)]},
            imbalance_price_eur_mwh=np.arange(188.0),
        )
        assert scope.end == FIRST + 188
        facts, none = scope.facts_of(7, FIRST + 90, FIRST + 95), scope.facts_of(8, FIRST + 90, FIRST + 95)
        assert facts is not None
        assert facts.volumes.sold_mwh.tolist() == [90, 91, 0, 0, 0]
        assert facts.volumes.activated_mwh.tolist() == [0, 0, 0, 1, 2]
        assert facts.unannounced_kw.tolist() == [0, -500, 0, 0, 0]
        assert facts.price_eur_mwh.tolist() == [90, 91, 92, 93, 94]
        assert none is not None, "it has none, which is known"
        assert [none.volumes.sold_mwh.any(), none.unannounced_kw.any()] == [False, False]
        assert scope.facts_of(9, FIRST + 90, FIRST + 95) is None


class TestTradesOfABattery:
    """Six quarter-hours in which it sold for 2 EUR each, of which drift made part or all."""

    @pytest.mark.parametrize(
        ("drift_eur", "cents"),
        [
            ([0.0] * 6, {LineType.TRADING: 1200}),
            ([2.0] * 6, {LineType.DRIFT: 1200}),
            ([2.0 + 1e-9] * 6, {LineType.DRIFT: 1200}),
            ([2.0] * 5 + [1.98], {LineType.DRIFT: 1198, LineType.TRADING: 2}),
            ([-1.0] * 6, {LineType.DRIFT: -600, LineType.TRADING: 1800}),
        ],
    )
    def test_are_apart_from_its_drift(self, drift_eur: list[float], cents: dict[LineType, int]) -> None:
        source = FactSource.WHOLESALE
        sheet = np.zeros((measure_count(source), END - FIRST))
        sheet[POSITION["sell_proceeds_eur"] - positions_of(source).start, :6] = 3.5
        sheet[POSITION["buy_cost_eur"] - positions_of(source).start, :6] = 1.5
        own = {source: [encode_aggregates(source, sheet)]}
        drift = np.zeros(END - FIRST)
        drift[:6] = drift_eur
        found = fact_entries(make_scope({7: own}), 7, drift)
        assert {entry.line: int(entry.by_bucket.sum()) for entry in found} == cents
