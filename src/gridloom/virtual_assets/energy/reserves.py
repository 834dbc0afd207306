"""What blocks of balancing capacity keep in the store, and what room they keep in it, while they stand."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gridloom.market_calendar import Floats
from gridloom.virtual_assets.model import Block, Market


def reserved_kwh(blocks: Iterable[Block], first: int, end: int) -> tuple[Floats, Floats]:
    """In each of the periods `first` up to but not `end`, what must be stored and what must be free at its end.

    FCR goes either way, aFRR its own: minutes of full power, `kW · reserve_minutes / 60`. A block begins with what is
    stored at the end of the period before it, so that one counts as well.
    """
    stored_kwh, free_kwh = np.zeros(end - first), np.zeros(end - first)
    for block in blocks:
        if block.market is Market.WHOLESALE or not block.overlaps(first, end + 1):
            continue
        span = slice(max(0, block.first - 1 - first), max(0, block.end - first))
        if block.market is not Market.AFRR_NEG:
            stored_kwh[span] += block.discharge_kw * block.reserve_minutes / 60
        if block.market is not Market.AFRR_POS:
            free_kwh[span] += block.charge_kw * block.reserve_minutes / 60
    return stored_kwh, free_kwh
