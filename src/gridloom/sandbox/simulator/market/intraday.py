"""After the day-ahead auction: intraday auctions and trading, the system's imbalance and its price.

Each market moves away from the day-ahead price, the later the further. A thin auction's own noise goes back in part by
the next: the second auction is as far from the first as from the day-ahead price, the third as far from the second.
"""

from __future__ import annotations

from datetime import date
from enum import IntEnum

import numpy as np

from gridloom.kernel.market_time import PERIOD, block_window, market_day_window, period_count
from gridloom.sandbox.simulator.market.cents import in_cents
from gridloom.sandbox.simulator.market.coefficients import Floats
from gridloom.sandbox.simulator.random_streams import stream


class IntradayAuction(IntEnum):
    FIRST = 1
    """Gate 15:00 the day before"""
    SECOND = 2
    """Gate 22:00 the day before"""
    THIRD = 3
    """Gate 10:00, for the hours from 12:00 on"""


AUCTION_SPREAD_EUR_MWH = {IntradayAuction.FIRST: 4.8, IntradayAuction.SECOND: 6.1, IntradayAuction.THIRD: 8.9}
"""Mean absolute difference from the day-ahead price, in a usual year"""
CONTINUOUS_SPREAD_EUR_MWH = 11.6
"""Of the index of continuous trading from the second auction"""
CONTINUOUS_SHARES_THIRD = 0.6
"""Correlation of what moves the third auction and the continuous trades after the second"""
MEAN_ABSOLUTE = 0.852
"""Of `_draw_moves` at the level of a usual year, by which the spreads are divided"""
INTRADAY_PERSISTENCE = 0.93
"""From one quarter-hour to the next"""
CALM_SPREAD = 0.38
"""How much some days are calmer than others, as the standard deviation of the logarithm"""
SYSTEM_PERSISTENCE = 0.86
SCARCE_FROM, SCARCITY_EUR_MWH = 2.6, 1600.0
"""From which imbalance of the system on, in standard deviations, and how much dearer each further one is"""
FIRST_HOUR_OF_THIRD = 12


def auction_prices(seed: int, day: date, day_ahead: Floats, auction: IntradayAuction) -> Floats:
    """EUR/MWh to the cent for each quarter-hour; of the third auction only those from noon on are traded."""
    return in_cents(day_ahead + _find_move(seed, day, day_ahead, auction))


def intraday_prices(seed: int, day: date, day_ahead: Floats) -> Floats:
    """EUR/MWh to the cent: the volume-weighted index of continuous trading."""
    own, shared = CONTINUOUS_SPREAD_EUR_MWH * np.sqrt(1 - CONTINUOUS_SHARES_THIRD**2), CONTINUOUS_SHARES_THIRD
    third, late = _draw_moves(seed, day, day_ahead, "third"), _draw_moves(seed, day, day_ahead, "continuous")
    move = CONTINUOUS_SPREAD_EUR_MWH * shared * third + own * late
    return in_cents(day_ahead + _find_move(seed, day, day_ahead, IntradayAuction.SECOND) + move)


def periods_of_third(day: date) -> slice:
    """The quarter-hours of the day that the third auction trades."""
    midnight, noon = market_day_window(day).start, block_window(day, FIRST_HOUR_OF_THIRD, 24).start
    return slice((noon - midnight) // PERIOD, period_count(day))


def _find_move(seed: int, day: date, day_ahead: Floats, auction: IntradayAuction) -> Floats:
    """The difference of an intraday auction's price from the day-ahead price, EUR/MWh."""
    spread, second = AUCTION_SPREAD_EUR_MWH[auction], AUCTION_SPREAD_EUR_MWH[IntradayAuction.SECOND]
    common = _draw_moves(seed, day, day_ahead, "second")
    if auction is IntradayAuction.SECOND:
        return spread * common
    # Half of the smaller variance is common: that makes the two as far apart as the larger of both spreads.
    correlation = min(spread, second) / max(spread, second) / 2
    own = _draw_moves(seed, day, day_ahead, auction.name.lower())
    return np.asarray(spread * (correlation * common + np.sqrt(1 - correlation**2) * own))


def _draw_moves(seed: int, day: date, day_ahead: Floats, market: str) -> Floats:
    """Of mean absolute one over a year: further on unsettled days and where prices are high."""
    calm = np.exp(CALM_SPREAD * stream(seed, "intraday calm", day.toordinal()).standard_normal())
    level = 0.6 + np.minimum(np.abs(day_ahead), 300.0) / 225.0
    return np.asarray(_draw_chain(seed, f"intraday {market}", day, INTRADAY_PERSISTENCE) * calm * level / MEAN_ABSOLUTE)


def system_imbalance(seed: int, day: date) -> Floats:
    """How short (positive) or long (negative) the system is in each quarter-hour, in standard deviations."""
    return _draw_chain(seed, "system", day, SYSTEM_PERSISTENCE)


def imbalance_prices(seed: int, day: date, intraday: Floats) -> Floats:
    """EUR/MWh to the cent: dear when the system is short, cheap or negative when it is long. Where little reserve is
    left, which is so in a few quarter-hours a month, beyond a thousand."""
    short = system_imbalance(seed, day)
    scarce = np.sign(short) * np.maximum(np.abs(short) - SCARCE_FROM, 0.0)
    return in_cents(intraday + 48.0 * short + 22.0 * short * np.abs(short) + SCARCITY_EUR_MWH * scarce)


def _draw_chain(seed: int, purpose: str, day: date, persistence: float) -> Floats:
    """A standard normal chain over the day's quarter-hours, begun anew each midnight from its own distribution."""
    shocks = stream(seed, purpose, day.toordinal()).standard_normal(period_count(day))
    shocks[1:] *= np.sqrt(1 - persistence**2)
    # x[n] = p·x[n−1] + e[n], summed up at once; the powers stay far from the ends of a double in a hundred steps.
    powers = persistence ** np.arange(len(shocks))
    return np.asarray(powers * np.cumsum(shocks / powers))
