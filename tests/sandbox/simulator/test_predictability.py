"""A generated year is as predictable as real ones: the product's own back-test earns on it what it earns on them."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from gridloom.optimiser.backtests.planner import BatterySpec
from gridloom.optimiser.backtests.rolling import EXPECTATIONS, Expectation, Policy, replay_days
from gridloom.optimiser.day_table import DayTable, table_of
from gridloom.optimiser.forecasts.formulas import HISTORY_DAYS
from gridloom.optimiser.solving.programme import Floats
from gridloom.sandbox.simulator.market.day_ahead import DayAhead

pytestmark = pytest.mark.pure

FIRST, DAYS = date(2026, 1, 1), 365
POLICIES = (Policy.YESTERDAY, Policy.MEAN_7_DAYS, Policy.FORECAST)
REAL_SHARES = {
    (1, 2): (81.9, 87.6, 90.8),
    (4, 1): (89.4, 93.3, 94.6),
}
"""By hours of storage and cycles a day, in the order of the policies: percent of foresight on real days of 2026, of
the two batteries of six whose shares lie farthest apart"""
TOLERANCE = 4.0


@pytest.fixture(scope="module")
def table() -> DayTable:
    first = FIRST - timedelta(days=HISTORY_DAYS)
    return table_of(first, DayAhead(1).many_days(first, HISTORY_DAYS + DAYS + 1))


@pytest.fixture(scope="module")
def expectations(table: DayTable) -> dict[Policy, Expectation]:
    """Each day's forecast is computed once for all batteries."""
    known: dict[int, tuple[Floats, Floats]] = {}

    def expect_forecast(table: DayTable, place: int) -> tuple[Floats, Floats]:
        if place not in known:
            known[place] = EXPECTATIONS[Policy.FORECAST](table, place)
        return known[place]

    return {**EXPECTATIONS, Policy.FORECAST: expect_forecast}


@pytest.mark.slow  # back-tests of many days, each under three policies
@pytest.mark.parametrize(("hours", "cycles"), REAL_SHARES)
def test_policies_earn_the_share_of_foresight_that_they_earn_on_real_days(
    table: DayTable, expectations: dict[Policy, Expectation], hours: int, cycles: int
):
    battery = BatterySpec(1000.0, 1000.0, 1000.0 * hours, 0.943, 0.943, cycles)
    earned = {
        policy: sum(
            day.earned_eur
            for day in replay_days(table, FIRST, FIRST + timedelta(days=DAYS), battery, expectations[policy])
        )
        for policy in (*POLICIES, Policy.FORESIGHT)
    }
    shares = [100 * earned[policy] / earned[Policy.FORESIGHT] for policy in POLICIES]
    assert shares == pytest.approx(REAL_SHARES[hours, cycles], abs=TOLERANCE)
