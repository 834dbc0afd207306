"""Published prices of every stage by market day, as past days are replayed with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np

from gridloom.kernel.balancing import BLOCK_START_HOURS
from gridloom.kernel.market_stages import (
    AUCTION_STAGES,
    INTRADAY_STAGES,
    RESERVE_STAGES,
    SERIES_OF_STAGE,
    STAGE_OF_SERIES,
    Stage,
    gate_offset,
)
from gridloom.kernel.market_time import BLOCK_HOURS, block_window, market_day_window, period_number
from gridloom.optimiser.day_table import DayTable, from_96_quarters, quarters_of, to_96_quarters
from gridloom.optimiser.forecasts.bands import expect_same_kind
from gridloom.optimiser.forecasts.holidays import day_type
from gridloom.optimiser.forecasts.series import CAPACITY_HISTORY_DAYS
from gridloom.optimiser.prices import put_former_prices, spread_over_quarters
from gridloom.optimiser.solving.programme import Bools, Floats
from gridloom.platform.database.pool import Database
from gridloom.reference_prices.store import read_price_arrays


@dataclass(frozen=True, slots=True, eq=False)
class MarketHistory:
    """The day-ahead table, and beside it by its days the other auctions (96 columns) and capacity (6 columns).

    Not a number where nothing is published. `known` has prices that were corrected later as they stood at the gate of
    a stage that goes by them: of a delivery day's auctions before it, and of capacity the gate for the day after.
    """

    table: DayTable
    auctions: Mapping[Stage, Floats]
    capacity: Mapping[str, Floats]
    is_weekend: Bools
    known: Mapping[tuple[Stage, str], Floats] = field(default_factory=dict)

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
        day = self.table.first + timedelta(days=index)
        for auction in reversed(AUCTION_STAGES[: AUCTION_STAGES.index(stage)]):
            former = self.known.get((stage, SERIES_OF_STAGE[auction]))
            prices = self.auction_day(auction, index) if former is None else from_96_quarters(former[index], day)
            if prices is not None and not np.isnan(prices).any():
                return prices
        return self.table.true_day(index)

    def capacity_day(self, series: str, index: int, *, as_known: bool = False) -> Floats | None:
        prices = (self._known_capacity(series) if as_known else self.capacity[series])[index]
        return None if np.isnan(prices).any() else np.asarray(prices)

    def expect_capacity(self, series: str, index: int, ahead: int = 0) -> Floats | None:
        """The capacity prices of a day, or of one after it, as they are to be expected from the days before it."""
        first = max(0, index - CAPACITY_HISTORY_DAYS)
        known = self._known_capacity(series)[first:index]
        weekend = bool(day_type(self.table.first + timedelta(days=index + ahead)) > 0)
        return expect_same_kind(known, self.is_weekend[first:index] == weekend)

    def _known_capacity(self, series: str) -> Floats:
        return self.known.get((STAGE_OF_SERIES[series], series), self.capacity[series])


HALF_DAY = 48
_DAY = timedelta(days=1)


async def load_market_history(db: Database, table: DayTable, stages: frozenset[Stage], first: date) -> MarketHistory:
    """The prices of these stages beside the table; auctions from the day `first` on, capacity as far back as bands
    look."""
    auctions, capacity = {}, {}
    known: dict[tuple[Stage, str], Floats] = {}
    if stages & set(INTRADAY_STAGES):
        cleared = {Stage.DAY_AHEAD: [table.true_day(row) for row in range(len(table))]}
        for stage in INTRADAY_STAGES:
            cleared[stage] = await _load_days(db, SERIES_OF_STAGE[stage], table, first)
            auctions[stage] = np.array([to_96_quarters(day) for day in cleared[stage]])
        known |= await _load_known_auctions(db, table.first, cleared, stages)
    for series, stage in STAGE_OF_SERIES.items():
        if stage in RESERVE_STAGES and stage in stages:
            since = first - timedelta(days=CAPACITY_HISTORY_DAYS)
            days = await _load_days(db, series, table, since)
            capacity[series] = _take_blocks(table.first, days)
            former = await put_former_prices(db, series, table.first, days, _DAY + gate_offset(stage))
            if former is not None:
                known[stage, series] = _take_blocks(table.first, former)
    weekend = np.array([day_type(table.first + timedelta(days=row)) > 0 for row in range(len(table))], dtype=bool)
    return MarketHistory(table, auctions, capacity, weekend, known)


async def _load_known_auctions(
    db: Database, first: date, cleared: Mapping[Stage, list[Floats]], stages: frozenset[Stage]
) -> dict[tuple[Stage, str], Floats]:
    """Of each intraday stage the auctions before it, as they stood at its gate, where they were corrected later."""
    known = {}
    for stage in INTRADAY_STAGES:
        for earlier in AUCTION_STAGES[: AUCTION_STAGES.index(stage)] if stage in stages else ():
            series = SERIES_OF_STAGE[earlier]
            former = await put_former_prices(db, series, first, cleared[earlier], gate_offset(stage))
            if former is not None:
                known[stage, series] = np.array([to_96_quarters(day) for day in former])
    return known


def _take_blocks(first: date, days: list[Floats]) -> Floats:
    return np.array([day[block_starts(first + timedelta(days=row))] for row, day in enumerate(days)])


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
