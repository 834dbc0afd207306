"""Stored energy in reach: energy capacity that is missing takes its content with it, and brings it back.

When the available part of the energy capacity falls from `a₁` to `a₂`, `1 − a₂/a₁` of what is in reach goes out of
reach and stays as it is; when it rises, `(a₂ − a₁)/(1 − a₁)` of what is out of reach comes back.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_NOISE: Final = 1e-12


def move_reach(in_reach_kwh: Floats, unreachable_kwh: Floats, before: Floats, after: Floats) -> Floats:
    """Energy out of reach once the available part goes from `before` to `after`; their sum stays."""
    is_falling, is_rising = after < before - _NOISE, after > before + _NOISE
    lost = np.divide(before - after, before, out=np.zeros_like(before), where=is_falling)
    found = np.divide(after - before, 1.0 - before, out=np.zeros_like(before), where=is_rising)
    return np.asarray(unreachable_kwh + lost * np.maximum(in_reach_kwh, 0.0) - found * unreachable_kwh)


def move_reach_of_one(in_reach_kwh: float, unreachable_kwh: float, before: float, after: float) -> float:
    """`move_reach` of a single store."""
    if after < before - _NOISE:
        return unreachable_kwh + (1.0 - after / before) * max(in_reach_kwh, 0.0)
    if after > before + _NOISE:
        return unreachable_kwh * (1.0 - (after - before) / (1.0 - before))
    return unreachable_kwh
