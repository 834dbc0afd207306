"""Balancing energy that assets have delivered. It is settled in a room above, which says here how to ask for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from gridloom.database.pool import Database
from gridloom.kernel.dependency import Dependency
from gridloom.market_calendar import Floats
from gridloom.virtual_assets.model import Efficiency


@dataclass(frozen=True, slots=True, eq=False)
class ActivatedEnergy:
    """What an asset has exported for aFRR: in all before some periods, and in each of them."""

    before_kwh: float
    period_kwh: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ActivationsAsOf:
    """What was activated upward and downward in each period, on the grid's side, by what was known at some moment."""

    up_kwh: Floats
    down_kwh: Floats

    def changes_kwh(self, efficiency: Efficiency) -> Floats:
        """What they add to the store, below zero what they take."""
        return np.asarray(self.down_kwh * efficiency.charge - self.up_kwh / efficiency.discharge)

    def exported_from(self, place: int) -> ActivatedEnergy:
        """What was exported from a place in the periods on."""
        return ActivatedEnergy(float(self.up_kwh[:place].sum()), self.up_kwh[place:])


READ_ACTIVATED: Dependency[Callable[[Database, int, int, int], Awaitable[ActivatedEnergy]]] = Dependency(
    "settled activations"
)
"""From an asset's key, the first period and the one after the last."""

READ_ACTIVATED_AS_OF: Dependency[Callable[[Database, int, int, int, datetime], Awaitable[ActivationsAsOf]]] = (
    Dependency("settled activations as they were known at a moment")
)
"""From an asset's key, the first period, the one after the last, and the moment."""
