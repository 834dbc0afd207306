"""Traded and activated volumes of an asset in each delivery period."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np

from gridloom.market_calendar import PERIOD_S, calendar_edges_s, day_number, day_start, market_date
from gridloom.platform.database.pool import Database
from gridloom.settlements import store
from gridloom.settlements.measures import POSITION, FactSource, positions_of
from gridloom.settlements.period_aggregates import FloatArray

_TRADED: Final = positions_of(FactSource.WHOLESALE).start
_ACTIVATED: Final = positions_of(FactSource.AFRR_ENERGY).start


@dataclass(frozen=True, slots=True, eq=False)
class PeriodVolumes:
    """MWh; activations are signed, upward is export."""

    bought_mwh: FloatArray
    sold_mwh: FloatArray
    activated_mwh: FloatArray


async def read_period_volumes(
    db: Database, asset_key: int, first: int, end: int, as_of: datetime | None = None
) -> PeriodVolumes:
    """Periods are quarter-hours since 1970 in UTC; as of an instant, as known then."""
    trades = await _read_periods(db, FactSource.WHOLESALE, asset_key, first, end, as_of)
    activations = await _read_periods(db, FactSource.AFRR_ENERGY, asset_key, first, end, as_of)
    return volumes_of_sheets(trades, activations)


def volumes_of_sheets(trades: FloatArray, activations: FloatArray) -> PeriodVolumes:
    """From sheets with a row for each measure of the two sources."""
    return PeriodVolumes(
        trades[POSITION["buy_volume_mwh"] - _TRADED],
        trades[POSITION["sell_volume_mwh"] - _TRADED],
        activations[POSITION["afrr_pos_volume_mwh"] - _ACTIVATED]
        - activations[POSITION["afrr_neg_volume_mwh"] - _ACTIVATED],
    )


async def _read_periods(
    db: Database, source: FactSource, asset_key: int, first: int, end: int, as_of: datetime | None
) -> FloatArray:
    """A row for each of the source's measures."""
    count = positions_of(source).stop - positions_of(source).start
    values = np.zeros((count, max(0, end - first)))
    calendar_first, calendar_end = (edge // PERIOD_S for edge in calendar_edges_s())
    low, high = max(first, calendar_first), min(end, calendar_end)  # nothing can be settled outside
    if low >= high:
        return values
    first_day, last_day = day_number(low * PERIOD_S), day_number((high - 1) * PERIOD_S)
    days = [market_date(number) for number in range(first_day, last_day + 1)]
    sheets = await store.read_sheets(db, source, [asset_key] * len(days), days, as_of)
    start = day_start(first_day) // PERIOD_S
    whole = np.concatenate(sheets, axis=1)
    values[:, low - first : high - first] = whole[:, low - start : high - start]
    return values
