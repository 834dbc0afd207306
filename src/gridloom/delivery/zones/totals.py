"""A zone's quarter-hours: what was scheduled both ways, what of it met its opposite, what no battery could serve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gridloom.delivery.planning.model import ZonePlan
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.market_calendar import Floats


@dataclass(frozen=True, slots=True, eq=False)
class ZoneTotals:
    """kW over the periods from `first` on. Scheduled exports and imports are magnitudes, before what is unserved is
    taken from them; `unserved_kw` has the sign of the net. `is_planned` says which periods any run has looked at."""

    first: int
    is_planned: npt.NDArray[np.bool_]
    exported_kw: Floats
    imported_kw: Floats
    netted_kw: Floats
    unserved_kw: Floats

    @classmethod
    def empty(cls, first: int, end: int) -> ZoneTotals:
        zeros = np.zeros((4, max(0, end - first)))
        return cls(first, np.zeros(zeros.shape[1], dtype=bool), *zeros)

    @classmethod
    def of_plan(cls, plan: ZonePlan) -> ZoneTotals:
        return cls(plan.first, np.ones(plan.end - plan.first, dtype=bool), *plan.totals_kw)

    @property
    def end(self) -> int:
        return self.first + len(self.is_planned)

    @property
    def dispatched_kw(self) -> Floats:
        """What the batteries do for virtual assets, positive is export."""
        return np.asarray(self.exported_kw - self.imported_kw - self.unserved_kw)

    def series(self) -> tuple[Floats, Floats, Floats, Floats]:
        return self.exported_kw, self.imported_kw, self.netted_kw, self.unserved_kw

    def slice_periods(self, first: int, end: int) -> ZoneTotals:
        low, high = first - self.first, end - self.first
        return ZoneTotals(first, self.is_planned[low:high], *(one[low:high] for one in self.series()))

    def overlay(self, later: ZoneTotals) -> None:
        """Write what was planned later over these periods, where the two meet."""
        low, high = max(self.first, later.first), min(self.end, later.end)
        if low >= high:
            return
        here, there = slice(low - self.first, high - self.first), slice(low - later.first, high - later.first)
        for mine, theirs in zip(self.series(), later.series(), strict=True):
            mine[here] = theirs[there]
        self.is_planned[here] |= later.is_planned[there]


def changed_totals(before: ZoneTotals | None, after: ZoneTotals) -> ZoneTotals | None:
    """The periods of `after` from the first that was not planned like this to the last; None where all were."""
    known = ZoneTotals.empty(after.first, after.end)
    if before is not None:
        known.overlay(before)
    changed = ~known.is_planned
    for old_kw, new_kw in zip(known.series(), after.series(), strict=True):
        changed |= np.abs(new_kw - old_kw) > POWER_TOLERANCE_KW
    indices = np.flatnonzero(changed)
    if not len(indices):
        return None
    return after.slice_periods(after.first + int(indices[0]), after.first + int(indices[-1]) + 1)
