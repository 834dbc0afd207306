"""The quarter-hours of delivery zones in PostgreSQL."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from gridloom.database.pool import Database
from gridloom.delivery.zones.quarters import ZoneQuarters


async def add_quarters(db: Database, zone: str, now: datetime, quarters: ZoneQuarters) -> None:
    """Only a zone's run writes them, and it holds the zone's row."""
    await db.execute(
        """insert into delivery_quarters (delivery_zone, version, recorded_at, first_period, end_period,
             exported_kw, imported_kw, netted_kw, unserved_kw)
           select $1, coalesce((select max(version) from delivery_quarters where delivery_zone = $1), 0) + 1,
                  $2, $3, $4, $5, $6, $7, $8""",
        zone,
        now,
        quarters.first,
        quarters.end,
        *(one.tolist() for one in quarters.series()),
    )


async def read_quarters(db: Database, first: int, end: int) -> dict[str, ZoneQuarters]:
    """By zone, in the order of their names; zones of which nothing was planned are left out."""
    rows = await db.fetch(
        """select delivery_zone, first_period, exported_kw, imported_kw, netted_kw, unserved_kw
           from delivery_quarters where end_period > $1 and first_period < $2
           order by delivery_zone, version""",
        first,
        end,
    )
    found: dict[str, ZoneQuarters] = {}
    for row in rows:
        later = ZoneQuarters(
            row["first_period"],
            np.ones(len(row["exported_kw"]), dtype=bool),
            *(np.array(row[name]) for name in ("exported_kw", "imported_kw", "netted_kw", "unserved_kw")),
        )
        found.setdefault(row["delivery_zone"], ZoneQuarters.of_none(first, end)).lay(later)
    return found


async def read_settled_until(db: Database) -> dict[str, int]:
    """By zone, the first period that is not final."""
    rows = await db.fetch(
        "select delivery_zone, settled_until from delivery_zone where settled_until is not null order by delivery_zone"
    )
    return {row["delivery_zone"]: row["settled_until"] for row in rows}
