"""Facts that start together are one point of a report by facts."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from tests.revenue.reference import utc

from gridloom.revenue.aggregation import DaySheets
from gridloom.revenue.grid import days_of
from gridloom.revenue.model import AuctionResult, Contribution, RatedPowerSteps, SecondsSpan, Toll
from gridloom.revenue.raw import raw_sums
from gridloom.settlements.measures import FactSource

pytestmark = pytest.mark.pure

HOUR = 3600.0
START = utc(date(2026, 7, 1), 0).timestamp()


def hours(first: float, end: float) -> SecondsSpan:
    return SecondsSpan(START + first * HOUR, START + end * HOUR)


class TestFactsOfSeveralAssets:
    def test_that_start_together_are_summed_over_the_time_of_the_longest(self) -> None:
        """10 MW that count whole, and 20 that count by half; a last auction starts later, alone."""
        window = hours(0, 24)
        ratings = {key: RatedPowerSteps(np.array([START]), np.array([mw])) for key, mw in ((1, 10.0), (2, 20.0))}
        tolls = [Toll(1, hours(0, 8), 8760), Toll(2, hours(0, 4), 26280)]
        auctions = [
            AuctionResult(2, hours(0, 6), 60, None),
            AuctionResult(1, hours(0, 2), 100, 40),
            AuctionResult(1, hours(12, 13), 7, 5),
        ]
        line = raw_sums(
            days_of(window),
            window,
            DaySheets(0, {}),
            {},
            [Contribution(1), Contribution(2, 0.5)],
            frozenset({FactSource.TOLLING, FactSource.AUCTION}),
            (tolls, auctions, ratings, {1: 1.0, 2: 0.5}),
        )
        assert ((line.labels_s - START) / HOUR).tolist() == [0, 12]
        assert {name: values.tolist() for name, values in line.sums.items()} == {
            "tolling_revenue_eur": [pytest.approx(80 + 120), 0],
            "tolling_price_weighted": [pytest.approx(8760 * 80 + 26280 * 40), 0],
            "tolling_mw_h": [pytest.approx(80 + 40), 0],
            "vba_revenue_eur": [pytest.approx(100 + 30), pytest.approx(7)],
            "hurdle_price_weighted": [pytest.approx(40 * 20), pytest.approx(5 * 10)],
            "hurdle_mw_h": [pytest.approx(20), pytest.approx(10)],
        }
        assert {source: there.tolist() for source, there in line.present.items()} == {
            FactSource.TOLLING: [True, False],
            FactSource.AUCTION: [True, True],
        }
        spans = {
            source: [((span.starts_s - START) / HOUR).tolist(), ((span.ends_s - START) / HOUR).tolist()]
            for source, span in line.spans.items()
        }
        assert spans == {FactSource.TOLLING: [[0, 12], [8, 12.25]], FactSource.AUCTION: [[0, 12], [6, 13]]}
