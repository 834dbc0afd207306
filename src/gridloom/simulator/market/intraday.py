"""What happens after the day-ahead auction: intraday prices, the system's imbalance and its price."""

from __future__ import annotations

from datetime import date

import numpy as np

from gridloom.kernel.market_time import period_count
from gridloom.simulator.market.cents import in_cents
from gridloom.simulator.market.coefficients import Floats
from gridloom.simulator.random_streams import stream

INTRADAY_PERSISTENCE, INTRADAY_SPREAD = 0.93, 0.11
"""From one quarter-hour to the next; standard deviation as a share of a price level of 120 EUR/MWh."""
SYSTEM_PERSISTENCE = 0.86


def intraday_prices(seed: int, day: date, day_ahead: Floats) -> Floats:
    """EUR/MWh to the cent: a curve that wanders around the auction's, further where prices are high."""
    drift = _draw_chain(seed, "intraday", day, INTRADAY_PERSISTENCE)
    level = 60.0 + 0.5 * np.abs(day_ahead)
    return in_cents(day_ahead + INTRADAY_SPREAD * level * drift * (1 + 0.15 * drift**2))


def system_imbalance(seed: int, day: date) -> Floats:
    """How short (positive) or long (negative) the system is in each quarter-hour, in standard deviations."""
    return _draw_chain(seed, "system", day, SYSTEM_PERSISTENCE)


def imbalance_prices(seed: int, day: date, intraday: Floats) -> Floats:
    """EUR/MWh to the cent: dear when the system is short, cheap or negative when it is long, now and then very."""
    short = system_imbalance(seed, day)
    return in_cents(intraday + 48.0 * short + 22.0 * short * np.abs(short))


def _draw_chain(seed: int, purpose: str, day: date, persistence: float) -> Floats:
    """A standard normal chain over the day's quarter-hours, begun anew each midnight from its own distribution."""
    shocks = stream(seed, purpose, day.toordinal()).standard_normal(period_count(day))
    shocks[1:] *= np.sqrt(1 - persistence**2)
    # x[n] = p·x[n−1] + e[n], summed up at once; the powers stay far from the ends of a double in a hundred steps.
    powers = persistence ** np.arange(len(shocks))
    return np.asarray(powers * np.cumsum(shocks / powers))
