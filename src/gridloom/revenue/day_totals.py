"""Total revenue of many assets by market day, each by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from gridloom.kernel.market_time import Resolution, market_day_window
from gridloom.market_calendar import Ints, day_start, market_date
from gridloom.platform.database.pool import Database
from gridloom.revenue import store
from gridloom.revenue.accruals import auction_sums, tolling_sums
from gridloom.revenue.categories import CATEGORIES
from gridloom.revenue.formulas import FloatArray, Sums
from gridloom.revenue.grid import grid_of
from gridloom.revenue.model import RatedPowerSteps, SecondsSpan
from gridloom.settlements.measures import MEASURES

_TOTAL: Final = CATEGORIES["revenue_total_revenue"].formula


async def read_day_totals(
    db: Database, keys: Sequence[int], days: Ints, ratings: dict[int, RatedPowerSteps]
) -> dict[int, FloatArray]:
    """EUR of each asset's own facts on consecutive market days. `ratings` are those of the assets."""
    names = [measure.name for measure in MEASURES]
    stored = await store.read_day_measures(db, keys, days)
    start, end = market_day_window(market_date(int(days[0]))).start, market_day_window(market_date(int(days[-1]))).end
    tolls = await store.read_tolls(db, keys, start, end, None)
    results = await store.read_auction_results(db, keys, start, end, None)
    span = SecondsSpan(float(day_start(days[0])), float(day_start(days[-1] + 1)))
    buckets = grid_of(days, Resolution.DAY, span).buckets
    totals = {}
    for key in keys:
        sums = dict(zip(names, stored.get(key, np.zeros((len(names), len(days)))), strict=True))
        sums |= tolling_sums([one for one in tolls if one.asset_key == key], ratings, {key: 1.0}, buckets)
        sums |= auction_sums([one for one in results if one.asset_key == key], ratings, {key: 1.0}, buckets)
        totals[key] = Sums(sums).of(_TOTAL)
    return totals
