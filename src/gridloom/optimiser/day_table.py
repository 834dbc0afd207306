"""Prices as a table of market days: one row a day, 24 hours or 96 quarter-hours of the wall clock.

A day of 23 hours gets the hour it lacks from the one before; of the hour that a day of 25 hours has twice the mean is
taken. So every day can be held against every other; `from_96_quarters` gives a day its true length back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import Final

import numpy as np

from gridloom.kernel.market_time import period_count
from gridloom.optimiser.solving.programme import Floats

QUARTERS: Final = 96
_CLOCK_CHANGES_AFTER: Final = 8  # quarter-hours: at two in the morning
_HOUR: Final = 4


@lru_cache(maxsize=16_384)
def quarters_of(day: date) -> int:
    """92, 96 or 100."""
    return period_count(day)


def to_96_quarters(quarters: Floats) -> Floats:
    """A day of 92, 96 or 100 quarter-hours as 96."""
    missing = QUARTERS - len(quarters)
    if missing == 0:
        return quarters
    at = _CLOCK_CHANGES_AFTER
    if missing > 0:
        return np.concatenate([quarters[:at], quarters[at - missing : at], quarters[at:]])
    twice = (quarters[at : at - missing] + quarters[at - missing : at - 2 * missing]) / 2
    return np.concatenate([quarters[:at], twice, quarters[at - 2 * missing :]])


def from_96_quarters(quarters: Floats, day: date) -> Floats:
    """96 quarter-hours (in the last axis) as the 92, 96 or 100 that the day has."""
    count, at = quarters_of(day), _CLOCK_CHANGES_AFTER
    if count == QUARTERS:
        return quarters
    if count < QUARTERS:
        return np.concatenate([quarters[..., :at], quarters[..., at + QUARTERS - count :]], axis=-1)
    return np.concatenate([quarters[..., : at + _HOUR], quarters[..., at:]], axis=-1)


@dataclass(frozen=True, slots=True, eq=False)
class DayTable:
    """Consecutive market days from `first` on, the prices of each in EUR/MWh.

    `is_hourly` tells the days on which the four quarters of every hour have the same price because it was hourly.
    """

    first: date
    quarters: Floats
    is_hourly: np.ndarray

    def __len__(self) -> int:
        return len(self.quarters)

    @property
    def end(self) -> date:
        """The first day that is not in it."""
        return self.first + timedelta(days=len(self))

    @property
    def hours(self) -> Floats:
        return np.asarray(self.quarters.reshape(len(self), 24, _HOUR) @ np.full(_HOUR, 1 / _HOUR))

    def index_of(self, day: date) -> int:
        return (day - self.first).days

    def until(self, day: date) -> DayTable:
        """Only the days before this one."""
        count = max(0, min(len(self), self.index_of(day)))
        return DayTable(self.first, self.quarters[:count], self.is_hourly[:count])

    def last(self, days: int) -> DayTable:
        skipped = max(0, len(self) - days)
        return DayTable(self.first + timedelta(days=skipped), self.quarters[skipped:], self.is_hourly[skipped:])

    def true_day(self, index: int) -> Floats:
        """The day's prices with its true 92, 96 or 100 quarter-hours."""
        return from_96_quarters(self.quarters[index], self.first + timedelta(days=index))


def table_of(first: date, days: Sequence[Floats]) -> DayTable:
    """Of days that each have their true number of quarter-hours."""
    quarters = np.array([to_96_quarters(day) for day in days]).reshape(len(days), QUARTERS)
    by_hour = quarters.reshape(len(days), 24, _HOUR)
    return DayTable(first, quarters, (by_hour == by_hour[:, :, :1]).all(axis=(1, 2)))
