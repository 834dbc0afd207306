"""Balancing power: what FCR and aFRR capacity clear at, how much aFRR is activated, and the grid's frequency."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import lru_cache

import numpy as np

from gridloom.kernel.balancing import BLOCK_START_HOURS, Direction, block_product
from gridloom.kernel.market_time import BLOCK_HOURS, PERIOD, block_window, market_day_window
from gridloom.kernel.window import Window
from gridloom.sandbox.simulator.market.cents import in_cents
from gridloom.sandbox.simulator.market.coefficients import Floats
from gridloom.sandbox.simulator.market.intraday import system_imbalance
from gridloom.sandbox.simulator.random_streams import daily_normals, stream

PERSISTENCE, REMEMBERED_DAYS = 0.85, 30

FCR_EUR_MW_H = (9.0, 7.0, 8.5, 12.5, 9.5, 6.5)
"""The usual settlement price of each block, per hour."""
AFRR_EUR_MW_H = {
    Direction.POS: (5.0, 8.0, 6.0, 4.5, 14.0, 9.5),
    Direction.NEG: (10.0, 7.5, 12.0, 19.0, 6.5, 7.0),
}
MARGINAL = 1.6
"""The marginal price over the average one, where bids are paid as bid."""

DEAD_BAND_HZ, FULL_RESPONSE_HZ = 0.010, 0.200
FREQUENCY_PERSISTENCE, FREQUENCY_SPREAD_HZ = 0.93, 0.022


@dataclass(frozen=True, slots=True)
class SimulatedBlock:
    """One four-hour product of a market day."""

    day: date
    number: int

    @property
    def start_hour(self) -> int:
        return BLOCK_START_HOURS[self.number]

    @property
    def window(self) -> Window:
        return block_window(self.day, self.start_hour, self.start_hour + BLOCK_HOURS)

    @property
    def length_h(self) -> float:
        return self.window.duration.total_seconds() / 3600

    def product(self, direction: Direction) -> str:
        return block_product(direction, self.start_hour)

    @property
    def periods(self) -> slice:
        """Which quarter-hours of the day it holds."""
        midnight = market_day_window(self.day).start
        return slice((self.window.start - midnight) // PERIOD, (self.window.end - midnight) // PERIOD)


def blocks_of(day: date) -> list[SimulatedBlock]:
    return [SimulatedBlock(day, number) for number in range(len(BLOCK_START_HOURS))]


def read_product(day: date, product: str) -> tuple[Direction, SimulatedBlock]:
    """`POS_16_20` → the direction and the block."""
    direction = Direction(product.partition("_")[0])
    return direction, next(block for block in blocks_of(day) if block.product(direction) == product)


@lru_cache(maxsize=64)
def fcr_prices_eur_mw(seed: int, day: date) -> Floats:
    """The settlement price of each block in EUR/MW for the whole block, to the cent, as it is published."""
    per_hour = np.array(FCR_EUR_MW_H) * _draw_level(seed, "fcr", day, spread=0.35)
    return in_cents(per_hour * [block.length_h for block in blocks_of(day)])


@lru_cache(maxsize=64)
def afrr_capacity_prices(seed: int, day: date, direction: Direction) -> tuple[Floats, Floats]:
    """Average and marginal price of each block in EUR/MW per hour, to the cent."""
    average = np.array(AFRR_EUR_MW_H[direction]) * _draw_level(seed, f"afrr-{direction}", day, spread=0.5)
    return in_cents(average), in_cents(MARGINAL * average)


@lru_cache(maxsize=64)
def afrr_activation(seed: int, day: date, direction: Direction) -> Floats:
    """Which share of the reserved power is called in each quarter-hour."""
    short = system_imbalance(seed, day)
    called = short if direction is Direction.POS else -short
    return np.asarray(np.round(np.clip((called - 0.45) / 2.6, 0, 1), 3))


def afrr_energy_prices(seed: int, day: date, direction: Direction, intraday: Floats) -> Floats:
    """Marginal price in EUR/MWh, positive is paid to the provider. Charging costs less than in the market, discharging
    brings more. A provider is paid this price, or its own bid where that is higher."""
    called = afrr_activation(seed, day, direction)
    if direction is Direction.POS:
        return in_cents(np.maximum(intraday, 0) + 35.0 + 160.0 * called)
    return in_cents(-(np.minimum(intraday, 150) - 45.0 - 160.0 * called))


def frequency_hz(seed: int, day: date) -> Floats:
    """The grid's frequency in each minute of the market day."""
    minutes = int(market_day_window(day).duration.total_seconds() // 60)
    shocks = stream(seed, "frequency", day.toordinal()).standard_normal(minutes)
    shocks[1:] *= np.sqrt(1 - FREQUENCY_PERSISTENCE**2)
    wander = np.empty(minutes)
    value = 0.0
    for n, shock in enumerate(shocks.tolist()):
        value = FREQUENCY_PERSISTENCE * value + shock
        wander[n] = value
    # Schedules change on the hour, and the frequency shows it.
    minute = np.arange(minutes) % 60
    swing = 0.02 * np.sin(minute / 60 * 2 * np.pi) * np.exp(-np.minimum(minute, 60 - minute) / 6)
    return np.round(50 + FREQUENCY_SPREAD_HZ * wander + swing, 4)


def frequency_response(frequency: Floats) -> Floats:
    """The share of its FCR power that a battery exports (positive) or imports: all at 200 mHz off, none within 10."""
    off = 50.0 - frequency
    return np.where(np.abs(off) < DEAD_BAND_HZ, 0.0, np.clip(off / FULL_RESPONSE_HZ, -1, 1))


def _draw_level(seed: int, purpose: str, day: date, spread: float) -> Floats:
    """A factor around 1 for each block: a level that lasts for days, and each block's own chance."""
    first = date.fromordinal(day.toordinal() - REMEMBERED_DAYS)
    shocks = daily_normals(seed, purpose, first, REMEMBERED_DAYS + 1, 1 + len(BLOCK_START_HOURS))
    weights = PERSISTENCE ** np.arange(REMEMBERED_DAYS, -1, -1)
    lasting = float(weights @ shocks[:, 0]) * np.sqrt(1 - PERSISTENCE**2)
    return np.asarray(np.exp(spread * (0.8 * lasting + 0.6 * shocks[-1, 1:]) - spread**2 / 2))
