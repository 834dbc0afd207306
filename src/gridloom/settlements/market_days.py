"""The market calendar as arrays: days, their lengths and their blocks for whole columns of instants at once."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gridloom.kernel.market_time import MARKET_ZONE
from gridloom.settlements.measures import BLOCKS_A_DAY

IntArray: TypeAlias = NDArray[np.int64]

FIRST_DAY: Final = date(2000, 1, 1)
LAST_DAY: Final = date(2099, 12, 31)
PERIOD_S: Final = 900
HOUR_S: Final = 3600
BLOCK_S: Final = 4 * HOUR_S


@cache
def day_edges_s() -> IntArray:
    """The start of every market day from the first to the one after the last, in seconds since 1970."""
    first, last = FIRST_DAY.toordinal(), LAST_DAY.toordinal() + 1
    midnights = (datetime.combine(date.fromordinal(day), time(0), MARKET_ZONE) for day in range(first, last + 1))
    return np.fromiter((midnight.timestamp() for midnight in midnights), dtype=np.int64, count=last + 1 - first)


def number_of_day(day: date) -> int:
    return (day - FIRST_DAY).days


def day_of_number(number: int) -> date:
    return FIRST_DAY + timedelta(int(number))


def day_numbers_at(instants_s: IntArray) -> IntArray:
    """The number of the market day in which each instant falls; only for instants within the calendar."""
    return np.searchsorted(day_edges_s(), instants_s, side="right") - 1


def period_counts(numbers: IntArray) -> IntArray:
    """92, 96 or 100 for each day."""
    edges = day_edges_s()
    return (edges[numbers + 1] - edges[numbers]) // PERIOD_S


def block_period_counts(numbers: IntArray) -> IntArray:
    """The periods of the six blocks of each day, a row a day.

    The clock changes between 2 and 3 o'clock, so only the first block differs: 12, 16 or 20 periods.
    """
    counts = np.full((len(numbers), BLOCKS_A_DAY), BLOCK_S // PERIOD_S, dtype=np.int64)
    counts[:, 0] += period_counts(numbers) - 96
    return counts


def instant_of(seconds: float) -> datetime:
    return datetime.fromtimestamp(float(seconds), tz=UTC)
