"""Market days, delivery periods and wall-clock blocks, right across the changes of the clock.

A market day is a calendar day in Berlin and lasts 23, 24 or 25 hours. A delivery period is a quarter of an hour, named
by its start; Berlin is always whole hours from UTC, so periods fall on the quarter-hours of UTC too.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo

from gridloom.kernel.window import Window

MARKET_ZONE: Final = ZoneInfo("Europe/Berlin")
PERIOD: Final = timedelta(minutes=15)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_DAY = timedelta(days=1)


class Resolution(StrEnum):
    """Minutes and quarter-hours are fixed lengths; hours and days are those of the market's clock."""

    RAW = "raw"
    MINUTE = "1-minute"
    QUARTER_HOUR = "15-minute"
    HOUR = "hourly"
    DAY = "daily"


def market_day_of(instant: datetime) -> date:
    _demand_offset(instant)
    return instant.astimezone(MARKET_ZONE).date()


def market_day_window(day: date) -> Window:
    return Window(_wall_clock(day, 0), _wall_clock(day, 24))


def period_count(day: date) -> int:
    """92 on the day in spring that loses an hour, 100 on the one in autumn that gains it, 96 on all others."""
    return market_day_window(day).duration // PERIOD


def block_window(day: date, first_hour: int, last_hour: int) -> Window:
    """The block from `first_hour` to `last_hour` on the wall clock, 24 being the day's end.

    The block 0 to 4 lasts three hours in spring and five in autumn.
    """
    if not 0 <= first_hour < last_hour <= 24:
        raise ValueError(f"A block lies within the hours 0 to 24 of its day, not {first_hour} to {last_hour}.")
    return Window(_wall_clock(day, first_hour), _wall_clock(day, last_hour))


BLOCK_HOURS: Final = 4


def is_block_start(instant: datetime) -> bool:
    """Whether one of the day's four-hour blocks starts here, on the wall clock."""
    day = market_day_of(instant)
    return any(_wall_clock(day, hour) == instant for hour in range(0, 24, BLOCK_HOURS))


def is_period_start(instant: datetime) -> bool:
    _demand_offset(instant)
    return not (instant - EPOCH) % PERIOD


def floor_to_period(instant: datetime) -> datetime:
    """The start of the period in which the instant falls."""
    _demand_offset(instant)
    return (instant - (instant - EPOCH) % PERIOD).astimezone(UTC)


def period_number(instant: datetime) -> int:
    """The period in which the instant falls, counted in quarter-hours since 1970 in UTC."""
    return (instant - EPOCH) // PERIOD


def period_number_from(instant: datetime) -> int:
    """The first period that starts at the instant or later."""
    return -((EPOCH - instant) // PERIOD)


def period_start(number: int) -> datetime:
    return EPOCH + number * PERIOD


def market_days_in(window: Window) -> Iterator[date]:
    """Every market day of which the window holds some part, in order."""
    day = market_day_of(window.start)
    while _wall_clock(day, 0) < window.end:
        yield day
        day += _DAY


def _wall_clock(day: date, hour: int) -> datetime:
    """An hour that the clock shows twice is the first of the two; one that it skips is the instant of the skip."""
    if hour == 24:
        day, hour = day + _DAY, 0
    return datetime.combine(day, time(hour), tzinfo=MARKET_ZONE).astimezone(UTC)


def _demand_offset(instant: datetime) -> None:
    if instant.tzinfo is None:
        raise ValueError("An instant needs an offset from UTC.")


def format_instant(instant: datetime) -> str:
    """RFC 3339 in UTC with `Z`: whole seconds, or milliseconds where there are any."""
    utc = instant.astimezone(UTC)
    precision = "milliseconds" if utc.microsecond >= 1000 else "seconds"
    return utc.isoformat(timespec=precision).replace("+00:00", "Z")
