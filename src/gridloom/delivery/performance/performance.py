"""What was measured of a battery against what it was dispatched for, quarter-hour by quarter-hour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gridloom.database.pool import Database
from gridloom.delivery.dispatch.reading import StandingDispatch, load_dispatch
from gridloom.delivery.model import Floats, PartKind
from gridloom.delivery.performance.measured import PERIOD_US, MeasuredMean, measure
from gridloom.kernel.market_time import period_start
from gridloom.kernel.units import POWER_TOLERANCE_KW, QUARTER_HOUR_H
from gridloom.monitoring import store as monitoring
from gridloom.monitoring.market_days import day_number, day_start
from gridloom.monitoring.model import EMPTY, Series, microseconds
from gridloom.monitoring.reading.series import read

ACTIVE_POWER: Final = "active_power"
RESERVE_POWER: Final = "reserve_power"
STATE_OF_CHARGE: Final = "state_of_charge"
TOLERATED_SHARE: Final = 0.05
TOLERATED_CAPACITY_SHARE_H: Final = 0.02
"""Of what a battery holds, per hour: what a meter and a controller may be off by even where little is asked."""


@dataclass(frozen=True, slots=True, eq=False)
class Measurements:
    """Over some periods: powers as means with the share of each period that was measured, and the state of charge (%)
    at each period's start, NaN where none was measured."""

    active_kw: MeasuredMean
    reserve_kw: MeasuredMean
    soc: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Performance:
    """Over the periods of a dispatch. What was not measured counts as dispatched."""

    dispatch: StandingDispatch
    measured: Measurements

    @property
    def measured_kw(self) -> Floats:
        """The mean of what was measured; NaN where nothing was."""
        return self.measured.active_kw.mean

    @property
    def measured_share(self) -> Floats:
        return self.measured.active_kw.share

    @property
    def measured_soc(self) -> Floats:
        return self.measured.soc

    @property
    def reserve_response_kw(self) -> Floats:
        """What the battery gave for FCR and aFRR within the measured power; NaN where that was not measured."""
        return self.measured.reserve_kw.mean

    @property
    def counted_kw(self) -> Floats:
        """Measured where it was, dispatched where not; the response to FCR and aFRR is no part of it."""
        followed_kw = np.nan_to_num(self.measured_kw) - np.nan_to_num(self.reserve_response_kw)
        return MeasuredMean(followed_kw, self.measured_share).over(self.dispatch.power_kw)

    @property
    def assumed_kwh(self) -> Floats:
        """What of the dispatched energy, either way, nothing was measured of."""
        return np.asarray(QUARTER_HOUR_H * (1.0 - self.measured_share) * np.abs(self.dispatch.power_kw))

    @property
    def deviation_kw(self) -> Floats:
        return np.asarray(self.counted_kw - self.dispatch.power_kw)

    @property
    def deviation_kwh(self) -> Floats:
        return np.asarray(QUARTER_HOUR_H * self.deviation_kw)

    @property
    def delivered_part(self) -> Floats:
        """Which part of what was asked was delivered, 0 to 1; NaN where nothing was asked."""
        asked_kw = self.dispatch.power_kw
        part = np.full(len(asked_kw), np.nan)
        np.divide(self.counted_kw, asked_kw, out=part, where=np.abs(asked_kw) > POWER_TOLERANCE_KW)
        return np.asarray(np.clip(part, 0.0, 1.0))

    @property
    def soc_drift(self) -> Floats:
        """Measured less planned, in percentage points."""
        return np.asarray(self.measured_soc - self.dispatch.state_of_charge_percentage)

    @property
    def deviates(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Where the battery did not do what it must, beyond what meters and balancing power that stands by explain."""
        stand_by_kw = self.dispatch.sum_kw(PartKind.FCR, PartKind.AFRR_POS, PartKind.AFRR_NEG)
        tolerated_kw = np.maximum(
            TOLERATED_SHARE * np.abs(self.dispatch.power_kw),
            TOLERATED_CAPACITY_SHARE_H * self.dispatch.capacity_kwh,
        )
        return self.dispatch.is_planned & (np.abs(self.deviation_kw) > tolerated_kw + stand_by_kw)


async def load_performance(db: Database, asset_key: int, first: int, end: int) -> Performance:
    dispatch = await load_dispatch(db, asset_key, first, end)
    return Performance(dispatch, await load_measurements(db, asset_key, first, end))


async def load_measurements(db: Database, asset_key: int, first: int, end: int) -> Measurements:
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


def _at_starts(series: Series, first: int, end: int) -> Floats:
    """The last value at or before each period's start, if it is not older than a quarter-hour."""
    starts_us = np.arange(first, end, dtype=np.int64) * PERIOD_US
    values = np.full(end - first, np.nan)
    places = np.searchsorted(series.times, starts_us, side="right") - 1
    known = places >= 0
    known[known] &= starts_us[known] - series.times[places[known]] <= PERIOD_US
    values[known] = series.values[places[known]]
    return values
