"""Placing a zone's drift on the day-ahead market: how much tomorrow will end with, and when it is traded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from gridloom.kernel.units import POWER_TOLERANCE_KW, QUARTER_HOUR_H
from gridloom.market_calendar import Floats

MIN_PERIODS: Final = 16
"""The best hours are four at least, so that a small drift is no spike of power."""
GAIN_DAYS: Final = 7
_STEP_KW: Final = 0.001
"""Placed powers are whole watts: as MWh they are exact in eight decimals."""


@dataclass(frozen=True, slots=True)
class NoonDrift:
    """A zone's drift at noon, and what was then placed until the next noon, as stored energy."""

    drift_kwh: float
    placed_kwh: float


def mean_gain_kwh(noons: Sequence[NoonDrift | None]) -> float:
    """The mean daily gain over consecutive noons, oldest first; a missing noon breaks the days beside it."""
    gains = [
        after.drift_kwh - before.drift_kwh + before.placed_kwh
        for before, after in pairwise(noons)
        if before is not None and after is not None
    ]
    return float(np.mean(gains)) if gains else 0.0


def split_drift_kwh(total_kwh: float, promised_kwh: Floats, drift_kwh: Floats) -> Floats:
    """Each battery's part of what is placed: by promised energy, or its own drift where nothing is promised."""
    promised = float(promised_kwh.sum())
    return np.asarray(total_kwh * promised_kwh / promised) if promised > 0 else drift_kwh.copy()


def place_drift_kw(stored_kwh: float, efficiency: float, free_kw: Floats, price_eur_mwh: Floats | None) -> Floats:
    """Powers of a battery that take `stored_kwh` out of its store, or into it where that is below zero.

    Within free power; in the best periods by price (the highest to sell, the lowest to buy), or evenly without one.
    """
    placed_kw = np.zeros_like(free_kw)
    is_selling = stored_kwh > 0
    grid_kwh = stored_kwh * efficiency if is_selling else -stored_kwh / efficiency
    usable = np.flatnonzero(free_kw > POWER_TOLERANCE_KW)
    if grid_kwh < POWER_TOLERANCE_KW or not len(usable):
        return placed_kw
    if price_eur_mwh is not None:
        order = np.argsort(-price_eur_mwh[usable] if is_selling else price_eur_mwh[usable], kind="stable")
        usable = usable[order]
        enough = int(np.searchsorted(QUARTER_HOUR_H * np.cumsum(free_kw[usable]), grid_kwh)) + 1
        usable = usable[: max(MIN_PERIODS, enough)]
    free_kwh = QUARTER_HOUR_H * float(free_kw[usable].sum())
    placed_kw[usable] = free_kw[usable] * min(1.0, grid_kwh / free_kwh)
    placed_kw = np.floor(placed_kw / _STEP_KW + 1e-6) * _STEP_KW
    return np.asarray(np.round(placed_kw if is_selling else -placed_kw, 3) + 0.0)
