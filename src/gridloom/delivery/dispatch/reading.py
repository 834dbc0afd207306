"""A battery's dispatch as it stands or stood: all its versions laid over each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from gridloom.database.pool import Database
from gridloom.delivery.dispatch import store
from gridloom.delivery.dispatch.store import StoredVersion
from gridloom.delivery.model import Floats, PartKind


@dataclass(frozen=True, slots=True, eq=False)
class StandingDispatch:
    """Over the periods from `first` on; `is_planned` says which of them are. Parts are named by kind and the virtual
    asset's key, 0 for none; `energy_kwh` is at the start of each period, `after_kwh` at its end."""

    version: int
    first: int
    is_planned: npt.NDArray[np.bool_]
    energy_kwh: Floats
    after_kwh: Floats
    capacity_kwh: Floats
    parts_kw: dict[tuple[PartKind, int], Floats]

    @property
    def power_kw(self) -> Floats:
        return self.sum_kw(PartKind.VIRTUAL, PartKind.OWN)

    def sum_kw(self, *kinds: PartKind) -> Floats:
        total_kw = np.zeros(len(self.is_planned))
        for (kind, _), power_kw in self.parts_kw.items():
            if kind in kinds:
                total_kw += power_kw
        return total_kw

    @property
    def state_of_charge_percentage(self) -> Floats:
        return np.asarray(100 * np.clip(self.energy_kwh / self.capacity_kwh, 0.0, 1.0))


async def load_dispatch(
    db: Database, asset_key: int, first: int, end: int, as_of: datetime | None = None
) -> StandingDispatch:
    version, versions = await store.read_versions(db, asset_key, first, end, as_of)
    return lay_versions(version, versions, first, end)


def lay_versions(version: int, versions: Sequence[StoredVersion], first: int, end: int) -> StandingDispatch:
    """Oldest first; a later one replaces all that was planned for its periods."""
    count = max(0, end - first)
    planned = np.zeros(count, dtype=bool)
    energy_kwh, after_kwh, capacity_kwh = np.zeros(count), np.zeros(count), np.ones(count)
    parts_kw: dict[tuple[PartKind, int], Floats] = {}
    for one in versions:
        low, high = max(first, one.first), min(end, one.end)
        here, there = slice(low - first, high - first), slice(low - one.first, high - one.first)
        planned[here] = True
        energy_kwh[here] = one.arrays["energy"][:-1][there]
        after_kwh[here] = one.arrays["energy"][1:][there]
        capacity_kwh[here] = one.arrays["capacity"][there]
        for part_kw in parts_kw.values():
            part_kw[here] = 0.0
        for name, values in one.arrays.items():
            kind, colon, key = name.partition(":")
            if colon:
                part_kw = parts_kw.setdefault((PartKind(kind), int(key)), np.zeros(count))
                part_kw[here] = values[there]
    return StandingDispatch(version, first, planned, energy_kwh, after_kwh, capacity_kwh, parts_kw)
