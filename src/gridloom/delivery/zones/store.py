"""What zones have scheduled, netted and left unserved, and which fractions of it were netted, in PostgreSQL."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from gridloom.database.pool import Database
from gridloom.delivery.zones.totals import ZoneTotals
from gridloom.market_calendar import Floats


async def add_totals(db: Database, zone: str, now: datetime, totals: ZoneTotals) -> None:
    """Only a zone's run writes them, and it holds the zone's row."""
    await db.execute(
        """insert into delivery_quarters (delivery_zone, version, recorded_at, first_period, end_period,
             exported_kw, imported_kw, netted_kw, unserved_kw)
           select $1, coalesce((select max(version) from delivery_quarters where delivery_zone = $1), 0) + 1,
                  $2, $3, $4, $5, $6, $7, $8""",
        zone,
        now,
        totals.first,
        totals.end,
        *(one.tolist() for one in totals.series()),
    )


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
            *(np.array(row[name]) for name in ("exported_kw", "imported_kw", "netted_kw", "unserved_kw")),
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
