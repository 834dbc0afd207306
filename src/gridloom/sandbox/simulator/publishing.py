"""Published market data, as an operator imports it: rows of reference prices."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import msgspec
import numpy as np

from gridloom.kernel.balancing import AFRR_DIRECTIONS
from gridloom.kernel.market_time import PERIOD
from gridloom.sandbox.simulator.api_session import ApiSession, written
from gridloom.sandbox.simulator.market.balancing import afrr_capacity_prices, blocks_of, fcr_prices_eur_mw
from gridloom.sandbox.simulator.market.calendar import periods_of
from gridloom.sandbox.simulator.market.market_data import MarketData
from gridloom_client import JSON

Row = dict[str, Any]


async def publish(operator: ApiSession, rows: Sequence[Row]) -> None:
    """The same rows again change nothing."""
    if rows:
        await operator.send("/reference-prices", msgspec.json.encode(rows), JSON)


def price_rows(series: str, periods: Sequence[datetime], prices: np.ndarray) -> list[Row]:
    return [
        {"series": series, "start": written(start), "end": written(start + PERIOD), "price": float(price)}
        for start, price in zip(periods, prices, strict=True)
    ]


def fcr_rows(seed: int, day: date) -> list[Row]:
    """Per hour of the block, as reference prices are; the auction publishes them per block."""
    return [
        _block_row("FCR_DE", block.window.start, block.window.end, price / block.length_h)
        for block, price in zip(blocks_of(day), fcr_prices_eur_mw(seed, day).tolist(), strict=True)
    ]


def afrr_rows(seed: int, day: date) -> list[Row]:
    rows = []
    for direction in AFRR_DIRECTIONS:
        for kind, prices in zip(("AVERAGE", "MARGINAL"), afrr_capacity_prices(seed, day, direction), strict=True):
            for block, price in zip(blocks_of(day), prices.tolist(), strict=True):
                series = f"AFRR_CAPACITY_{direction}_DE_{kind}"
                rows.append(_block_row(series, block.window.start, block.window.end, price))
    return rows


def continuous_rows(market_data: MarketData, day: date, over: slice) -> list[Row]:
    """Of quarter-hours that are over: the index of continuous trading, and the marginal prices of aFRR energy."""
    periods = periods_of(day)[over]
    rows = price_rows("INTRADAY_DE_LU", periods, market_data.intraday(day)[over])
    for direction in AFRR_DIRECTIONS:
        prices = market_data.activation_prices(day, direction)
        rows += price_rows(f"AFRR_ENERGY_{direction}_DE_MARGINAL", periods, prices[over])
    return rows


def balancing_rows(seed: int, day: date) -> list[Row]:
    return fcr_rows(seed, day) + afrr_rows(seed, day)


def _block_row(series: str, start: datetime, end: datetime, price: float) -> Row:
    return {"series": series, "start": written(start), "end": written(end), "price": round(price, 6)}
