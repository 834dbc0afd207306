"""Made-up prices with the shape of real ones, for tests that must run everywhere."""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache
from typing import Any

import httpx2
import numpy as np

from gridloom.kernel.market_time import market_day_window
from gridloom.optimiser.day_table import DayTable, quarters_of, table_of


def shaped_day(day: date, seed: int = 0) -> np.ndarray:
    """Two peaks, a valley at noon, cheaper weekends, some noise; 92, 96 or 100 quarter-hours."""
    rng = np.random.default_rng([seed, day.toordinal()])
    hours = np.arange(quarters_of(day)) / 4
    level = 80 + 15 * np.sin(day.toordinal() / 20) - (20 if day.weekday() >= 5 else 0)
    shape = 45 * np.exp(-((hours - 8) ** 2) / 6) + 70 * np.exp(-((hours - 19) ** 2) / 6)
    shape -= 70 * np.exp(-((hours - 13) ** 2) / 8)
    return np.asarray(np.round(level + shape + rng.normal(0, 6, len(hours)), 2))


@cache
def shaped_table(first: date, days: int, seed: int = 0) -> DayTable:
    return table_of(first, [shaped_day(first + timedelta(days=number), seed) for number in range(days)])


async def load_days(operator: httpx2.AsyncClient, first: date, days: int, seed: int = 0) -> None:
    """Publish the days' prices by quarter-hours."""
    rows: list[dict[str, Any]] = []
    for number in range(days):
        day = first + timedelta(days=number)
        start = market_day_window(day).start
        for place, price in enumerate(shaped_day(day, seed).tolist()):
            begins = start + place * timedelta(minutes=15)
            rows.append(
                {
                    "series": "DAY_AHEAD_DE_LU",
                    "start": begins.isoformat(),
                    "end": (begins + timedelta(minutes=15)).isoformat(),
                    "price": price,
                }
            )
    for at in range(0, len(rows), 20_000):
        answer = await operator.post("/reference-prices", json=rows[at : at + 20_000], timeout=120)
        assert answer.status_code == 200, answer.text
