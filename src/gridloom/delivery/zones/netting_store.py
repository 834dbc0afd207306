"""By which part zones' exports and imports were netted, in PostgreSQL."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from gridloom.database.pool import Database
from gridloom.delivery.model import Floats


async def add_netting(
    db: Database, zone: str, now: datetime, first: int, exported_part: Floats, imported_part: Floats
) -> None:
    await db.execute(
        """insert into delivery_netting
             (delivery_zone, version, recorded_at, first_period, end_period, exported_part, imported_part)
           select $1, coalesce((select max(version) from delivery_netting where delivery_zone = $1), 0) + 1,
                  $2, $3, $4, $5, $6""",
        zone,
        now,
        first,
        first + len(exported_part),
        exported_part.tolist(),
        imported_part.tolist(),
    )


async def read_netting(
    db: Database, zone: str, first: int, end: int, as_of: datetime | None = None
) -> tuple[Floats, Floats]:
    """By which part exports and imports of each period are netted; zero where nothing was planned."""
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
