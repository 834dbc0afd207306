"""A battery's dispatch as it is or was: all its versions overlaid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from gridloom.database.pool import Database
from gridloom.delivery.dispatch import store
from gridloom.delivery.dispatch.store import StoredVersion
from gridloom.delivery.model import KIND_OF_CODE, POWER_KINDS, PartKind
from gridloom.market_calendar import Floats

Part = tuple[PartKind, int]
"""The kind and the virtual asset's key, 0 for none."""


@dataclass(frozen=True, slots=True, eq=False)
class DispatchSeries:
    """Over the periods from `first` on; `is_planned` says which of them are. Parts are named by kind and the virtual
    asset's key, 0 for none; `energy_kwh` is at the start of each period, `after_kwh` at its end."""

    version: int
    first: int
    is_planned: npt.NDArray[np.bool_]
    energy_kwh: Floats
    after_kwh: Floats
    capacity_kwh: Floats
    parts_kw: dict[Part, Floats]

    @property
    def power_kw(self) -> Floats:
        return self.sum_kw(*POWER_KINDS)

    def sum_kw(self, *kinds: PartKind) -> Floats:
        total_kw = np.zeros(len(self.is_planned))
        for (kind, _), power_kw in self.parts_kw.items():
            if kind in kinds:
                total_kw += power_kw
        return total_kw

    @property
    def state_of_charge_percentage(self) -> Floats:
        """Of the energy capacity valid then; above 100 after a change of parameters that leaves more in store."""
        return np.asarray(100 * np.maximum(self.energy_kwh / self.capacity_kwh, 0.0))


async def load_dispatch(
    db: Database, asset_key: int, first: int, end: int, as_of: datetime | None = None
) -> DispatchSeries:
    version, versions = await store.read_versions(db, asset_key, first, end, as_of)
    return overlay_versions(version, versions, first, end)


def overlay_versions(version: int, versions: Sequence[StoredVersion], first: int, end: int) -> DispatchSeries:
    """Oldest first; a later one replaces all that was planned for its periods."""
    count = max(0, end - first)
    planned = np.zeros(count, dtype=bool)
    energy_kwh, after_kwh, capacity_kwh = np.zeros(count), np.zeros(count), np.ones(count)
    parts_kw: dict[Part, Floats] = {}
    for one in versions:
        low, high = max(first, one.first), min(end, one.end)
        here, there = slice(low - first, high - first), slice(low - one.first, high - one.first)
        planned[here] = True
        energy_kwh[here] = one.arrays["energy"][:-1][there]
        after_kwh[here] = one.arrays["energy"][1:][there]
        capacity_kwh[here] = one.arrays["capacity"][there]
        _overlay_parts(parts_kw, one, first, end)
    return DispatchSeries(version, first, planned, energy_kwh, after_kwh, capacity_kwh, parts_kw)


def _overlay_parts(parts_kw: dict[Part, Floats], one: StoredVersion, first: int, end: int) -> None:
    """A version's parts over earlier ones; where it has none, in its last periods, the earlier ones go on."""
    width, named_kw = _name_parts(one)
    low, high = max(first, one.first), min(end, one.first + width)
    if low >= high:
        return
    here, there = slice(low - first, high - first), slice(low - one.first, high - one.first)
    for part_kw in parts_kw.values():
        part_kw[here] = 0.0
    for name, values_kw in named_kw.items():
        parts_kw.setdefault(name, np.zeros(end - first))[here] = values_kw[there]


def _name_parts(one: StoredVersion) -> tuple[int, dict[Part, Floats]]:
    """For how many periods a version says what the parts are, and the parts by name."""
    if "parts" in one.arrays:
        names = one.arrays["names"].tolist()
        rows_kw = one.arrays["parts"]
        return rows_kw.shape[1], {
            (KIND_OF_CODE[code], key): row for (code, key), row in zip(names, rows_kw, strict=True)
        }
    # As they were written before: an array for each part, in all periods of the version.
    split = {name: name.partition(":") for name in one.arrays}
    named_kw = {(PartKind(kind), int(key)): one.arrays[name] for name, (kind, colon, key) in split.items() if colon}
    return one.end - one.first, named_kw
