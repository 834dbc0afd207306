"""Which kind of day it is for the power market: a working day, a Saturday, or a Sunday or holiday of all Germany."""

from __future__ import annotations

from datetime import date, timedelta
from functools import lru_cache

import numpy as np
import numpy.typing as npt

_FIXED = ((1, 1), (5, 1), (10, 3), (12, 25), (12, 26))
_AFTER_EASTER = (-2, 1, 39, 50)  # Good Friday, Easter Monday, Ascension, Whit Monday


def easter_of(year: int) -> date:
    """Easter Sunday of the Gregorian calendar, after Gauss as Butcher wrote it down."""
    golden, century, rest = year % 19, year // 100, year % 100
    skipped, leaps = century // 4, century % 4
    moon = (19 * golden + century - skipped - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    weekday = (32 + 2 * leaps + 2 * (rest // 4) - moon - rest % 4) % 7
    late = (golden + 11 * moon + 22 * weekday) // 451
    month, day = divmod(moon + weekday - 7 * late + 114, 31)
    return date(year, month, day + 1)


@lru_cache(maxsize=256)
def holidays_of(year: int) -> frozenset[date]:
    easter = easter_of(year)
    return frozenset(
        [date(year, month, day) for month, day in _FIXED] + [easter + timedelta(days=days) for days in _AFTER_EASTER]
    )


@lru_cache(maxsize=16_384)
def day_type(day: date) -> int:
    """0 a working day, 1 a Saturday, 2 a Sunday or holiday."""
    if day.weekday() == 6 or day in holidays_of(day.year):
        return 2
    return 1 if day.weekday() == 5 else 0


@lru_cache(maxsize=256)
def _kinds_of_year(year: int) -> npt.NDArray[np.int64]:
    """Per day of the year its type, and its weekday with holidays as Sundays."""
    first = date(year, 1, 1)
    days = [first + timedelta(days=number) for number in range((date(year + 1, 1, 1) - first).days)]
    types = [day_type(day) for day in days]
    return np.array([types, [6 if kind == 2 else day.weekday() for day, kind in zip(days, types, strict=True)]])


def day_kinds(first: date, count: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Types and weekdays (holidays as Sundays, 6) of so many days from `first` on."""
    years = range(first.year, (first + timedelta(days=count)).year + 1)
    both = np.concatenate([_kinds_of_year(year) for year in years], axis=1)
    skipped = (first - date(first.year, 1, 1)).days
    return both[0, skipped : skipped + count], both[1, skipped : skipped + count]
