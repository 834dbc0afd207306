"""The reference series there are, and a published price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Final, Literal
from uuid import UUID

from gridloom.kernel.balancing import AFRR_DIRECTIONS


@dataclass(frozen=True, slots=True)
class PriceSeries:
    name: str
    unit: str
    description: str


_TABLE: Final = (
    PriceSeries("DAY_AHEAD_DE_LU", "EUR/MWh", "Day-ahead auction, bidding zone DE-LU; hourly until 2025-09-30"),
    PriceSeries("IDA1_DE_LU", "EUR/MWh", "First intraday auction, gate 15:00 the day before"),
    PriceSeries("IDA2_DE_LU", "EUR/MWh", "Second intraday auction, gate 22:00 the day before"),
    PriceSeries("IDA3_DE_LU", "EUR/MWh", "Third intraday auction, gate 10:00 for the hours from 12:00 to 24:00"),
    PriceSeries(
        "INTRADAY_DE_LU", "EUR/MWh", "Intraday, all continuous trades of a quarter-hour, volume-weighted (ID-full)"
    ),
    PriceSeries("REBAP_DE", "EUR/MWh", "Imbalance price, the same for too much and too little"),
    PriceSeries("ID_AEP_DE", "EUR/MWh", "Index of intraday trading that the imbalance price follows"),
    PriceSeries("LOAD_FORECAST_DE", "MW", "Forecast of the load of Germany, as published the day before"),
    PriceSeries("WIND_FORECAST_DE", "MW", "Forecast of wind on land and at sea, as published the day before"),
    PriceSeries("SOLAR_FORECAST_DE", "MW", "Forecast of solar power, as published the day before"),
    PriceSeries("FCR_DE", "EUR/MW/h", "FCR settlement price, per hour of the block"),
    *(
        PriceSeries(
            f"AFRR_{market}_{direction}_DE_{kind}",
            unit,
            f"aFRR {market.lower()}, {direction}, {kind.lower()} price; positive is paid to the provider",
        )
        for market, unit in (("CAPACITY", "EUR/MW/h"), ("ENERGY", "EUR/MWh"))
        for direction in AFRR_DIRECTIONS
        for kind in ("AVERAGE", "MARGINAL")
    ),
)
SERIES: Final[Mapping[str, PriceSeries]] = MappingProxyType({series.name: series for series in _TABLE})

MANUAL: Final = "MANUAL"
SIMULATOR: Final = "SIMULATOR"
FEED_SOURCES: Final = ("smard", "energy-charts", "entsoe", "regelleistung", "netztransparenz")
SOURCES: Final = (MANUAL, *FEED_SOURCES, SIMULATOR)
"""Whose a price is, in the order in which one prevails over the next."""

CheckedKind = Literal["wholesale-trades", "fcr", "afrr-capacity"]


@dataclass(frozen=True, slots=True)
class PublishedPrice:
    series: str
    start: datetime
    end: datetime
    price: Decimal


@dataclass(frozen=True, slots=True)
class RecordedPrice:
    """A published price as it is recorded. Prices of a feed count from when the platform saw them first."""

    series: str
    start: datetime
    end: datetime
    price: Decimal
    source: str
    first_seen_at: datetime


@dataclass(frozen=True, slots=True)
class SettledPriceDeviation:
    """A settled price that is not what was published."""

    asset_key: int
    asset_id: UUID
    time: datetime
    reference: str
    side: str
    """Of a trade; it may buy and sell in one period."""
    series: str
    settled: Decimal
    published: Decimal
