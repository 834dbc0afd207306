"""A zone's quarter-hours, also in PostgreSQL: scheduled both ways, netted, and left unserved by all batteries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from gridloom.delivery.planning.model import ZonePlan
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.market_calendar import Floats
from gridloom.platform.database.pool import Database
from gridloom.platform.database.statement import NamedStatement


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
        """The batteries' power for virtual assets, positive is export."""
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


_SERIES = ("exported_kw", "imported_kw", "netted_kw", "unserved_kw")
_ADD_TOTALS = NamedStatement("""
insert into delivery_quarters (delivery_zone, version, recorded_at, first_period, end_period,
  exported_kw, imported_kw, netted_kw, unserved_kw)
select :zone, coalesce((select max(version) from delivery_quarters where delivery_zone = :zone), 0) + 1,
       :now, :first, :end, :exported_kw, :imported_kw, :netted_kw, :unserved_kw
""")


async def add_totals(db: Database, zone: str, now: datetime, totals: ZoneTotals) -> None:
    """Only a zone's run writes them, and it holds the zone's row."""
    series = {name: getattr(totals, name).tolist() for name in _SERIES}
    await _ADD_TOTALS.execute(db, totals, zone=zone, now=now, **series)


async def read_totals(db: Database, first: int, end: int) -> dict[str, ZoneTotals]:
    """By zone, in the order of their names; zones of which nothing was planned are left out."""
    rows = await db.fetch(
        """select delivery_zone, first_period, exported_kw, imported_kw, netted_kw, unserved_kw
           from delivery_quarters where end_period > $1 and first_period < $2
           order by delivery_zone, version""",
        first,
        end,
    )
    found: dict[str, ZoneTotals] = {}
    for row in rows:
        later = ZoneTotals(
            row["first_period"],
            np.ones(len(row["exported_kw"]), dtype=bool),
            *(np.array(row[name]) for name in _SERIES),
        )
        found.setdefault(row["delivery_zone"], ZoneTotals.empty(first, end)).overlay(later)
    return found


async def read_final_until(db: Database) -> dict[str, int]:
    """By zone, the first period that is not final."""
    rows = await db.fetch(
        "select delivery_zone, settled_until from delivery_zone where settled_until is not null order by delivery_zone"
    )
    return {row["delivery_zone"]: row["settled_until"] for row in rows}


async def add_netting(
    db: Database, zone: str, now: datetime, first: int, exported_fraction: Floats, imported_fraction: Floats
) -> None:
    await db.execute(
        """insert into delivery_netting
             (delivery_zone, version, recorded_at, first_period, end_period, exported_part, imported_part)
           select $1, coalesce((select max(version) from delivery_netting where delivery_zone = $1), 0) + 1,
                  $2, $3, $4, $5, $6""",
        zone,
        now,
        first,
        first + len(exported_fraction),
        exported_fraction.tolist(),
        imported_fraction.tolist(),
    )


async def read_netting(
    db: Database, zone: str, first: int, end: int, as_of: datetime | None = None
) -> tuple[Floats, Floats]:
    """Which fraction of exports and imports of each period is netted; zero where nothing was planned."""
    parts = np.zeros((2, max(0, end - first)))
    for row in await db.fetch(
        """select first_period, exported_part, imported_part from delivery_netting
           where delivery_zone = $1 and end_period > $2 and first_period < $3
             and ($4::timestamptz is null or recorded_at <= $4)
           order by version""",
        zone,
        first,
        end,
        as_of,
    ):
        for target, piece in zip(parts, (row["exported_part"], row["imported_part"]), strict=True):
            low, high = max(first, row["first_period"]), min(end, row["first_period"] + len(piece))
            target[low - first : high - first] = piece[low - row["first_period"] : high - row["first_period"]]
    return parts[0], parts[1]
