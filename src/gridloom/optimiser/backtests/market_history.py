"""Published prices of every stage by market day, as past days are replayed with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from gridloom.kernel.balancing import BLOCK_START_HOURS
from gridloom.kernel.market_stages import AUCTION_STAGES, RESERVE_STAGES, SERIES_OF_STAGE, STAGE_OF_SERIES, Stage
from gridloom.kernel.market_time import BLOCK_HOURS, block_window, market_day_window, period_number
from gridloom.optimiser.day_table import DayTable, from_96_quarters, quarters_of, to_96_quarters
from gridloom.optimiser.forecasts.bands import expect_same_kind
from gridloom.optimiser.forecasts.holidays import day_type
from gridloom.optimiser.forecasts.series import CAPACITY_HISTORY_DAYS
from gridloom.optimiser.prices import spread_over_quarters
from gridloom.optimiser.solving.programme import Bools, Floats
from gridloom.platform.database.pool import Database
from gridloom.reference_prices.store import read_price_arrays


@dataclass(frozen=True, slots=True, eq=False)
class MarketHistory:
    """The day-ahead table, and beside it by its days the other auctions (96 columns) and capacity (6 columns).

    Not a number where nothing is published.
    """

    table: DayTable
    auctions: Mapping[Stage, Floats]
    capacity: Mapping[str, Floats]
    is_weekend: Bools

    def auction_day(self, stage: Stage, index: int) -> Floats | None:
        """The prices of an auction on a day, its true quarter-hours; None where some are missing.

        Those of the third intraday auction are of the second half of the day alone.
        """
        if stage is Stage.DAY_AHEAD:
            return self.table.true_day(index)
        quarters = self.auctions.get(stage)
        if quarters is None:
            return None
        prices = from_96_quarters(quarters[index], self.table.first + timedelta(days=index))
        prices = prices[-HALF_DAY:] if stage is Stage.IDA3 else prices
        return None if np.isnan(prices).any() else prices

    def last_cleared(self, stage: Stage, index: int) -> Floats:
        """The last prices known at the gate of an intraday auction, of the whole day."""
        earlier = AUCTION_STAGES[1 : AUCTION_STAGES.index(stage)]
        for auction in reversed(earlier):
            prices = self.auction_day(auction, index)
            if prices is not None:
                return prices
        return self.table.true_day(index)

    def capacity_day(self, series: str, index: int) -> Floats | None:
        prices = self.capacity[series][index]
        return None if np.isnan(prices).any() else np.asarray(prices)

    def expect_capacity(self, series: str, index: int, ahead: int = 0) -> Floats | None:
        """The capacity prices of a day, or of one after it, as they are to be expected from the days before it."""
        first = max(0, index - CAPACITY_HISTORY_DAYS)
        known = self.capacity[series][first:index]
        weekend = bool(day_type(self.table.first + timedelta(days=index + ahead)) > 0)
        return expect_same_kind(known, self.is_weekend[first:index] == weekend)


HALF_DAY = 48


async def load_market_history(db: Database, table: DayTable, stages: frozenset[Stage], first: date) -> MarketHistory:
    """The prices of these stages beside the table; auctions from the day `first` on, capacity as far back as bands
    look."""
    auctions = {}
    if stages & set(AUCTION_STAGES[1:]):
        for stage in AUCTION_STAGES[1:]:
            quarters = await _load_days(db, SERIES_OF_STAGE[stage], table, first)
            auctions[stage] = np.array([to_96_quarters(day) for day in quarters])
    capacity = {}
    for series, stage in STAGE_OF_SERIES.items():
        if stage in RESERVE_STAGES and stage in stages:
            since = first - timedelta(days=CAPACITY_HISTORY_DAYS)
            days = await _load_days(db, series, table, since)
            capacity[series] = np.array(
                [day[block_starts(table.first + timedelta(days=row))] for row, day in enumerate(days)]
            )
    weekend = np.array([day_type(table.first + timedelta(days=row)) > 0 for row in range(len(table))], dtype=bool)
    return MarketHistory(table, auctions, capacity, weekend)


async def _load_days(db: Database, series: str, table: DayTable, since: date) -> list[Floats]:
    """Every day of the table; those before `since` are not even read."""
    since = max(since, table.first)
    rows = await read_price_arrays(db, series, market_day_window(since).start, market_day_window(table.end).start)
    begins, ends = (period_number(market_day_window(day).start) for day in (table.first, table.end))
    quarters = spread_over_quarters(*rows, begins, ends)
    counts = [quarters_of(table.first + timedelta(days=row)) for row in range(len(table))]
    return np.split(quarters, np.cumsum(counts)[:-1])


def block_starts(day: date) -> list[int]:
    """The first quarter-hour of each four-hour block, counted in its day."""
    begins = market_day_window(day).start
    return [
        period_number(block_window(day, hour, hour + BLOCK_HOURS).start) - period_number(begins)
        for hour in BLOCK_START_HOURS
    ]
