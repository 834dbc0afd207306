"""Prices as they are published: within the exchange's limits and to the cent."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridloom.sandbox.simulator.market.coefficients import Floats


def in_cents(prices: Any, low_eur: float = -9_999.0, high_eur: float = 9_999.0) -> Floats:
    return np.asarray(np.round(np.clip(prices, low_eur, high_eur), 2) + 0.0)  # no −0.0
