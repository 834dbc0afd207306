"""Placed drift in PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

import numpy as np

from gridloom.database.pool import Database
from gridloom.delivery.planning.drift_placement import NoonDrift
from gridloom.market_calendar import Floats


async def read_noons(db: Database, zone: str, since: date) -> dict[date, NoonDrift]:
    rows = await db.fetch(
        "select day, drift_kwh, placed_kwh from delivery_zone_drift where delivery_zone = $1 and day >= $2", zone, since
    )
    return {row["day"]: NoonDrift(row["drift_kwh"], row["placed_kwh"]) for row in rows}


async def put_noon(db: Database, zone: str, day: date, noon: NoonDrift) -> None:
    await db.execute(
        """insert into delivery_zone_drift (delivery_zone, day, drift_kwh, placed_kwh) values ($1, $2, $3, $4)
           on conflict (delivery_zone, day) do update set drift_kwh = excluded.drift_kwh,
             placed_kwh = excluded.placed_kwh""",
        zone,
        day,
        noon.drift_kwh,
        noon.placed_kwh,
    )


async def add_placement(
    db: Database, asset_key: int, day: date, first_period: int, power_kw: Floats, now: datetime
) -> None:
    """Drift of a battery is placed once for a day; a second placement changes nothing."""
    await db.execute(
        """insert into delivery_drift (asset_key, day, first_period, power_kw, recorded_at)
           values ($1, $2, $3, $4, $5) on conflict (asset_key, day) do nothing""",
        asset_key,
        day,
        first_period,
        power_kw.tolist(),
        now,
    )


@dataclass(frozen=True, slots=True, eq=False)
class PlacedDrift:
    """A battery's placed drift over the periods of a market day from `first` on."""

    asset_key: int
    day: date
    first: int
    power_kw: Floats
    recorded_at: datetime


async def read_placements(db: Database, since: date) -> list[PlacedDrift]:
    """Of all batteries, by day."""
    rows = await db.fetch(
        """select asset_key, day, first_period, power_kw, recorded_at from delivery_drift where day >= $1
           order by day, asset_key""",
        since,
    )
    return [
        PlacedDrift(row["asset_key"], row["day"], row["first_period"], np.array(row["power_kw"]), row["recorded_at"])
        for row in rows
    ]
