"""The mean of what was measured in each quarter-hour, and how much of the quarter-hour was measured at all.

A sample holds until the next one, at most max(5 minutes, 3 × the median step of its market day), and never past its
quarter-hour: a silent meter has measured nothing, neither zero nor what it said last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gridloom.kernel.market_time import period_start
from gridloom.market_calendar import PERIOD_S, Floats
from gridloom.monitoring.codec import Times
from gridloom.monitoring.model import (
    EMPTY,
    MINUTE_US,
    SECOND_US,
    SignalSeries,
    day_number,
    day_numbers,
    day_start,
    microseconds,
)
from gridloom.monitoring.query.series import read
from gridloom.monitoring.store import heads
from gridloom.platform.database.pool import Database

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

    @classmethod
    def join(cls, parts: Sequence[MeasuredMean]) -> MeasuredMean:
        return cls(np.concatenate([part.mean for part in parts]), np.concatenate([part.share for part in parts]))


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

    @classmethod
    def join(cls, parts: Sequence[Measurements]) -> Measurements:
        """Of periods that follow each other."""
        return cls(
            MeasuredMean.join([part.active_kw for part in parts]),
            MeasuredMean.join([part.reserve_kw for part in parts]),
            np.concatenate([part.soc for part in parts]),
        )


def measure(series: SignalSeries, first: int, end: int) -> MeasuredMean:
    """The periods `first` up to but not `end`; `series` holds the whole market days that they touch."""
    held_us, values, indices = _hold_samples(series, first, end)
    measured_us = np.bincount(indices, weights=held_us, minlength=end - first)
    mean = np.full(end - first, np.nan)
    known = measured_us > 0
    parts = held_us / measured_us[indices]
    mean[known] = np.bincount(indices, weights=values * parts, minlength=end - first)[known]
    return MeasuredMean(mean, measured_us / PERIOD_US)


def _hold_samples(series: SignalSeries, first: int, end: int) -> tuple[Floats, Floats, Times]:
    """For how long each sample within the periods holds, its value, and the index of its period."""
    times = series.times
    if not len(times):
        return np.empty(0), np.empty(0), np.empty(0, dtype=np.int64)
    until = np.minimum(times + _find_max_holds_us(times), (times // PERIOD_US + 1) * PERIOD_US)
    until[:-1] = np.minimum(until[:-1], times[1:])
    indices = times // PERIOD_US - first
    inside = (indices >= 0) & (indices < end - first)
    return (until - times)[inside].astype(np.float64), series.values[inside], indices[inside]


def _find_max_holds_us(times: Times) -> Times:
    """By sample; a day with one sample has no step."""
    days = day_numbers(times)
    firsts = np.flatnonzero(np.diff(days, prepend=days[0] - 1))
    counts = np.diff(firsts, append=len(times))
    holds_us = np.full(len(firsts), MIN_HOLD_US, dtype=np.int64)
    for index, (low, count) in enumerate(zip(firsts.tolist(), counts.tolist(), strict=True)):
        if count > 1:
            holds_us[index] = max(MIN_HOLD_US, int(HOLD_STEPS * _find_median(np.diff(times[low : low + count]))))
    return np.repeat(holds_us, counts)


def _find_median(steps_us: Times) -> float:
    """Most meters have one step all day: then there is nothing to sort."""
    first = steps_us[0]
    return float(first) if (steps_us == first).all() else float(np.median(steps_us))


ACTIVE_POWER: Final = "active_power"
RESERVE_POWER: Final = "reserve_power"
STATE_OF_CHARGE: Final = "state_of_charge"


async def read_telemetry(db: Database, asset_key: int, first: int, end: int) -> Measurements:
    """Of whole market days, since how long a sample holds depends on all of its day."""
    ids = await heads.signal_ids(db, asset_key)
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
        find_at_starts(charge, first, end),
    )


def find_at_starts(series: SignalSeries, first: int, end: int) -> Floats:
    """The last value at or before each period's start, if it is not older than a quarter-hour."""
    starts_us = np.arange(first, end, dtype=np.int64) * PERIOD_US
    values = np.full(end - first, np.nan)
    indices = np.searchsorted(series.times, starts_us, side="right") - 1
    known = indices >= 0
    known[known] &= starts_us[known] - series.times[indices[known]] <= PERIOD_US
    values[known] = series.values[indices[known]]
    return values
