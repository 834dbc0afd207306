"""What was measured of a battery against what it was dispatched for, quarter-hour by quarter-hour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gridloom.database.pool import Database
from gridloom.delivery.dispatch.reading import StandingDispatch, load_dispatch
from gridloom.delivery.model import Floats, PartKind
from gridloom.kernel.market_time import period_start
from gridloom.kernel.resolution import Resolution
from gridloom.kernel.units import POWER_TOLERANCE_KW, QUARTER_HOUR_H
from gridloom.market_calendar import PERIOD_S
from gridloom.monitoring import store as monitoring
from gridloom.monitoring.model import EMPTY, Series, microseconds
from gridloom.monitoring.reading.aggregation import HOLD, Aggregation, aggregate
from gridloom.monitoring.reading.series import read

ACTIVE_POWER: Final = "active_power"
STATE_OF_CHARGE: Final = "state_of_charge"
TOLERATED_SHARE: Final = 0.05
TOLERATED_CAPACITY_SHARE_H: Final = 0.02
"""Of what a battery holds, per hour: what a meter and a controller may be off by even where little is asked."""


@dataclass(frozen=True, slots=True, eq=False)
class Performance:
    """Over the periods of a dispatch; what was not measured is NaN. The state of charge is at each period's start."""

    dispatch: StandingDispatch
    measured_kw: Floats
    measured_soc: Floats

    @property
    def deviation_kw(self) -> Floats:
        return np.asarray(self.measured_kw - self.dispatch.power_kw)

    @property
    def deviation_kwh(self) -> Floats:
        return np.asarray(QUARTER_HOUR_H * self.deviation_kw)

    @property
    def delivered_part(self) -> Floats:
        """Which part of what was asked was delivered, 0 to 1; NaN where nothing was asked or measured."""
        asked_kw = self.dispatch.power_kw
        part = np.full(len(asked_kw), np.nan)
        np.divide(self.measured_kw, asked_kw, out=part, where=np.abs(asked_kw) > POWER_TOLERANCE_KW)
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
        with np.errstate(invalid="ignore"):
            return self.dispatch.is_planned & (np.abs(self.deviation_kw) > tolerated_kw + stand_by_kw)


async def load_performance(db: Database, asset_key: int, first: int, end: int) -> Performance:
    dispatch = await load_dispatch(db, asset_key, first, end)
    ids = await monitoring.signal_ids(db, asset_key)
    wanted = [ids[name] for name in (ACTIVE_POWER, STATE_OF_CHARGE) if name in ids]
    start_us, end_us = microseconds(period_start(first)), microseconds(period_start(end))
    before_us = int(HOLD.total_seconds() * 1_000_000)
    found = await read(db, asset_key, wanted, start_us - before_us, end_us) if wanted else {}
    power = found.get(ids.get(ACTIVE_POWER, -1), EMPTY)
    charge = found.get(ids.get(STATE_OF_CHARGE, -1), EMPTY)
    return Performance(
        dispatch,
        _by_period(power, Aggregation.TIME_WEIGHTED_AVG, start_us, end_us, first, end),
        _at_starts(charge, first, end),
    )


def _by_period(series: Series, how: Aggregation, start_us: int, end_us: int, first: int, end: int) -> Floats:
    values = np.full(end - first, np.nan)
    buckets = aggregate(series, Resolution.QUARTER_HOUR, how, start_us, end_us)
    places = buckets.times // (PERIOD_S * 1_000_000) - first
    values[places] = buckets.values
    return values


def _at_starts(series: Series, first: int, end: int) -> Floats:
    """The last value at or before each period's start, if it is not older than a quarter-hour."""
    starts_us = np.arange(first, end, dtype=np.int64) * (PERIOD_S * 1_000_000)
    values = np.full(end - first, np.nan)
    places = np.searchsorted(series.times, starts_us, side="right") - 1
    known = places >= 0
    known[known] &= starts_us[known] - series.times[places[known]] <= PERIOD_S * 1_000_000
    values[known] = series.values[places[known]]
    return values
