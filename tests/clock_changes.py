"""The next days on which clocks change, and those on which they do not: a test of the future that names a date, or an
hour by its offset, is a test of the past one day, and of another hour in summer."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from gridloom.kernel.market_time import block_window, market_day_of, market_day_window


def next_day_of(hours: int, *, in_days: int = 1) -> date:
    """The first market day of so many hours that is so many days ahead, or more."""
    day = market_day_of(datetime.now(UTC)) + timedelta(days=in_days)
    while market_day_window(day).duration != timedelta(hours=hours):
        day += timedelta(days=1)
    return day


def at_hour(day: date | str, hour: int) -> datetime:
    """On the wall clock of the market."""
    return block_window(date.fromisoformat(str(day)), hour, 24).start
