"""The rated power by which a report divides, where assets live one after the other."""

from __future__ import annotations

import numpy as np
import pytest

from gridloom.revenue.aggregation import rated_power_mw
from gridloom.revenue.model import RatedPowerSteps, ReportBuckets, SecondsSpan

pytestmark = pytest.mark.pure

HOUR = 3600.0
STARTS = np.arange(4, dtype=np.float64) * HOUR
BUCKETS = ReportBuckets(np.arange(4), STARTS, STARTS + HOUR)
"""Four hours."""


def living(power_mw: float, first_h: float, end_h: float) -> RatedPowerSteps:
    life = SecondsSpan(first_h * HOUR, end_h * HOUR)
    return RatedPowerSteps(np.array([life.start_s]), np.array([power_mw]), life)


class TestTheRatedPower:
    def test_of_several_assets_counts_each_while_it_lives_and_all_where_none_does(self) -> None:
        together = rated_power_mw([living(10, 0, 1.5), living(4, 1, 3)], BUCKETS)
        assert together.tolist() == [10, 10 / 2 + 4, 4, 14]

    def test_of_one_asset_is_its_own_whenever_that_is(self) -> None:
        assert rated_power_mw([living(10, 0, 1.5)], BUCKETS).tolist() == [10, 10, 10, 10]

    def test_that_changes_within_a_bucket_is_the_mean_over_its_time(self) -> None:
        grown = RatedPowerSteps(np.array([0.0, 1.25 * HOUR]), np.array([10.0, 30.0]))
        assert rated_power_mw([grown], BUCKETS).tolist() == [10, 25, 30, 30]

    def test_is_the_first_one_before_that_holds(self) -> None:
        later = RatedPowerSteps(np.array([1.5 * HOUR, 2.25 * HOUR]), np.array([10.0, 30.0]))
        assert rated_power_mw([later], BUCKETS).tolist() == [10, 10, 25, 30]
