"""Forecasts from the last cleared price and from medians, with bands from what such forecasts have missed lately; pure.

The last cleared price is the best forecast of the next auction. A band is the error of past days, each measured in the
mean error of the five days before it, times the mean error of the last five: it widens in restless weeks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gridloom.optimiser.solving.programme import Bools, Floats

ERROR_DAYS: Final = 42
SCALE_DAYS: Final = 5
HISTORY_DAYS: Final = ERROR_DAYS + SCALE_DAYS
SAME_KIND_DAYS: Final = 7
BLOCK_QUARTERS: Final = 16
_QUANTILES: Final = (0.1, 0.9)
_UNKNOWN_ERROR: Final = 0.3
"""Of the price: the band where no error is known yet."""
_LEAST_SCALE: Final = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class PriceBand:
    p10: Floats
    p50: Floats
    p90: Floats


def find_band(middle: Floats, errors: Floats, group: int) -> PriceBand:
    """Around `middle`, from the errors of past days (a row each, the latest last; rows with gaps are left out).

    Each `group` of neighbouring columns has quantiles of its own.
    """
    known = errors[~np.isnan(errors).any(axis=1)]
    if not len(known):
        spread = np.full(len(middle), _UNKNOWN_ERROR * float(np.abs(middle).mean()))
        return PriceBand(middle - spread, middle, middle + spread)
    daily = np.abs(known).mean(axis=1)
    scaled, scales = known[-ERROR_DAYS:], _scale_days(daily)[-ERROR_DAYS:]
    width = known.shape[1] // group
    by_group = (scaled / scales[:, None]).reshape(len(scaled), width, group).transpose(1, 0, 2).reshape(width, -1)
    low, high = np.quantile(by_group, _QUANTILES, axis=1)
    now = max(float(daily[-SCALE_DAYS:].mean()), _LEAST_SCALE)
    p10 = middle + now * np.repeat(np.minimum(low, 0.0), group)
    p90 = middle + now * np.repeat(np.maximum(high, 0.0), group)
    return PriceBand(p10, middle, p90)


def _scale_days(daily: Floats) -> Floats:
    """Of each day the mean error of the five days before it; its own where it is the first."""
    sums = np.concatenate([[0.0], np.cumsum(daily)])
    index = np.arange(len(daily))
    first = np.maximum(index - SCALE_DAYS, 0)
    means = (sums[index] - sums[first]) / np.maximum(index - first, 1)
    return np.asarray(np.maximum(np.where(index > 0, means, daily), _LEAST_SCALE))


def expect_same_kind(values: Floats, is_alike: Sequence[bool] | Bools) -> Floats | None:
    """Column by column the median of the last seven days of the same kind; of all days where none is alike."""
    known = ~np.isnan(values).any(axis=1)
    rows = values[known & np.asarray(is_alike, dtype=bool)]
    if not len(rows):
        rows = values[known]
    return np.asarray(np.median(rows[-SAME_KIND_DAYS:], axis=0)) if len(rows) else None


def forecast_blocks(values: Floats, is_weekend: Bools, weekend: bool) -> PriceBand | None:
    """The capacity prices of a day's blocks, from those of past days (a row each); None where none is known."""
    middle = expect_same_kind(values, is_weekend == weekend)
    if middle is None:
        return None
    errors = np.full((min(HISTORY_DAYS, len(values)), values.shape[1]), np.nan)
    for row, day in enumerate(range(len(values) - len(errors), len(values))):
        expected = expect_same_kind(values[:day], is_weekend[:day] == is_weekend[day]) if day else None
        if expected is not None:
            errors[row] = values[day] - expected
    return find_band(middle, errors, 1)
