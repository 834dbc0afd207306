"""The market's calendar in microseconds, which is how this room counts time."""

from __future__ import annotations

from typing import Final

from gridloom import market_calendar
from gridloom.market_calendar import Ints, market_date, market_day_number
from gridloom.monitoring.codec import Times
from gridloom.monitoring.model import HOUR_US, SECOND_US

__all__ = ["DAY_US", "day_number", "day_numbers", "day_start", "day_starts", "market_date", "market_day_number"]

DAY_US: Final = 24 * HOUR_US


def day_numbers(times: Times) -> Ints:
    """The market day in which each time falls."""
    return market_calendar.market_day_numbers(times, SECOND_US)


def day_number(time_us: int) -> int:
    return market_calendar.day_number(time_us, SECOND_US)


def day_starts(days: Ints) -> Times:
    return market_calendar.day_starts(days, SECOND_US)


def day_start(day: int) -> int:
    return market_calendar.day_start(day, SECOND_US)
