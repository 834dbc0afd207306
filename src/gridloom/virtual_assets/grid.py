"""The quarter-hour grid as whole numbers, so that schedules become arrays.

A period's number counts quarter-hours since 1970 in UTC; its day is a day of UTC, which always has 96 of them. Days of
UTC only cut the storage into equal pieces. Whatever is said about market days uses `kernel.market_time`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Final

import numpy as np
import numpy.typing as npt

from gridloom.kernel.instant import written
from gridloom.kernel.market_time import (
    PERIOD,
    market_day_window,
    period_number,
    period_number_from,
    period_start,
)
from gridloom.kernel.window import Window

__all__ = [
    "DAYS_PER_SPAN",
    "PERIODS_PER_DAY",
    "PERIOD_S",
    "Floats",
    "Ints",
    "day_of",
    "days_of",
    "first_period",
    "length",
    "market_day_periods",
    "market_year_periods",
    "period_number",
    "period_number_from",
    "period_numbers",
    "period_start",
    "utc_milliseconds",
    "window_periods",
    "wire_time",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

PERIOD_S: Final = 900
PERIODS_PER_DAY: Final = 96
DAYS_PER_SPAN: Final = 32


def period_numbers(instants: Sequence[datetime]) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """The period of each instant, and whether the instant is exactly its start."""
    seconds = np.fromiter((instant.timestamp() for instant in instants), np.float64, len(instants))
    numbers = np.floor_divide(seconds, PERIOD_S)
    return numbers.astype(np.int64), numbers * PERIOD_S == seconds


def day_of(number: int) -> int:
    return number // PERIODS_PER_DAY


def first_period(day: int) -> int:
    return day * PERIODS_PER_DAY


def days_of(first: int, end: int) -> range:
    """The days that the periods `first` up to but not `end` touch."""
    return range(first // PERIODS_PER_DAY, -(-end // PERIODS_PER_DAY))


def utc_milliseconds(first: int, end: int) -> Ints:
    """The starts of the periods as milliseconds since 1970."""
    return np.arange(first, end, dtype=np.int64) * (PERIOD_S * 1000)


def market_day_periods(day: date) -> tuple[int, int]:
    """The first period of a market day and the first one after it: 92, 96 or 100 in between."""
    window = market_day_window(day)
    return period_number(window.start), period_number(window.end)


def market_year_periods(year: int) -> tuple[int, int]:
    return market_day_periods(date(year, 1, 1))[0], market_day_periods(date(year + 1, 1, 1))[0]


def window_periods(window: Window) -> tuple[int, int]:
    """The first period that starts in the window and the first one after it that does not."""
    return period_number_from(window.start), period_number_from(window.end)


def length(first: int, end: int) -> timedelta:
    return (end - first) * PERIOD


def wire_time(period: int) -> str:
    return written(period_start(period))
