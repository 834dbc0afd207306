"""The best day-ahead schedules of a month's days, asset by asset, as statements set earnings against them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from datetime import date
from typing import Final

import numpy as np

from gridloom.kernel.market_time import market_days_in, period_count, period_number
from gridloom.kernel.window import Window
from gridloom.market_calendar import Floats
from gridloom.markets.benchmark import store
from gridloom.markets.benchmark.model import BenchmarkBattery
from gridloom.markets.benchmark.rules import foresee_days
from gridloom.optimiser.prices import DAY_AHEAD, load_quarters
from gridloom.optimiser.solving.linear import Deadline
from gridloom.platform.database.pool import Database

_SOLVING_S: Final = 120.0


async def load_foresight(
    db: Database, physical_keys: Collection[int], virtual_keys: Collection[int], window: Window
) -> dict[int, float]:
    """EUR by asset over whole market days; none where a day has no published prices."""
    days = list(market_days_in(window))
    quarters = await load_quarters(db, DAY_AHEAD, period_number(window.start), period_number(window.end))
    if np.isnan(quarters).any():
        return {}
    prices = np.split(quarters, np.cumsum([period_count(day) for day in days])[:-1])
    found: dict[int, float] = {}
    for keys, load in ((physical_keys, store.load_physical), (virtual_keys, store.load_virtual)):
        for key in keys:
            batteries, _ = await load(db, [key], window)
            if batteries:
                found[key] = await asyncio.to_thread(_sum_days, batteries, days, prices)
    return found


def _sum_days(batteries: Sequence[BenchmarkBattery], days: Sequence[date], prices: Sequence[Floats]) -> float:
    return sum(eur or 0.0 for eur in foresee_days(batteries, days, prices, Deadline(_SOLVING_S)))
