"""The mean of what was measured in each quarter-hour, and how much of the quarter-hour was measured at all.

A sample holds until the next one, at most max(5 minutes, 3 × the median step of its market day), and never past its
quarter-hour: a silent meter has measured nothing, neither zero nor what it said last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gridloom.database.pool import Database
from gridloom.kernel.market_time import period_start
from gridloom.market_calendar import PERIOD_S, Floats
from gridloom.monitoring import store as monitoring
from gridloom.monitoring.codec import Times
from gridloom.monitoring.market_days import day_number, day_numbers, day_start
from gridloom.monitoring.model import EMPTY, MINUTE_US, SECOND_US, SignalSeries, microseconds
from gridloom.monitoring.query.series import read

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


ACTIVE_POWER: Final = "active_power"
RESERVE_POWER: Final = "reserve_power"
STATE_OF_CHARGE: Final = "state_of_charge"


async def read_telemetry(db: Database, asset_key: int, first: int, end: int) -> Measurements:
    """Of whole market days, since how long a sample holds depends on all of its day."""
    ids = await monitoring.signal_ids(db, asset_key)
    wanted = [ids[name] for name in (ACTIVE_POWER, RESERVE_POWER, STATE_OF_CHARGE) if name in ids]
    start_us, end_us = microseconds(period_start(first)), microseconds(period_start(end))
    days_start_us, days_end_us = day_start(day_number(start_us)), day_start(day_number(end_us - 1) + 1)
    # The state of charge at the start of a day may have been measured in the last quarter-hour of the day before.
    from_us = min(days_start_us, start_us - PERIOD_US)
    found = await read(db, asset_key, wanted, from_us, days_end_us) if wanted and first < end else {}
    power, reserve, charge = (
        found.get(ids.get(name, -1), EMPTY) for name in (ACTIVE_POWER, RESERVE_POWER, STATE_OF_CHARGE)
    )
    return Measurements(
        measure(power.between(days_start_us, days_end_us), first, end),
        measure(reserve.between(days_start_us, days_end_us), first, end),
        _at_starts(charge, first, end),
    )


def _at_starts(series: SignalSeries, first: int, end: int) -> Floats:
    """The last value at or before each period's start, if it is not older than a quarter-hour."""
    starts_us = np.arange(first, end, dtype=np.int64) * PERIOD_US
    values = np.full(end - first, np.nan)
    places = np.searchsorted(series.times, starts_us, side="right") - 1
    known = places >= 0
    known[known] &= starts_us[known] - series.times[places[known]] <= PERIOD_US
    values[known] = series.values[places[known]]
    return values
