"""The market's calendar on arrays: days, quarter-hours and blocks for whole columns of times at once.

Days of the market are numbered from 1970-01-01, and quarter-hours from its midnight in UTC. The rules are those of
`kernel.market_time`; only the instants at which the market's clock changes matter here, and they are few.

Schedules are stored by days of UTC, which always have 96 periods. Those days only cut the storage into equal pieces.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gridloom.kernel.market_time import (
    EPOCH,
    MARKET_ZONE,
    market_day_window,
    period_number,
    period_number_from,
    period_start,
)
from gridloom.kernel.window import Window

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

PERIOD_S: Final = 900
PERIOD_MS: Final = 1000 * PERIOD_S
HOUR_S: Final = 3600
DAY_S: Final = 24 * HOUR_S
BLOCK_S: Final = 4 * HOUR_S
BLOCKS_PER_DAY: Final = 6
PERIODS_PER_DAY: Final = 96
DAYS_PER_SUMMARY_ROW: Final = 32

FIRST_DAY: Final = date(2000, 1, 1)
LAST_DAY: Final = date(2099, 12, 31)
"""Facts are kept and reported from the first up to and with the last of these days."""

_EPOCH_DAY: Final = EPOCH.date()
_FIRST_YEAR, _END_YEAR = 1970, 2202


# --- market days -----------------------------------------------------------------------------------------------------


def market_day_number(day: date) -> int:
    return (day - _EPOCH_DAY).days


def market_date(number: int) -> date:
    return _EPOCH_DAY + timedelta(days=int(number))


def market_day_numbers(times: Ints, per_second: int = 1) -> Ints:
    """The market day in which each time falls; times count from 1970, in seconds or parts of one."""
    return (times + _find_offsets(times, per_second)) // (DAY_S * per_second)


def day_number(time: int, per_second: int = 1) -> int:
    return int((time + _find_offset_at(time, per_second)) // (DAY_S * per_second))


def day_starts(numbers: Ints, per_second: int = 1) -> Ints:
    """The time at which each market day begins; the clock never changes between 22:00 and 24:00 UTC."""
    midnights = numbers * (DAY_S * per_second)
    return midnights - _find_offsets(midnights - HOUR_S * per_second, per_second)


def day_start(number: int, per_second: int = 1) -> int:
    midnight = int(number) * DAY_S * per_second
    return midnight - _find_offset_at(midnight - HOUR_S * per_second, per_second)


def period_counts(numbers: Ints) -> Ints:
    """92, 96 or 100 for each day."""
    return (day_starts(numbers + 1) - day_starts(numbers)) // PERIOD_S


def block_period_counts(numbers: Ints) -> Ints:
    """The periods of the six blocks of each day, a row a day.

    The clock changes between 2 and 3 o'clock, so only the first block differs: 12, 16 or 20 periods.
    """
    counts = np.full((len(numbers), BLOCKS_PER_DAY), BLOCK_S // PERIOD_S, dtype=np.int64)
    counts[:, 0] += period_counts(numbers) - PERIODS_PER_DAY
    return counts


def calendar_edges_s() -> tuple[int, int]:
    """When the first of the days begins of which facts are kept, and when the last one ends."""
    return day_start(market_day_number(FIRST_DAY)), day_start(market_day_number(LAST_DAY) + 1)


def instant_of(seconds: float) -> datetime:
    return datetime.fromtimestamp(float(seconds), tz=UTC)


def _find_offsets(times: Ints, per_second: int) -> Ints:
    changes, offsets = _clock_changes(per_second)
    return offsets[np.searchsorted(changes, times, side="right")]


def _find_offset_at(time: int, per_second: int) -> int:
    changes, offsets = _list_clock_changes(per_second)
    return offsets[bisect_right(changes, time)]


@cache
def _list_clock_changes(per_second: int) -> tuple[list[int], list[int]]:
    changes, offsets = _clock_changes(per_second)
    return changes.tolist(), offsets.tolist()


@cache
def _clock_changes(per_second: int) -> tuple[Ints, Ints]:
    changes, offsets = _find_clock_changes()
    return changes * per_second, offsets * per_second


@cache
def _find_clock_changes() -> tuple[Ints, Ints]:
    """When the market's offset from UTC changes, and the offsets before the first change and after each; in seconds."""
    start = datetime(_FIRST_YEAR, 1, 1, tzinfo=UTC)
    changes, offsets = [], [_find_offset(start)]
    while start.year < _END_YEAR:
        end = start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
        offset = _find_offset(end)
        if offset != offsets[-1]:
            changes.append(int(_change_between(start, end, offset).timestamp()))
            offsets.append(offset)
        start = end
    return np.array(changes, dtype=np.int64), np.array(offsets, dtype=np.int64)


def _change_between(start: datetime, end: datetime, offset: int) -> datetime:
    """The first full hour with the offset that holds at the end."""
    while end - start > timedelta(hours=1):
        middle = start + (end - start) // timedelta(hours=2) * timedelta(hours=1)
        start, end = (start, middle) if _find_offset(middle) == offset else (middle, end)
    return end


def _find_offset(instant: datetime) -> int:
    offset = instant.astimezone(MARKET_ZONE).utcoffset()
    assert offset is not None, "the market's zone knows its offset"
    return int(offset.total_seconds())


# --- delivery periods ------------------------------------------------------------------------------------------------


def period_numbers(instants: Sequence[datetime]) -> tuple[Ints, NDArray[np.bool_]]:
    """The period of each instant, and whether the instant is exactly its start."""
    seconds = np.array([instant.timestamp() for instant in instants])
    numbers = seconds // PERIOD_S
    return numbers.astype(np.int64), numbers * PERIOD_S == seconds


def period_start_ms(first: int, end: int) -> Ints:
    """The starts of the periods as milliseconds since 1970."""
    return np.arange(first, end, dtype=np.int64) * PERIOD_MS


def market_day_periods(day: date) -> tuple[int, int]:
    """The first period of a market day and the first one after it: 92, 96 or 100 in between."""
    window = market_day_window(day)
    return period_number(window.start), period_number(window.end)


def market_year_periods(year: int) -> tuple[int, int]:
    return market_day_periods(date(year, 1, 1))[0], market_day_periods(date(year + 1, 1, 1))[0]


def window_periods(window: Window) -> tuple[int, int]:
    """The first period that starts in the window and the first one after it that does not."""
    return period_number_from(window.start), period_number_from(window.end)


def touched_periods(window: Window) -> tuple[int, int]:
    """The first period of which the window has a part and the first one after it of which it has none."""
    return period_number(window.start), period_number_from(window.end)


@lru_cache(maxsize=16_384)
def format_period(period: int) -> str:
    """As `written` has it: periods start with whole seconds, in UTC."""
    return f"{period_start(period).isoformat()[:-6]}Z"


# --- days of UTC, by which schedules are stored ----------------------------------------------------------------------


def utc_day_of(number: int) -> int:
    return number // PERIODS_PER_DAY


def first_period_of_utc_day(day: int) -> int:
    return day * PERIODS_PER_DAY


def utc_days_of(first: int, end: int) -> range:
    """The days that the periods `first` up to but not `end` touch."""
    return range(first // PERIODS_PER_DAY, -(-end // PERIODS_PER_DAY))
