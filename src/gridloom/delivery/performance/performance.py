"""A battery's measured power against its dispatch, quarter-hour by quarter-hour."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Final

import numpy as np

from gridloom.delivery.dispatch.reading import DispatchSeries, load_dispatch
from gridloom.delivery.model import RESERVE_KINDS
from gridloom.delivery.performance import store
from gridloom.delivery.performance.measured import MeasuredMean, Measurements, read_telemetry
from gridloom.delivery.performance.recording import unpack_days
from gridloom.kernel.market_time import market_days_in, period_start
from gridloom.kernel.units import POWER_TOLERANCE_KW, QUARTER_HOUR_H
from gridloom.kernel.window import Window
from gridloom.market_calendar import Floats, market_day_periods
from gridloom.platform.database.pool import Database

ONE_DAY: Final = timedelta(days=1)
TOLERATED_SHARE: Final = 0.05
TOLERATED_CAPACITY_SHARE_H: Final = 0.02
"""Of what a battery holds, per hour: what a meter and a controller may be off by even where little is asked."""


@dataclass(frozen=True, slots=True, eq=False)
class Performance:
    """Over the periods of a dispatch. What was not measured counts as dispatched."""

    dispatch: DispatchSeries
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
        """The battery's response to FCR and aFRR within the measured power; NaN where that was not measured."""
        return self.measured.reserve_kw.mean

    @property
    def counted_kw(self) -> Floats:
        """Measured where it was, dispatched where not; the response to FCR and aFRR is no part of it."""
        followed_kw = np.nan_to_num(self.measured_kw) - np.nan_to_num(self.reserve_response_kw)
        return MeasuredMean(followed_kw, self.measured_share).over(self.dispatch.power_kw)

    @property
    def assumed_kwh(self) -> Floats:
        """The dispatched energy, either way, without a measurement."""
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
        """Where the battery did not do what it must, beyond what meters and reserved balancing power explain."""
        reserve_kw = self.dispatch.sum_kw(*RESERVE_KINDS)
        tolerated_kw = np.maximum(
            TOLERATED_SHARE * np.abs(self.dispatch.power_kw),
            TOLERATED_CAPACITY_SHARE_H * self.dispatch.capacity_kwh,
        )
        return self.dispatch.is_planned & (np.abs(self.deviation_kw) > tolerated_kw + reserve_kw)


async def load_performance(
    db: Database, asset_key: int, first: int, end: int, as_of: datetime | None = None
) -> Performance:
    """As of an instant: by the dispatch and by what was recorded as measured until then."""
    dispatch = await load_dispatch(db, asset_key, first, end, as_of)
    return Performance(dispatch, await load_measurements(db, asset_key, first, end, as_of))


async def load_measurements(
    db: Database, asset_key: int, first: int, end: int, as_of: datetime | None = None
) -> Measurements:
    """As recorded when a day's telemetry was compacted; days that have newer points, or no record, from telemetry.

    As of an instant, only what was recorded until then.
    """
    if first >= end:
        return await read_telemetry(db, asset_key, first, end)
    days = list(market_days_in(Window(period_start(first), period_start(end))))
    # Before the records: what is compacted between the two is in a record then.
    pending = await store.read_segment_days(db, asset_key, days[0] - ONE_DAY, days[-1]) if as_of is None else set()
    bodies = await store.read_measured_days(db, asset_key, days[0], days[-1], as_of)
    if as_of is not None:
        return await asyncio.to_thread(unpack_days, bodies, first, end)
    # The first state of charge of a day may be one of the day before.
    is_live = [day not in bodies or day in pending or day - ONE_DAY in pending for day in days]
    parts = []
    for is_read, span in groupby(zip(is_live, days, strict=True), key=itemgetter(0)):
        _, some = zip(*span, strict=True)
        low, high = max(first, market_day_periods(some[0])[0]), min(end, market_day_periods(some[-1])[1])
        known = {day: bodies[day] for day in some if day in bodies}
        part = await asyncio.to_thread(unpack_days, known, low, high)
        parts.append((await read_telemetry(db, asset_key, low, high)).completed_by(part) if is_read else part)
    return Measurements.join(parts)
