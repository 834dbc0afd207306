"""How each trader sees prices, what it risks, what it offers and where it sells: none plans a day as another does.

Some supply customers of their own in hours in which others charge: there opposite schedules meet in one zone and are
netted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final

import numpy as np

from gridloom.kernel.balancing import BLOCK_START_HOURS, Direction
from gridloom.sandbox.simulator.market.calendar import hours_of
from gridloom.sandbox.simulator.market.intraday import IntradayAuction
from gridloom.sandbox.simulator.market.market_data import EVEN_HANDED, Weights

Floats = np.ndarray

CUSTOMERS_MARGIN_EUR_MWH: Final = 1.5
"""Over the day-ahead price of the quarter-hour"""
WAVES: Final = 3
NORMALS: Final = 2 * WAVES
"""The purpose of the random stream of a day's own idea."""


@dataclass(frozen=True, slots=True)
class ReserveBlock:
    """A four-hour block in which a trader offers a share of its fortnightly virtual batteries as balancing capacity."""

    direction: Direction
    start_hour: int
    share: float


@dataclass(frozen=True, slots=True)
class Strategy:
    weights: Weights
    """Its weighting of past days"""
    averages_over: int
    """Quarter-hours: one sees the saw-tooth within hours, four see hours"""
    hunch: float
    """How far its own idea of a day's course goes, as a share of the spread it expects"""
    least_margin_eur_mwh: float
    """The least earning of a discharged MWh beyond its cost: the wear of a cycle, and the risk"""
    most_cycles: float
    """A day, however many more the battery may do"""
    offers_share: float
    """Of what it expects to earn with a battery: the higher, the more risk it takes"""
    absence: float
    """The chance that it bids for nothing on a day"""
    day_ahead_share: float
    """Of a plan, at the day-ahead auction; the rest later"""
    lot_mw: float
    """The step in which it trades; what is left of a lot stays open"""
    intraday_auction: IntradayAuction | None = None
    """Where it sells the half of the rest; everything else hour by hour on the day itself"""
    customers_hours: tuple[int, int] | None = None
    """On the wall clock: when what it holds for a fortnight discharges a little for customers of its own, who pay the
    day-ahead price and a margin"""
    reserves: tuple[ReserveBlock, ...] = ()
    """Offered every day at FCR and aFRR"""


def _every_block(
    direction: Direction, share: float, from_hour: int = 0, until_hour: int = 24
) -> tuple[ReserveBlock, ...]:
    return tuple(ReserveBlock(direction, hour, share) for hour in BLOCK_START_HOURS if from_hour <= hour < until_hour)


SHARP: Final = Strategy(
    Weights(latest=0.45, week=0.35, same_weekday=0.2),
    averages_over=1,
    hunch=0.04,
    least_margin_eur_mwh=6.0,
    most_cycles=2.0,
    offers_share=0.88,
    absence=0.1,
    day_ahead_share=0.8,
    lot_mw=0.1,
    intraday_auction=IntradayAuction.FIRST,
    customers_hours=(2, 5),
    reserves=(*_every_block(Direction.NEG, 0.3), *_every_block(Direction.POS, 0.3)),
)
"""Believes what happened last, takes every spread, the small ones too, keeps some of it for the day itself, and
supplies customers who work at night."""

PATIENT: Final = Strategy(
    Weights(latest=0.2, week=0.5, same_weekday=0.5),
    averages_over=1,
    hunch=0.05,
    least_margin_eur_mwh=12.0,
    most_cycles=2.0,
    offers_share=0.88,
    absence=0.15,
    day_ahead_share=1.0,
    lot_mw=0.5,
    customers_hours=(22, 24),
    reserves=(
        *_every_block(Direction.NEGPOS, 0.5, until_hour=8),
        *_every_block(Direction.NEG, 0.3, from_hour=8),
        *_every_block(Direction.POS, 0.3, from_hour=8),
    ),
)
"""Believes in the week's mean, waits for the wide spreads, has everything sold the day before, and supplies customers
whose fleets charge late in the evening."""

CAUTIOUS: Final = Strategy(
    Weights(latest=0.1, week=0.65, same_weekday=0.25),
    averages_over=2,
    hunch=0.04,
    least_margin_eur_mwh=20.0,
    most_cycles=1.9,
    offers_share=0.92,
    absence=0.2,
    day_ahead_share=0.9,
    lot_mw=0.2,
    intraday_auction=IntradayAuction.SECOND,
    customers_hours=(12, 15),
    reserves=(
        *_every_block(Direction.NEG, 0.3),
        *_every_block(Direction.POS, 0.3, until_hour=12),
        *_every_block(Direction.POS, 0.3, from_hour=16),
    ),
)
"""Spares its batteries, supplies customers whose load is highest at noon, and is often away."""

EARLY: Final = Strategy(
    Weights(latest=0.5, week=0.3, same_weekday=0.2),
    averages_over=1,
    hunch=0.05,
    least_margin_eur_mwh=9.0,
    most_cycles=2.0,
    offers_share=0.87,
    absence=0.12,
    day_ahead_share=0.7,
    lot_mw=0.1,
    intraday_auction=IntradayAuction.SECOND,
)
"""Follows yesterday, and leaves much for the auctions that come after."""

STEADY: Final = Strategy(
    Weights(latest=0.3, week=0.4, same_weekday=0.5),
    averages_over=1,
    hunch=0.03,
    least_margin_eur_mwh=8.0,
    most_cycles=2.0,
    offers_share=0.86,
    absence=0.08,
    day_ahead_share=1.0,
    lot_mw=0.1,
)
"""Bids nearly every day and sells everything day-ahead."""

STRATEGIES: Final = {"rheintal": PATIENT, "neckar": CAUTIOUS, "hanse": SHARP, "elbe": EARLY, "isar": STEADY}
"""By the trader's slug"""

USUAL: Final = Strategy(
    EVEN_HANDED,
    averages_over=1,
    hunch=0.0,
    least_margin_eur_mwh=6.0,
    most_cycles=2.0,
    offers_share=1.0,
    absence=0.0,
    day_ahead_share=1.0,
    lot_mw=0.1,
)
"""By which the operator values what it offers"""


def customers_periods(strategy: Strategy, day: date) -> Floats:
    """[period]: whether it supplies its customers then."""
    first, last = strategy.customers_hours or (24, 24)
    hours = hours_of(day).repeat(4)
    return np.asarray((first <= hours) & (hours < last))


def customers_prices(day_ahead: Floats) -> Floats:
    """EUR/MWh of each quarter-hour, to the cent: what the exchange pays, and a margin."""
    return np.round(day_ahead + CUSTOMERS_MARGIN_EUR_MWH, 2)


def see_prices(strategy: Strategy, expected: Floats, normals: Floats) -> Floats:
    """A trader's expectation of a day's prices: what past days lead it to expect, and its own idea of the day's course,
    a few slow waves of which `normals` (`NORMALS` of them) are the sizes."""
    count = len(expected)
    turns = np.arange(count) / count * 2 * np.pi
    waves = [wave(number * turns) for number in range(1, WAVES + 1) for wave in (np.cos, np.sin)]
    own = strategy.hunch * (expected.max() - expected.min()) * (normals @ np.array(waves)) / np.sqrt(WAVES)
    width = strategy.averages_over
    return np.asarray((expected + own).reshape(-1, width).mean(axis=1).repeat(width))
