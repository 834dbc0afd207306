"""How each trader sees prices, what it risks and where it sells: two who plan the same day do not plan it alike.

Where one still buys the other sells already, so that opposite schedules meet in one zone and are netted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gridloom.simulator.market.market_data import Weights

Floats = np.ndarray

WAVES: Final = 3
NORMALS: Final = 2 * WAVES
"""What a day's own idea is drawn from."""


@dataclass(frozen=True, slots=True)
class Strategy:
    weights: Weights
    """What it makes of past days"""
    later: int
    """By how many quarter-hours it expects the day's course later than past days had it; below zero, earlier"""
    averages_over: int
    """Quarter-hours: one sees the saw-tooth within hours, four see hours"""
    hunch: float
    """How far its own idea of a day's course goes, as a share of the spread it expects"""
    least_margin_eur_mwh: float
    """What a discharged MWh must bring beyond its cost before it is worth the risk"""
    most_cycles: float
    """A day, however many more the battery may do"""
    offers_share: float
    """Of what a careful person would offer for a battery: who earns less with it pays less for it"""
    day_ahead_share: float
    """Of a plan, at the auction; the rest hour by hour on the day itself"""


SHARP: Final = Strategy(
    Weights(latest=0.45, week=0.35, same_weekday=0.2),
    later=0,
    averages_over=1,
    hunch=0.1,
    least_margin_eur_mwh=6.0,
    most_cycles=2.0,
    offers_share=1.0,
    day_ahead_share=0.8,
)
"""Believes what happened last, takes every spread, the small ones too, and keeps some of it for the day itself."""

PATIENT: Final = Strategy(
    Weights(latest=0.2, week=0.5, same_weekday=0.3),
    later=3,
    averages_over=4,
    hunch=0.15,
    least_margin_eur_mwh=10.0,
    most_cycles=2.0,
    offers_share=0.96,
    day_ahead_share=1.0,
)
"""Believes in the week's mean by the hour, waits for the wide spreads, and has everything sold the day before."""

STRATEGIES: Final = {"rheintal": PATIENT, "hanse": SHARP}
"""By the trader's slug"""


def see_prices(strategy: Strategy, expected: Floats, normals: Floats) -> Floats:
    """What a trader takes a day's prices to be: what past days lead it to expect, and its own idea of the day's course,
    a few slow waves of which `normals` (`NORMALS` of them) are the sizes."""
    count = len(expected)
    turns = np.arange(count) / count * 2 * np.pi
    waves = [wave(number * turns) for number in range(1, WAVES + 1) for wave in (np.cos, np.sin)]
    own = strategy.hunch * (expected.max() - expected.min()) * (normals @ np.array(waves)) / np.sqrt(WAVES)
    seen = (expected + own)[np.clip(np.arange(count) - strategy.later, 0, count - 1)]
    width = strategy.averages_over
    return np.asarray(seen.reshape(-1, width).mean(axis=1).repeat(width))
