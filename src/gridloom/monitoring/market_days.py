"""Market days of whole columns of times: the kernel's rule, without a step per point.

Days are numbered from 1970-01-01. Only the moments at which the market's clock changes matter, and they are few.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import cache

import numpy as np
from numpy.typing import NDArray

from gridloom.kernel.market_time import MARKET_ZONE
from gridloom.monitoring.codec import Times
from gridloom.monitoring.model import HOUR_US, SECOND_US, microseconds

DAY_US = 24 * HOUR_US
_FIRST_YEAR, _LAST_YEAR = 1999, 2102
_EPOCH_DAY = date(1970, 1, 1)


def day_numbers(times: Times) -> NDArray[np.int64]:
    """The market day in which each time falls."""
    return (times + _find_offsets(times)) // DAY_US


def day_number(time_us: int) -> int:
    return int(day_numbers(np.array([time_us], dtype=np.int64))[0])


def day_starts(days: NDArray[np.int64]) -> Times:
    """The instant at which each market day begins; the clock never changes between 22:00 and 24:00 UTC."""
    midnights = days * DAY_US
    return midnights - _find_offsets(midnights - HOUR_US)


def day_start(day: int) -> int:
    return int(day_starts(np.array([day], dtype=np.int64))[0])


def date_of(day: int) -> date:
    return _EPOCH_DAY + timedelta(days=day)


def number_of(day: date) -> int:
    return (day - _EPOCH_DAY).days


def _find_offsets(times: Times) -> Times:
    changes, offsets = _clock_changes()
    return offsets[np.searchsorted(changes, times, side="right")]


@cache
def _clock_changes() -> tuple[Times, Times]:
    """When the market's offset from UTC changes, and the offsets before the first change and after each."""
    changes, offsets = [], [_find_offset(datetime(_FIRST_YEAR, 1, 1, tzinfo=UTC))]
    for year in range(_FIRST_YEAR, _LAST_YEAR):
        for month in range(1, 13):
            start = datetime(year, month, 1, tzinfo=UTC)
            end = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
            if _find_offset(start) != _find_offset(end):
                changes.append(microseconds(_change_between(start, end)))
                offsets.append(_find_offset(end))
    return np.array(changes, dtype=np.int64), np.array(offsets, dtype=np.int64)


def _change_between(start: datetime, end: datetime) -> datetime:
    while end - start > timedelta(hours=1):
        middle = start + (end - start) // timedelta(hours=2) * timedelta(hours=1)
        start, end = (start, middle) if _find_offset(middle) == _find_offset(end) else (middle, end)
    return end


def _find_offset(instant: datetime) -> int:
    offset = instant.astimezone(MARKET_ZONE).utcoffset()
    assert offset is not None, "the market's zone knows its offset"
    return int(offset.total_seconds()) * SECOND_US
