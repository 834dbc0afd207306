"""How much trades are expected to earn, and how sure that is, from the bands of their prices; pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridloom.optimiser.forecasts.bands import BLOCK_QUARTERS, PriceBand
from gridloom.optimiser.solving.programme import Floats


@dataclass(frozen=True, slots=True)
class Worth:
    """EUR."""

    expected: float
    p10: float
    p90: float

    def __add__(self, other: Worth) -> Worth:
        """Of what goes by the same prices: both turn out well, or neither does."""
        return Worth(self.expected + other.expected, self.p10 + other.p10, self.p90 + other.p90)


NOTHING = Worth(0.0, 0.0, 0.0)


def value_trades(band: PriceBand, traded_kw: Floats, fee_eur_mwh: float) -> Worth:
    """Errors within four hours go together; those of different blocks know nothing of each other."""
    traded_mwh = traded_kw / 4000
    fee = fee_eur_mwh * float(np.abs(traded_mwh).sum())
    return _sum_blocks(band, traded_mwh, BLOCK_QUARTERS, fee)


def value_capacity(band: PriceBand, capacity_kw: Floats, hours: Floats) -> Worth:
    """Of four-hour blocks at prices per MW and hour."""
    return _sum_blocks(band, capacity_kw * hours / 1000, 1, 0.0)


def _sum_blocks(band: PriceBand, volume: Floats, group: int, fee: float) -> Worth:
    expected = float(band.p50 @ volume) - fee
    starts = np.arange(0, len(volume), group)
    # What is bought loses where prices come out high.
    above, below = (band.p90 - band.p50) * volume, (band.p10 - band.p50) * volume
    high, low = np.add.reduceat(above, starts), np.add.reduceat(below, starts)
    best, worst = np.maximum(high, low), np.minimum(high, low)
    return Worth(
        expected,
        expected - float(np.sqrt((np.minimum(worst, 0.0) ** 2).sum())),
        expected + float(np.sqrt((np.maximum(best, 0.0) ** 2).sum())),
    )
