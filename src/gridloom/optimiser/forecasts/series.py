"""Forecasts of the intraday auctions and of capacity prices, from what was published before their gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

import numpy as np

from gridloom.kernel.balancing import BLOCK_START_HOURS
from gridloom.kernel.market_stages import (
    AUCTION_STAGES,
    INTRADAY_STAGES,
    RESERVE_STAGES,
    SERIES_OF_STAGE,
    STAGE_OF_SERIES,
    Stage,
    gate_of,
    known_day,
    traded_periods,
)
from gridloom.kernel.market_time import BLOCK_HOURS, PERIOD, block_window, period_count, period_number, period_start
from gridloom.kernel.window import Window
from gridloom.market_calendar import market_day_periods
from gridloom.optimiser.day_table import to_96_quarters
from gridloom.optimiser.forecasts.bands import BLOCK_QUARTERS, HISTORY_DAYS, PriceBand, find_band, forecast_blocks
from gridloom.optimiser.forecasts.holidays import day_type
from gridloom.optimiser.prices import prices_missing
from gridloom.optimiser.solving.programme import Floats
from gridloom.platform.database.pool import Database
from gridloom.reference_prices.store import read_period_prices

FORECAST_SERIES: Final = tuple(
    series for series, stage in STAGE_OF_SERIES.items() if stage in (*INTRADAY_STAGES, *RESERVE_STAGES)
)
CAPACITY_HISTORY_DAYS: Final = HISTORY_DAYS + 35
"""Before the first error that counts there are seven days of its kind."""
_JUST_BEFORE: Final = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, eq=False)
class SeriesForecast:
    """A price band of each of these spans, from what was known at `made_at`."""

    made_at: datetime
    spans: Sequence[Window]
    band: PriceBand


def knowledge_instant(stage: Stage, day: date, now: datetime) -> datetime:
    """The instant whose knowledge counts: now and, from the gate on, the last one before it."""
    return min(now, gate_of(stage, day) - _JUST_BEFORE)


async def forecast_series(
    db: Database, series: str, day: date, now: datetime, day_ahead: Floats | None = None
) -> SeriesForecast:
    """`day_ahead` are the day-ahead prices to go by where none are published yet. Raises PricesMissing."""
    stage = STAGE_OF_SERIES[series]
    made_at = knowledge_instant(stage, day, now)
    if stage.is_reserve:
        return await _forecast_capacity(db, series, stage, day, made_at)
    return await _forecast_auction(db, stage, day, made_at, day_ahead)


async def read_last_cleared(db: Database, stage: Stage, day: date, as_of: datetime) -> Floats:
    """Of each quarter-hour of the day the price of the last auction before this stage; not a number where none is
    published."""
    first, end = market_day_periods(day)
    return await _read_cleared_before(db, stage, day, first, end, as_of)


async def _forecast_auction(
    db: Database, stage: Stage, day: date, made_at: datetime, day_ahead: Floats | None
) -> SeriesForecast:
    day_first, day_end = market_day_periods(day)
    first, end = traded_periods(stage, day)
    last = await _read_cleared_before(db, stage, day, day_first, day_end, made_at)
    if day_ahead is not None:
        last = np.where(np.isnan(last), day_ahead, last)
    last = last[first - day_first : end - day_first]
    if np.isnan(last).any():
        raise prices_missing(SERIES_OF_STAGE[Stage.DAY_AHEAD], first + int(np.argmax(np.isnan(last))))
    history_first = market_day_periods(day - timedelta(days=HISTORY_DAYS))[0]
    earlier = await _read_cleared_before(db, stage, day, history_first, day_first, made_at)
    cleared = await read_period_prices(db, SERIES_OF_STAGE[stage], history_first, day_first, made_at)
    quarters = _split_days(cleared - earlier, day, HISTORY_DAYS)
    skipped = quarters.shape[1] - 48 if stage is Stage.IDA3 else 0
    band = find_band(_to_grid(last, skipped), quarters[:, skipped:], BLOCK_QUARTERS)
    spans = [Window(period_start(number), period_start(number) + PERIOD) for number in range(first, end)]
    return SeriesForecast(made_at, spans, _from_grid(band, last))


async def _read_cleared_before(db: Database, stage: Stage, day: date, first: int, end: int, as_of: datetime) -> Floats:
    """The latest of the auctions before the stage that has a price."""
    prices = np.full(end - first, np.nan)
    for earlier in AUCTION_STAGES[: AUCTION_STAGES.index(stage)]:
        series = SERIES_OF_STAGE[earlier]
        known_end = market_day_periods(known_day(stage, series, day))[1]
        found = await read_period_prices(db, series, first, min(end, known_end), as_of)
        prices[: len(found)] = np.where(np.isnan(found), prices[: len(found)], found)
    return prices


def _split_days(values: Floats, until: date, days: int) -> Floats:
    """By market day, on the grid of 96 quarter-hours."""
    counts = [period_count(until - timedelta(days=back)) for back in range(days, 0, -1)]
    return np.array([to_96_quarters(day) for day in np.split(values, np.cumsum(counts)[:-1])])


def _to_grid(values: Floats, skipped: int) -> Floats:
    return values if skipped else to_96_quarters(values)


def _from_grid(band: PriceBand, middle: Floats) -> PriceBand:
    """The band of 96 quarter-hours around a day's true ones."""
    if len(band.p50) == len(middle):
        return band
    positions = np.minimum(np.arange(len(middle)) * len(band.p50) // len(middle), len(band.p50) - 1)
    return PriceBand(middle + (band.p10 - band.p50)[positions], middle, middle + (band.p90 - band.p50)[positions])


async def _forecast_capacity(db: Database, series: str, stage: Stage, day: date, made_at: datetime) -> SeriesForecast:
    values = await read_block_prices(db, series, day, CAPACITY_HISTORY_DAYS, made_at)
    weekend = np.array([_is_weekend(day - timedelta(days=back)) for back in range(len(values), 0, -1)])
    band = forecast_blocks(values, weekend, _is_weekend(day))
    if band is None:
        raise prices_missing(series, market_day_periods(day - timedelta(days=1))[0])
    spans = [block_window(day, hour, hour + BLOCK_HOURS) for hour in BLOCK_START_HOURS]
    return SeriesForecast(made_at, spans, band)


async def read_block_prices(db: Database, series: str, until: date, days: int, as_of: datetime) -> Floats:
    """Of so many days before `until`, a row each, the price of each four-hour block; not a number where none is."""
    first, end = market_day_periods(until - timedelta(days=days))[0], market_day_periods(until)[0]
    prices = await read_period_prices(db, series, first, end, as_of)
    starts = [
        period_number(block_window(until - timedelta(days=back), hour, hour + BLOCK_HOURS).start) - first
        for back in range(days, 0, -1)
        for hour in BLOCK_START_HOURS
    ]
    return np.asarray(prices[starts].reshape(days, len(BLOCK_START_HOURS)))


def _is_weekend(day: date) -> bool:
    """Weekends and holidays."""
    return day_type(day) > 0
