"""Reads, in one statement, all that the availability of some assets depends on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from gridloom.database.pool import Database
from gridloom.kernel.market_time import PERIOD, floor_to_period
from gridloom.kernel.window import Window
from gridloom.physical_assets.availability.series import AvailabilitySeries, Outage, Rating, availability

# Of versions with the same valid_from the highest holds. The past needs only the last rating, but ratings are few.
RATINGS_AND_OUTAGES = """
select asset_key, valid_from as starts_at, null::timestamptz as ends_at,
       rated_charge_power_kw as charge_kw, rated_discharge_power_kw as discharge_kw,
       energy_capacity_kwh as energy_kwh, fcr_limit_ratio
from (select distinct on (asset_key, valid_from) * from physical_asset_parameters
      where asset_key = any($1::int[]) and valid_from < $3
      order by asset_key, valid_from, version desc) as in_force
union all
select asset_key, starts_at, ends_at, charge_power_kw, discharge_power_kw, energy_kwh, null
from unavailability
where asset_key = any($1::int[]) and ends_at > $2 and starts_at < $3
"""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """An asset's ratings and whatever is missing from it."""

    ratings: list[Rating] = field(default_factory=list)
    outages: list[Outage] = field(default_factory=list)


async def load_circumstances(db: Database, asset_keys: Collection[int], window: Window) -> dict[int, Circumstances]:
    """By asset key, for every key asked for."""
    found = {key: Circumstances() for key in asset_keys}
    for row in await db.fetch(RATINGS_AND_OUTAGES, list(found), window.start, window.end):
        circumstances = found[row["asset_key"]]
        volumes = (row["charge_kw"], row["discharge_kw"], row["energy_kwh"])
        if row["ends_at"] is None:
            circumstances.ratings.append(Rating(row["starts_at"], *volumes, row["fcr_limit_ratio"]))
        else:
            circumstances.outages.append(Outage(row["starts_at"], row["ends_at"], *volumes))
    return found


async def load_availability(db: Database, asset_keys: Collection[int], window: Window) -> dict[int, AvailabilitySeries]:
    """The availability of each asset over every period that the window touches."""
    return {
        key: availability(circumstances.ratings, circumstances.outages, window)
        for key, circumstances in (await load_circumstances(db, asset_keys, whole_periods(window))).items()
    }


def whole_periods(window: Window) -> Window:
    """The window widened to the periods it touches, since what happens anywhere in them counts."""
    start = floor_to_period(window.start)
    end = floor_to_period(window.end)
    return Window(start, end if end == window.end else end + PERIOD)
