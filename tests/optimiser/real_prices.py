"""Six years of real day-ahead prices, where they lie beside the project; tests on them are skipped elsewhere."""

from __future__ import annotations

import csv
from datetime import date, datetime, timedelta
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from tests.published_prices import REAL

from gridloom.kernel.market_time import market_day_window
from gridloom.optimiser.day_table import DayTable, quarters_of, table_of
from gridloom.optimiser.prices import spread_over_quarters

FIRST, END = date(2020, 1, 1), date(2026, 1, 1)
FILE = REAL / "day_ahead_DE-LU_2020-2025.csv"

needs_real_prices = pytest.mark.skipif(
    not FILE.is_file(), reason=f"There are no real prices at {FILE}; GRIDLOOM_PRICES names their folder."
)


@cache
def real_table() -> DayTable:
    """Every market day of 2020 to 2025."""
    with FILE.open() as lines:
        rows = [
            (int(datetime.fromisoformat(start).timestamp()), float(price))
            for start, price in list(csv.reader(lines))[1:]
        ]
    starts = [start for start, _ in rows]
    ends = [after for _, after in pairwise(starts)] + [starts[-1] + 900]
    first = int(market_day_window(FIRST).start.timestamp()) // 900
    end = int(market_day_window(END).start.timestamp()) // 900
    quarters = spread_over_quarters(starts, ends, [price for _, price in rows], first, end)
    days = [FIRST + timedelta(days=number) for number in range((END - FIRST).days)]
    return table_of(FIRST, np.split(quarters, np.cumsum([quarters_of(day) for day in days])[:-1]))
