"""Sums over assets of which a report counts a part, and over tolls that follow each other."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from gridloom.kernel.market_time import market_day_window
from gridloom.revenue.accruals import tolling_sums
from gridloom.revenue.aggregation import Summation
from gridloom.revenue.model import Contribution, RatedPowerSteps, ReportBuckets, SecondsSpan, Toll
from gridloom.settlements.measures import MEASURES, POSITION

pytestmark = pytest.mark.pure

HOUR = 3600.0


def measured(**rows: list[float]) -> np.ndarray:
    """Three buckets of an asset's measures."""
    buckets = np.zeros((len(MEASURES), 3))
    for name, values in rows.items():
        buckets[POSITION[name]] = values
    return buckets


class TestAssets:
    def test_count_by_weight_with_their_amounts_and_by_holder_with_their_hours(self) -> None:
        """Half of the first asset, which two of the reported hold; the other whole, held by three."""
        summation = Summation(3)
        half = measured(fcr_delivery_h=[4, 0, 4], fcr_capacity_mw_h=[40, 0, 20], fcr_price_eur_mw=[80, 0, 40])
        whole = measured(fcr_delivery_h=[4, 4, 0], fcr_capacity_mw_h=[8, 16, 0], fcr_price_eur_mw=[40, 4, 0])
        summation.add(Contribution(1, 0.5, 2), half)
        summation.add(Contribution(2, 1.0, 3), whole)
        summation.add(Contribution(3), measured(buy_cost_eur=[0, 7, 0]))
        sums = {name: values.tolist() for name, values in summation.sums().items()}
        assert sums["fcr_capacity_mw_h"] == [28, 16, 10]
        assert sums["fcr_delivery_h"] == [20, 12, 8]
        assert sums["fcr_price_eur_mw"] == [280, 12, 80]
        assert sums["buy_cost_eur"] == [0, 7, 0]
        assert sums["fcr_capacity_mw"] == [7, 4, 2.5], "each one's own level, where it delivers"
        assert sums["fcr_price_capacity_eur"] == [480, 16, 100]


class TestTolls:
    def test_that_follow_each_other_have_the_mean_price_of_their_time_whatever_the_weight(self) -> None:
        """Of 10 MW that count by half: six hours of a day at 1 EUR/MW/h, and two at twice as much."""
        window = market_day_window(date(2026, 7, 1))
        start_s, end_s = window.start.timestamp(), window.end.timestamp()
        buckets = ReportBuckets(np.array([start_s]), np.array([start_s]), np.array([end_s]))
        tolls = [
            Toll(1, SecondsSpan(start_s + first * HOUR, start_s + end * HOUR), price)
            for first, end, price in ((0, 6, 8760.0), (8, 10, 17520.0))
        ]
        rating = RatedPowerSteps(np.array([start_s - 1]), np.array([10.0]))
        sums = tolling_sums(tolls, {1: rating}, {1: 0.5}, buckets)
        assert sums["tolling_revenue_eur"] == pytest.approx([50.0])
        assert sums["tolling_mw_h"] == pytest.approx([40.0])
        assert sums["tolling_price_weighted"] == pytest.approx([10950.0 * 40])
