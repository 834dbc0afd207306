"""A simulated month of a zone with outages, over both clock changes, keeps the promises of dispatch."""

from __future__ import annotations

from datetime import date

import pytest
from tests.delivery.month import Month

pytestmark = pytest.mark.pure

MONTHS = (date(2026, 3, 10), date(2026, 7, 1), date(2026, 10, 5))
"""One with the day that loses an hour, a plain one, and one with the day that gains an hour."""


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_month_is_fair_level_and_fully_served(seed: int) -> None:
    figures = Month(seed, MONTHS[seed % 3]).play()
    assert figures.unfairness < 0.10
    assert max(figures.battery_drifts) < 0.05
    assert figures.zone_drift < 0.02
    assert figures.unserved_kwh < 0.001
    assert figures.opposed_periods == 0
    assert figures.unexplained < 0.001
