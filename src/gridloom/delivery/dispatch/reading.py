"""A battery's dispatch as it is or was: all its versions overlaid."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
import numpy.typing as npt

from gridloom.delivery.dispatch import store
from gridloom.delivery.dispatch.store import StoredVersion
from gridloom.delivery.model import KIND_OF_CODE, POWER_KINDS, PartKind
from gridloom.market_calendar import Floats, Ints
from gridloom.platform.database.pool import Database

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


MAX_PERIODS_ON_LOOP: Final = 2_000
"""Three weeks: unpacked in a millisecond or two. More are unpacked in a thread."""


async def load_dispatch(
    db: Database, asset_key: int, first: int, end: int, as_of: datetime | None = None
) -> DispatchSeries:
    version, versions = await store.read_versions(db, asset_key, first, end, as_of)
    if end - first <= MAX_PERIODS_ON_LOOP:
        return overlay_versions(version, versions, first, end)
    return await asyncio.to_thread(overlay_versions, version, versions, first, end)


def overlay_versions(version: int, versions: Sequence[StoredVersion], first: int, end: int) -> DispatchSeries:
    """Oldest first; a later one replaces all that was planned for its periods.

    They are read from the newest on: a version of which later ones have replaced everything is not unpacked.
    """
    overlay = _Overlay.over(first, end)
    for one in reversed(versions):
        if not overlay.is_replaced(one):
            overlay.put_below(one)
    return overlay.as_series(version)


@dataclass(frozen=True, slots=True, eq=False)
class _Overlay:
    """The state of each period by the versions read so far, and of which periods they name the parts."""

    first: int
    is_planned: npt.NDArray[np.bool_]
    has_parts: npt.NDArray[np.bool_]
    energy_kwh: Floats
    after_kwh: Floats
    capacity_kwh: Floats
    parts_kw: dict[Part, Floats]

    @classmethod
    def over(cls, first: int, end: int) -> _Overlay:
        count = max(0, end - first)
        is_planned, has_parts = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        return cls(first, is_planned, has_parts, np.zeros(count), np.zeros(count), np.ones(count), {})

    def as_series(self, version: int) -> DispatchSeries:
        return DispatchSeries(
            version, self.first, self.is_planned, self.energy_kwh, self.after_kwh, self.capacity_kwh, self.parts_kw
        )

    def is_replaced(self, one: StoredVersion) -> bool:
        return bool(self.has_parts[max(0, one.first - self.first) : max(0, one.end - self.first)].all())

    def put_below(self, one: StoredVersion) -> None:
        """A version's periods where no later one has any. Where a later one has energies and no parts, in its last
        periods, this one's parts go on."""
        arrays = one.unpack()
        here = self._find_open(self.is_planned, one.first, one.end)
        there = here + (self.first - one.first)
        self.energy_kwh[here] = arrays["energy"][there]
        self.after_kwh[here] = arrays["energy"][there + 1]
        self.capacity_kwh[here] = arrays["capacity"][there]
        self.is_planned[here] = True
        width, named_kw = _name_parts(one.end - one.first, arrays)
        here = self._find_open(self.has_parts, one.first, one.first + width)
        there = here + (self.first - one.first)
        for name, values_kw in named_kw.items():
            part_kw = self.parts_kw.get(name)
            if part_kw is None:
                part_kw = self.parts_kw[name] = np.zeros(len(self.is_planned))
            part_kw[here] = values_kw[there]
        self.has_parts[here] = True

    def _find_open(self, taken: npt.NDArray[np.bool_], first: int, end: int) -> Ints:
        low = max(0, first - self.first)
        return low + np.flatnonzero(~taken[low : max(0, end - self.first)])


def _name_parts(period_count: int, arrays: Mapping[str, np.ndarray]) -> tuple[int, dict[Part, Floats]]:
    """For how many of its periods a version says what the parts are, and the parts by name."""
    if "parts" in arrays:
        names = arrays["names"].tolist()
        rows_kw = arrays["parts"]
        return rows_kw.shape[1], {
            (KIND_OF_CODE[code], key): row for (code, key), row in zip(names, rows_kw, strict=True)
        }
    # As they were written before: an array for each part, in all periods of the version.
    split = {name: name.partition(":") for name in arrays}
    named_kw = {(PartKind(kind), int(key)): arrays[name] for name, (kind, colon, key) in split.items() if colon}
    return period_count, named_kw
