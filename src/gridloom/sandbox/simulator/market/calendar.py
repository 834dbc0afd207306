"""The type of a market day, and how its hours lie in it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from enum import IntEnum
from functools import lru_cache

import numpy as np

from gridloom.kernel.market_time import MARKET_ZONE, PERIOD, market_day_window


class DayType(IntEnum):
    WORKDAY = 0
    SATURDAY = 1
    SUNDAY = 2
    """Holidays too."""


def day_type(day: date) -> DayType:
    if day.weekday() == 6 or day in _list_holidays(day.year):
        return DayType.SUNDAY
    return DayType.SATURDAY if day.weekday() == 5 else DayType.WORKDAY


@lru_cache(maxsize=64)
def _list_holidays(year: int) -> frozenset[date]:
    """Those of the whole of Germany."""
    easter = _find_easter(year)
    fixed = [(1, 1), (5, 1), (10, 3), (12, 25), (12, 26)]
    moving = (-2, 1, 39, 50)
    return frozenset([date(year, m, d) for m, d in fixed] + [easter + timedelta(days=n) for n in moving])


def _find_easter(year: int) -> date:
    """Gauss's rule in Butcher's form."""
    a, b, c = year % 19, year // 100, year % 100
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return date(year, month, day + 1)


@lru_cache(maxsize=4096)
def hours_of(day: date) -> np.ndarray:
    """The wall clock's hour of each hour of the day: 23, 24 or 25 of them."""
    window = market_day_window(day)
    count = window.duration // timedelta(hours=1)
    starts = [(window.start + timedelta(hours=n)).astimezone(MARKET_ZONE).hour for n in range(count)]
    return np.array(starts, dtype=np.intp)


def periods_of(day: date) -> list[datetime]:
    """The starts of the day's 92, 96 or 100 quarter-hours, in UTC."""
    window = market_day_window(day)
    return [(window.start + n * PERIOD).astimezone(UTC) for n in range(window.duration // PERIOD)]
