"""The market of one world: everything of a market day, by the seed that holds for it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gridloom.kernel.balancing import Direction
from gridloom.kernel.market_time import period_count
from gridloom.sandbox.simulator.market.balancing import afrr_activation, afrr_energy_prices, frequency_hz
from gridloom.sandbox.simulator.market.calendar import hours_of
from gridloom.sandbox.simulator.market.coefficients import Floats
from gridloom.sandbox.simulator.market.day_ahead import DayAhead
from gridloom.sandbox.simulator.market.intraday import (
    IntradayAuction,
    auction_prices,
    imbalance_prices,
    intraday_prices,
)

LOOK_BACK_DAYS = 7
MAX_KNOWN_DAYS = 60


class Weights(NamedTuple):
    """A participant's weights of past days: how much each counts, together one."""

    latest: float
    week: float
    same_weekday: float


EVEN_HANDED = Weights(latest=0.35, week=0.4, same_weekday=0.25)
"""A careful person's."""


class MarketData:
    def __init__(self, seed_of: Callable[[date], int]) -> None:
        self._seed_of = seed_of
        self._spot: dict[int, DayAhead] = {}
        self._known: dict[date, Floats] = {}
        self.frequency_hz = lru_cache(maxsize=16)(self._frequency_hz)

    def seed_of(self, day: date) -> int:
        return self._seed_of(day)

    def learn_day_ahead(self, day: date, prices: Floats) -> None:
        """The real prices of a day, in place of its own."""
        assert len(prices) == period_count(day)
        self._known[day] = prices
        if len(self._known) > MAX_KNOWN_DAYS:
            self._known.pop(next(iter(self._known)))

    def knows_day_ahead(self, day: date) -> bool:
        return day in self._known

    def day_ahead(self, day: date) -> Floats:
        if day in self._known:
            return self._known[day]
        seed = self._seed_of(day)
        if seed not in self._spot:
            self._spot[seed] = DayAhead(seed)
        return self._spot[seed].quarter_hours(day)

    def auction(self, day: date, auction: IntradayAuction) -> Floats:
        """Of an intraday auction; the third trades only the quarter-hours from noon on."""
        return auction_prices(self._seed_of(day), day, self.day_ahead(day), auction)

    def intraday(self, day: date) -> Floats:
        return intraday_prices(self._seed_of(day), day, self.day_ahead(day))

    def imbalance(self, day: date) -> Floats:
        return imbalance_prices(self._seed_of(day), day, self.intraday(day))

    def activation(self, day: date, direction: Direction) -> Floats:
        return afrr_activation(self._seed_of(day), day, direction)

    def activation_prices(self, day: date, direction: Direction) -> Floats:
        return afrr_energy_prices(self._seed_of(day), day, direction, self.intraday(day))

    def _frequency_hz(self, day: date) -> Floats:
        return frequency_hz(self._seed_of(day), day)

    def expected(self, day: date, known_until: date, weights: Weights = EVEN_HANDED) -> Floats:
        """The expectation of a day from those whose prices are known: the latest, the last week's mean and the
        same day of the week before, by the wall clock."""
        days = [known_until - timedelta(days=n) for n in range(LOOK_BACK_DAYS)]
        profiles = np.array([_by_wall_clock(one, self.day_ahead(one)) for one in days])
        same_weekday = profiles[(known_until - day).days % LOOK_BACK_DAYS]
        mixed = (
            weights.latest * profiles[0] + weights.week * profiles.mean(axis=0) + weights.same_weekday * same_weekday
        )
        found = mixed[hours_of(day)].ravel()
        assert len(found) == period_count(day)
        return np.asarray(found)


def _by_wall_clock(day: date, prices: Floats) -> Floats:
    """[hour of the wall clock][quarter]: an hour that comes twice counts once, one that is skipped is filled."""
    table = np.full((24, 4), np.nan)
    table[hours_of(day)] = prices.reshape(-1, 4)
    missing = np.isnan(table[:, 0])
    if missing.any():
        table[missing] = prices.mean()
    return table
