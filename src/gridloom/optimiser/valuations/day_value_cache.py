"""Past day values cached in this worker, so that the same shape of battery is valued again in no time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from gridloom.optimiser.day_table import DayTable
from gridloom.optimiser.solving.linear import Deadline
from gridloom.optimiser.valuations.formulas import AuctionedBattery, Basis, DayValues, value_past_days

MAX_CACHED_VALUES: Final = 64
"""Each is a few kilobytes."""


class DayValueCache:
    """Known again by the battery's shape, the basis and the very prices: a corrected price makes new values."""

    def __init__(self) -> None:
        self._cache: OrderedDict[tuple[object, ...], DayValues] = OrderedDict()
        self._lock = threading.Lock()

    def values(self, table: DayTable, offer: AuctionedBattery, basis: Basis, deadline: Deadline) -> DayValues:
        key = (offer.shape, basis, table.end, len(table), hash(table.quarters.tobytes()))
        known = self._cache.get(key)
        if known is None:
            known = value_past_days(table, offer, basis, deadline)
        with self._lock:  # several solver threads value at the same time
            self._cache[key] = known
            self._cache.move_to_end(key)
            while len(self._cache) > MAX_CACHED_VALUES:
                self._cache.popitem(last=False)
        return known
