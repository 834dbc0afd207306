"""The mean of what was measured in each quarter-hour, and how much of the quarter-hour was measured at all.

A sample holds until the next one, at most max(5 minutes, 3 × the median step of its market day), and never past its
quarter-hour: a silent meter has measured nothing, neither zero nor what it said last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gridloom.market_calendar import PERIOD_S, Floats
from gridloom.monitoring.codec import Times
from gridloom.monitoring.market_days import day_numbers
from gridloom.monitoring.model import MINUTE_US, SECOND_US, SignalSeries

PERIOD_US: Final = PERIOD_S * SECOND_US
MIN_HOLD_US: Final = 5 * MINUTE_US
HOLD_STEPS: Final = 3


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredMean:
    """One value for each period; `mean` is NaN where `share`, the measured part of the period (0 to 1), is 0."""

    mean: Floats
    share: Floats

    def over(self, assumed: Floats) -> Floats:
        """The mean of the whole period, where what was not measured counts as assumed."""
        return np.asarray(assumed + self.share * (np.nan_to_num(self.mean) - assumed))

    def completed_by(self, other: MeasuredMean) -> MeasuredMean:
        is_missing = self.share == 0
        return MeasuredMean(np.where(is_missing, other.mean, self.mean), np.where(is_missing, other.share, self.share))


@dataclass(frozen=True, slots=True, eq=False)
class Measurements:
    """Over some periods: powers as means with the share of each period that was measured, and the state of charge (%)
    at each period's start, NaN where none was measured."""

    active_kw: MeasuredMean
    reserve_kw: MeasuredMean
    soc: Floats

    def completed_by(self, others: Measurements) -> Measurements:
        """Others where nothing of a period is measured here."""
        return Measurements(
            self.active_kw.completed_by(others.active_kw),
            self.reserve_kw.completed_by(others.reserve_kw),
            np.where(np.isnan(self.soc), others.soc, self.soc),
        )


def measure(series: SignalSeries, first: int, end: int) -> MeasuredMean:
    """The periods `first` up to but not `end`; `series` holds the whole market days that they touch."""
    held_us, values, places = _hold_samples(series, first, end)
    measured_us = np.bincount(places, weights=held_us, minlength=end - first)
    mean = np.full(end - first, np.nan)
    known = measured_us > 0
    parts = held_us / measured_us[places]
    mean[known] = np.bincount(places, weights=values * parts, minlength=end - first)[known]
    return MeasuredMean(mean, measured_us / PERIOD_US)


def _hold_samples(series: SignalSeries, first: int, end: int) -> tuple[Floats, Floats, Times]:
    """For how long each sample within the periods holds, its value, and the place of its period."""
    times = series.times
    if not len(times):
        return np.empty(0), np.empty(0), np.empty(0, dtype=np.int64)
    until = np.minimum(times + _find_max_holds_us(times), (times // PERIOD_US + 1) * PERIOD_US)
    until[:-1] = np.minimum(until[:-1], times[1:])
    places = times // PERIOD_US - first
    inside = (places >= 0) & (places < end - first)
    return (until - times)[inside].astype(np.float64), series.values[inside], places[inside]


def _find_max_holds_us(times: Times) -> Times:
    """By sample; a day with one sample has no step."""
    days, firsts, counts = np.unique(day_numbers(times), return_index=True, return_counts=True)
    holds_us = np.full(len(days), MIN_HOLD_US, dtype=np.int64)
    for place, (low, count) in enumerate(zip(firsts.tolist(), counts.tolist(), strict=True)):
        if count > 1:
            median_us = float(np.median(np.diff(times[low : low + count])))
            holds_us[place] = max(MIN_HOLD_US, int(HOLD_STEPS * median_us))
    return np.repeat(holds_us, counts)
