"""Reference prices as arrays of quarter-hours and tables of market days."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final

import numpy as np

from gridloom.kernel.market_stages import Stage, gate_offset
from gridloom.kernel.market_time import format_instant, market_day_window, period_number, period_start
from gridloom.kernel.problem import Problem
from gridloom.market_calendar import PERIOD_S
from gridloom.optimiser.day_table import DayTable, quarters_of, table_of
from gridloom.optimiser.solving.programme import Floats
from gridloom.platform.database.pool import Database
from gridloom.reference_prices.store import read_price_arrays
from gridloom.reference_prices.version_store import read_prices_changed_after_gate

DAY_AHEAD: Final = "DAY_AHEAD_DE_LU"
_MAX_PRICE: Final = timedelta(days=1)
_DAY: Final = timedelta(days=1)


class PricesMissing(Problem, status=422, title="Prices are missing"):
    """The request needs prices that are missing.

    `firstMissingPeriod` is the start of the first quarter-hour without a price. Load prices (`POST /reference-prices`,
    `gridloom import day-ahead`), ask for a window that has them, or send prices along where the operation takes them.
    """


def prices_missing(series: str, period: int) -> PricesMissing:
    instant = format_instant(period_start(period))
    return PricesMissing(f"{series} has no price for the quarter-hour {instant}.", firstMissingPeriod=instant)


async def load_quarters(db: Database, series: str, first: int, end: int) -> Floats:
    """The price of each period from `first` up to but not `end`; not a number where there is none."""
    rows = await read_price_arrays(db, series, period_start(first) - _MAX_PRICE, period_start(end))
    return await asyncio.to_thread(spread_over_quarters, *rows, first, end)


def spread_over_quarters(
    starts_s: Sequence[int], ends_s: Sequence[int], prices: Sequence[float], first: int, end: int
) -> Floats:
    """Prices of any length on the grid of quarter-hours; where two hold at once, the shorter one counts."""
    quarters = np.full(end - first, np.nan)
    starts, ends = np.asarray(starts_s, dtype=np.int64) // PERIOD_S, np.asarray(ends_s, dtype=np.int64) // PERIOD_S
    values, lengths = np.asarray(prices, dtype=np.float64), ends - starts
    for length in np.unique(lengths)[::-1].tolist():
        chosen = lengths == length
        indices = (starts[chosen][:, None] + np.arange(length)).ravel() - first
        inside = (indices >= 0) & (indices < len(quarters))
        quarters[indices[inside]] = np.repeat(values[chosen], length)[inside]
    return quarters


async def load_day_table(db: Database, series: str, until: date, days: int) -> DayTable:
    """The market days before `until` that have all their prices, without a gap, at most `days` of them.

    Prices of `until` itself and of later days are not even read.
    """
    end = market_day_window(until).start
    rows = await read_price_arrays(db, series, market_day_window(until - timedelta(days=days)).start, end)
    return await asyncio.to_thread(_build_table, rows, until, days)


async def load_known_table(db: Database, series: str, table: DayTable) -> DayTable:
    """The same days as they were known when the day after each was planned: without corrections that came later."""
    days = [table.true_day(index) for index in range(len(table))]
    former = await put_former_prices(db, series, table.first, days, _DAY + gate_offset(Stage.DAY_AHEAD))
    return table if former is None else await asyncio.to_thread(table_of, table.first, former)


async def put_former_prices(
    db: Database, series: str, first: date, days: Sequence[Floats], gate: timedelta
) -> list[Floats] | None:
    """The prices of these days as they stood at a gate, counted from each day's midnight; None if none has changed."""
    end = first + timedelta(days=len(days))
    rows = await read_prices_changed_after_gate(
        db, series, market_day_window(first).start, market_day_window(end).start, gate
    )
    if not rows[0]:
        return None
    counts = [len(day) for day in days]
    begins = period_number(market_day_window(first).start)
    former = np.split(spread_over_quarters(*rows, begins, begins + sum(counts)), np.cumsum(counts)[:-1])
    return [np.where(np.isnan(was), day, was) for was, day in zip(former, days, strict=True)]


def _build_table(rows: tuple[list[int], list[int], list[float]], until: date, days: int) -> DayTable:
    counts = [quarters_of(until - timedelta(days=back)) for back in range(days, 0, -1)]
    end = period_number(market_day_window(until).start)
    quarters = spread_over_quarters(*rows, end - sum(counts), end)
    cut = np.split(quarters, np.cumsum(counts)[:-1])
    last = len(cut)
    while last and np.isnan(cut[last - 1]).any():
        last -= 1
    first = last
    while first and not np.isnan(cut[first - 1]).any():
        first -= 1
    return table_of(until - timedelta(days=days - first), cut[first:last])
