"""What telemetry says of a battery's quarter-hours."""

from __future__ import annotations

from typing import Final

import numpy as np

from gridloom.database.pool import Database
from gridloom.delivery.performance.measured import PERIOD_US, Measurements, measure
from gridloom.kernel.market_time import period_start
from gridloom.market_calendar import Floats
from gridloom.monitoring import store as monitoring
from gridloom.monitoring.market_days import day_number, day_start
from gridloom.monitoring.model import EMPTY, SignalSeries, microseconds
from gridloom.monitoring.query.series import read

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
