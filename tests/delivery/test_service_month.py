"""A month that the service dispatched, traded and settled: fair, level, announced, explained, and zero over all."""

from __future__ import annotations

import os
from datetime import date, timedelta
from typing import Any

import pytest
from tests.delivery.conftest import next_day_of, yard_of
from tests.delivery.service_month import ServiceMonth

from gridloom.kernel.market_time import market_day_window

pytestmark = pytest.mark.slow

DAYS = int(os.environ.get("MONTH_DAYS", "10"))
SEEDS = range(1, 1 + int(os.environ.get("MONTH_SEEDS", "2")))
"""`make month` lives through thirty days of five seeds."""


@pytest.mark.parametrize(("seed", "periods"), [(seed, 92 if seed % 2 else 100) for seed in SEEDS])
async def test_days_over_a_clock_change_keep_every_promise_of_dispatch(fresh_app: Any, seed: int, periods: int) -> None:
    first_day: date = next_day_of(periods, after_days=31) - timedelta(days=DAYS - 2)
    since = market_day_window(first_day).start - timedelta(days=2)
    async with yard_of(await fresh_app(since)) as yard:
        month = ServiceMonth(yard, seed, first_day, DAYS)
        await month.make()
        await month.live()
        found = await month.check()
    print(f"seed {seed}, {DAYS} days: {found}")
    assert max(found.unfairness) < 0.10
    assert found.battery_drift < 0.05
    assert found.zone_drift < 0.02
    assert found.unexplained < 0.001
    assert found.unbalanced_kw < 0.01
    assert found.untraded_drift < 0.001
    assert found.cuts_outside_outages == []
    assert found.open_between_parties == []
    assert {
        "TRADING",
        "DRIFT",
        "IMBALANCE",
        "TOLLING",
        "AVAILABILITY",
        "SUBSTITUTION",
        "FCR",
        "RESERVE_SHORTFALL",
    } <= found.lines.keys()
    # Each line is rounded to the cent by market day and asset.
    assert found.market_off_eur < 1.0
    assert found.grid_off_eur < 1.0
    assert found.reserve_off_eur < 0.1
