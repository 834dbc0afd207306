"""The prices of an optimisation: a published series, the forecast, or values sent along."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import numpy as np

from gridloom.kernel.market_time import market_day_of, market_day_window, period_number, period_start
from gridloom.kernel.problem import BadRequest, FieldError
from gridloom.market_calendar import period_numbers
from gridloom.optimiser.day_table import from_96_quarters
from gridloom.optimiser.forecasts.formulas import HISTORY_DAYS, MAX_DAYS_AHEAD, forecast_days
from gridloom.optimiser.prices import DAY_AHEAD, load_day_table, load_quarters, prices_missing
from gridloom.optimiser.schedules.wire import NewPrice, PricesAsked
from gridloom.optimiser.solving.programme import Floats
from gridloom.platform.database.pool import Database
from gridloom.reference_prices.model import SERIES

MAX_DEFAULT: Final = timedelta(days=31)


@dataclass(frozen=True, slots=True, eq=False)
class PriceCurve:
    """EUR/MWh of each period from `first` on; `until` is where published prices end, if they do within."""

    first: int
    values: Floats
    until: datetime | None

    def between(self, first: int, end: int) -> Floats:
        return self.values[first - self.first : end - self.first]


def check_asked(asked: PricesAsked) -> None:
    given = [name for name in ("series", "forecast", "values") if getattr(asked, name) not in (None, False)]
    if len(given) != 1:
        raise BadRequest(
            "Prices come from a series, from the forecast or with the request: exactly one of them.",
            [FieldError("/prices", "Expected one of series, forecast: true and values.")],
        )
    if asked.series is not None and (asked.series not in SERIES or SERIES[asked.series].unit != "EUR/MWh"):
        names = ", ".join(name for name, series in SERIES.items() if series.unit == "EUR/MWh")
        raise BadRequest(
            f"{asked.series} is no series of energy prices.",
            [FieldError("/prices/series", f"is not one of {names}")],
        )


async def load_prices(db: Database, asked: PricesAsked, first: int, end: int | None, latest: int) -> PriceCurve:
    """The prices from `first` to `end` or, without one, as far as they go before `latest`; never a hole in between."""
    if asked.values is not None:
        prices = _sent_prices(asked.values, first, end, latest)
    elif asked.series is not None:
        stop = end or min(latest, first + MAX_DEFAULT // timedelta(minutes=15))
        prices = PriceCurve(first, await load_quarters(db, asked.series, first, stop), None)
    else:
        prices = await _forecast_prices(db, first, end, latest)
    known = int(np.argmax(np.isnan(prices.values))) if np.isnan(prices.values).any() else len(prices.values)
    if known == len(prices.values) and known:
        return prices if prices.until else PriceCurve(first, prices.values, period_start(first + known))
    if end is not None or known == 0:
        raise prices_missing(
            asked.series or ("prices.values" if asked.values is not None else DAY_AHEAD), first + known
        )
    return PriceCurve(first, prices.values[:known], period_start(first + known))


def _sent_prices(values: Sequence[NewPrice], first: int, end: int | None, latest: int) -> PriceCurve:
    numbers, on_grid = period_numbers([value.time for value in values])
    wrong = np.flatnonzero(~on_grid)[:50].tolist()
    if wrong:
        raise BadRequest(
            "Prices are for quarter-hours.",
            [FieldError(f"/prices/values/{index}/time", "Expected a time on a 15-minute boundary.") for index in wrong],
        )
    stop = end or min(latest, int(numbers.max(initial=first - 1)) + 1)
    filled = np.full(max(0, stop - first), np.nan)
    inside = (numbers >= first) & (numbers < stop)
    filled[numbers[inside] - first] = np.array([value.price for value in values])[inside]
    return PriceCurve(first, filled, None)


async def _forecast_prices(db: Database, first: int, end: int | None, latest: int) -> PriceCurve:
    """Published prices as far as they go; then whole days forecast from them, one of them unasked."""
    begins = market_day_of(period_start(first))
    last_known = begins + timedelta(days=40)
    table = await load_day_table(db, DAY_AHEAD, last_known, HISTORY_DAYS + 40)
    if not len(table) or (begins - table.end).days >= MAX_DAYS_AHEAD:
        raise prices_missing(DAY_AHEAD, period_number(market_day_window(table.end if len(table) else begins).start))
    stop = end or min(latest, period_number(market_day_window(max(table.end, begins) + timedelta(days=1)).start))
    last = market_day_of(period_start(max(stop, first + 1) - 1))
    days = (last - table.end).days + 1
    if days > MAX_DAYS_AHEAD:
        raise prices_missing(
            DAY_AHEAD, period_number(market_day_window(table.end + timedelta(days=MAX_DAYS_AHEAD)).start)
        )
    expected = await asyncio.to_thread(forecast_days, table.last(HISTORY_DAYS), days) if days > 0 else []
    first_day = min(begins, table.end)
    known = [table.true_day(index) for index in range(max(0, table.index_of(first_day)), len(table))]
    known_first = period_number(market_day_window(max(first_day, table.first)).start)
    # Where a day before those of the table lacks a price.
    before = await load_quarters(db, DAY_AHEAD, first, known_first) if first < known_first else np.empty(0)
    ahead = [from_96_quarters(quarters, table.end + timedelta(days=number)) for number, quarters in enumerate(expected)]
    values = np.concatenate([before, *known, *ahead])
    offset = max(0, first - known_first)
    return PriceCurve(first, values[offset : offset + stop - first], market_day_window(table.end).start)
