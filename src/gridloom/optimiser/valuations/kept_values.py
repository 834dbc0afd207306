"""Past day values kept in this worker, so that the same shape of battery is valued again in no time."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from gridloom.optimiser.forecasts.day_table import DayTable
from gridloom.optimiser.solving.linear import Deadline
from gridloom.optimiser.valuations.formulas import Basis, DayValues, Offer, value_past_days

MOST_KEPT: Final = 64
"""Each is a few kilobytes."""


class KeptValues:
    """Known again by the battery's shape, the basis and the very prices: a corrected price makes new values."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[object, ...], DayValues] = OrderedDict()

    def values(self, table: DayTable, offer: Offer, basis: Basis, deadline: Deadline) -> DayValues:
        key = (offer.shape, basis, table.end, len(table), hash(table.quarters.tobytes()))
        known = self._kept.get(key)
        if known is None:
            known = value_past_days(table, offer, basis, deadline)
            while len(self._kept) >= MOST_KEPT:
                self._kept.popitem(last=False)
        else:
            del self._kept[key]
        self._kept[key] = known
        return known
