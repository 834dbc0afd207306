"""The value of a battery to a trader: what its own plans earned on recent days, what the day to come promises, and
what the weather forecast lets it see of that day.

All batteries of the world store two hours of their power, so a value holds for a megawatt of any of them.
"""

from __future__ import annotations

import threading
import zlib
from datetime import date, timedelta
from functools import lru_cache
from typing import Final

import numpy as np

from gridloom.sandbox.simulator.market.market_data import MarketData
from gridloom.sandbox.simulator.participants.planning import Store, plan_day
from gridloom.sandbox.simulator.participants.reserve_offers import (
    choose_all_offers,
    earn_reserves,
    hold_reserves,
    list_accepted,
)
from gridloom.sandbox.simulator.participants.strategies import (
    NORMALS,
    STRATEGIES,
    Strategy,
    customers_periods,
    customers_prices,
    see_prices,
)
from gridloom.sandbox.simulator.random_streams import stream
from gridloom.sandbox.simulator.scenario import (
    DAILY_CYCLES,
    STORAGE_HOURS,
    TOLL_DAYS,
    VIRTUAL_EFFICIENCY,
    ZONES,
)

RECENT_DAYS: Final = 7
FORWARD_PAST_DAYS: Final = 2
SEEN_SHARE: Final = 0.8
"""How much of what sets a day apart from those before it the forecasts of weather and load show two days ahead"""
FORECAST_ERROR: Final = 0.08
"""Of those forecasts, which all traders read, as the standard deviation of a value's logarithm"""
VIEW_SPREAD: Final = 0.045
"""How far traders' own views of a day's worth lie apart, likewise"""
FIRST_OFFER: Final = 0.88
"""Of the offer that a trader is ready to make in the end"""
CONTENT_CHANCE: Final = 0.5
"""That a trader leaves it at its first offer, which then is the full one"""
TOLL_SPREAD: Final = 0.05
"""How far what is agreed lies from a contract's share, as the standard deviation of the logarithm"""
TOLL_STEP_EUR: Final = 500
_NOMINAL_MW: Final = 100
"""So large that lots do not show"""
_DAY: Final = timedelta(days=1)

_valuing = threading.Lock()
"""Traders value several lots of a day at once, in threads: the first computes what the others then find cached."""


def number_text(text: str) -> int:
    """The position of a name in a stream of random numbers; the same in every process."""
    return zlib.crc32(text.encode())


@lru_cache(maxsize=1024)
def plan_and_result(
    market_data: MarketData, strategy: Strategy, day: date, known_until: date, *, is_tolled: bool = False
) -> tuple[float, float]:
    """EUR a megawatt: what a plan for the day promises, and what it earns at the day-ahead prices that come. What is
    held for a fortnight supplies customers and sells reserves besides."""
    expected = market_data.expected(day, known_until, strategy.weights)
    chance = stream(market_data.seed_of(known_until), "value", number_text(repr(strategy.weights)), day.toordinal())
    delivers = customers_periods(strategy, day) & is_tolled
    held = (
        list_accepted(market_data, day, choose_all_offers(market_data, strategy, day, _NOMINAL_MW)) if is_tolled else []
    )
    flat = np.full(len(expected), 1000 * _NOMINAL_MW)
    store = Store(flat, flat, STORAGE_HOURS * 1000 * _NOMINAL_MW, VIRTUAL_EFFICIENCY, VIRTUAL_EFFICIENCY)
    plan = plan_day(
        hold_reserves(store, day, held),
        see_prices(strategy, expected, chance.standard_normal(NORMALS)),
        most_cycles=min(strategy.most_cycles, DAILY_CYCLES),
        least_margin_eur_mwh=strategy.least_margin_eur_mwh,
        delivers=delivers,
    )
    promised, paid = (
        float(np.where(delivers, customers_prices(prices), prices) @ plan.power_kw) / (4000 * _NOMINAL_MW)
        for prices in (expected, market_data.day_ahead(day))
    )
    reserves = earn_reserves(market_data, day, held) / _NOMINAL_MW
    return promised + reserves, paid + reserves


def expected_value(market_data: MarketData, strategy: Strategy, day: date, known_until: date) -> float:
    """EUR a megawatt that a trader expects of a day from prices known until another: its plan's promise, and how much
    of their promise its plans of recent days have kept."""
    recent = [(known_until - timedelta(days=n), known_until - timedelta(days=n + 1)) for n in range(RECENT_DAYS)]
    with _valuing:
        promised, earned = np.array([plan_and_result(market_data, strategy, *one) for one in recent]).sum(axis=0)
        promise, _ = plan_and_result(market_data, strategy, day, known_until)
    kept = earned / promised if promised > 0 else 1.0
    return max(0.0, promise * float(np.clip(kept, 0.5, 1.5)))


def foreseen_value(
    market_data: MarketData, strategy: Strategy, day: date, known_until: date, usual_eur: float | None = None
) -> float:
    """EUR a megawatt that a trader expects of a day: what past prices let it expect, or the platform's valuation of
    that (`usual_eur`), moved towards what the day will be worth as far as forecasts of weather and load show it."""
    usual = expected_value(market_data, strategy, day, known_until) if usual_eur is None else usual_eur
    with _valuing:
        _, worth = plan_and_result(market_data, strategy, day, day - timedelta(days=1))
    error = stream(market_data.seed_of(known_until), "weather forecast", day.toordinal()).standard_normal()
    seen = max(worth, 1.0) * float(np.exp(FORECAST_ERROR * error))
    return float(max(usual, 1.0) ** (1 - SEEN_SHARE) * seen**SEEN_SHARE)


def decide_offer(
    market_data: MarketData, trader: str, zone: str, delivery_day: date, worth_eur: float, *, is_last: bool
) -> float | None:
    """EUR that a trader offers for what is worth so much to it; None where it does not offer, or not more."""
    strategy, offered_on = STRATEGIES[trader], delivery_day - timedelta(days=2)
    seed, who = market_data.seed_of(offered_on), number_text(trader)
    if stream(seed, "absent", who, delivery_day.toordinal()).uniform() < strategy.absence:
        return None
    chance = stream(seed, "view", who, delivery_day.toordinal(), number_text(zone))
    view, is_content = chance.standard_normal(), chance.uniform() < CONTENT_CHANCE
    if is_last and is_content:
        return None
    offer = worth_eur * float(np.exp(VIEW_SPREAD * view)) * strategy.offers_share
    return offer if is_last or is_content else FIRST_OFFER * offer


@lru_cache(maxsize=64)
def forward_value(market_data: MarketData, strategy: Strategy, first: date) -> float:
    """EUR a megawatt and day at which the market trades the fortnight from a day on: what the last days brought and
    what the coming ones will, which weather and fuel prices let the market see."""
    days = [first + timedelta(days=n) for n in range(-FORWARD_PAST_DAYS, TOLL_DAYS)]
    return float(np.mean([plan_and_result(market_data, strategy, day, day - _DAY, is_tolled=True)[1] for day in days]))


def annual_toll(market_data: MarketData, zone: str, first: date) -> int:
    """EUR a megawatt and year: by the zone's contract a share of what its holder is expected to earn."""
    expected = forward_value(market_data, STRATEGIES[ZONES[zone].toll_holder], first)
    agreed = stream(market_data.seed_of(first), "toll", first.toordinal(), number_text(zone)).standard_normal()
    share = ZONES[zone].toll_share * float(np.exp(TOLL_SPREAD * agreed))
    return TOLL_STEP_EUR * round(365 * share * expected / TOLL_STEP_EUR)
