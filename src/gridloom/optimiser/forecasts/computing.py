"""Unpublished forecasts: computed once, in fair turns, and stored until a price that they use changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from gridloom.kernel.market_time import market_day_of, market_day_window, period_number
from gridloom.market_calendar import Floats
from gridloom.optimiser.forecasts import store
from gridloom.optimiser.forecasts.formulas import HISTORY_DAYS, MAX_DAYS_AHEAD, Forecast, forecast_day
from gridloom.optimiser.prices import DAY_AHEAD, load_day_table, prices_missing
from gridloom.optimiser.solver_queue import SolverQueue
from gridloom.platform.database.commit import transaction
from gridloom.platform.database.pool import Database
from gridloom.platform.http import Request
from gridloom.reference_prices.model import PublishedPrice
from gridloom.reference_prices.store import lock_prices_as_they_are


async def compute_forecast(request: Request, db: Database, day: date) -> Forecast:
    """The stored forecast of a day, else a new one when the caller's organisation has its turn."""
    stored = await store.read_computed(db, DAY_AHEAD, day)
    if stored is not None:
        return stored
    async with request.resources[SolverQueue].turn(request) as turn, transaction(request.pool) as own_db:
        # What is stored rests on the current prices: none changes before it is committed.
        await lock_prices_as_they_are(own_db)
        await store.lock_day(own_db, day)
        stored = await store.read_computed(own_db, DAY_AHEAD, day)  # another request may have computed it meanwhile
        if stored is not None:
            return stored
        history = await load_day_table(own_db, DAY_AHEAD, day, HISTORY_DAYS)
        if not len(history) or (day - history.end).days >= MAX_DAYS_AHEAD:
            raise prices_missing(DAY_AHEAD, period_number(market_day_window(_first_needed(history.end, day)).start))
        forecast = await turn.solve(lambda _deadline: forecast_day(history, day))
        await store.store_computed(own_db, DAY_AHEAD, forecast)
        return forecast


def _first_needed(known_until: date, day: date) -> date:
    return known_until if known_until > day - timedelta(days=HISTORY_DAYS) else day - timedelta(days=1)


async def delete_computed_forecasts(db: Database, prices: Sequence[PublishedPrice]) -> None:
    """Those of later days than the first whose price has changed."""
    starts = [price.start for price in prices if price.series == DAY_AHEAD]
    if starts:
        await store.delete_computed_after(db, DAY_AHEAD, market_day_of(min(starts)))


async def read_median_prices(db: Database, day: date) -> Floats | None:
    """Of each quarter-hour of a delivery day, as they were published; None where no forecast was."""
    published = await store.read_forecast(db, DAY_AHEAD, day)
    return None if published is None else published[0].p50
