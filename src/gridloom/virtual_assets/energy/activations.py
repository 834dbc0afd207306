"""Balancing energy that assets have delivered. It is settled in a room above, which says here how to ask for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gridloom.database.pool import Database
from gridloom.kernel.need import Need
from gridloom.market_calendar import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Activated:
    """What an asset has exported for aFRR: in all before some periods, and in each of them."""

    before_kwh: float
    period_kwh: Floats


READ_ACTIVATED: Need[Callable[[Database, int, int, int], Awaitable[Activated]]] = Need("settled activations")
"""From an asset's key, the first period and the one after the last."""
