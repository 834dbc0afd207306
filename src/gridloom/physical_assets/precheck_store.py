"""Cheap check for holdings of an asset, before expensive checks.

Each lookup is in the order of its index and stops at the first row. With a plain EXISTS the planner, believing that
what it looks for is everywhere, would walk the whole table for the asset that has nothing in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gridloom.capacity.availability import Rating
from gridloom.kernel.window import Window
from gridloom.platform.database.pool import Database


@dataclass(frozen=True, slots=True)
class ChangePrecheck:
    """Whether a change in a window of an asset could touch anything, read under the asset's lock."""

    now: datetime
    window: Window
    has_commitments_in_window: bool
    """Something is held or scheduled in the window."""
    is_relied_on: bool
    """There are holdings from now on."""
    ratings: list[Rating]
    """Those that hold until the window's end."""


async def read_precheck(db: Database, asset_key: int, window: Window, now: datetime) -> ChangePrecheck:
    rows = await db.fetch(
        """
        select (select true from capacity_holding
                where asset_key = $1 and end_period > extract(epoch from $2::timestamptz) / 900
                  and first_period < extract(epoch from $3::timestamptz) / 900
                order by asset_key, end_period limit 1) is not null
               or (select true from physical_schedule where asset_key = $1 and period >= $2 and period < $3
                   order by asset_key, period limit 1) is not null as is_promised,
               (select true from capacity_holding
                where asset_key = $1 and end_period > extract(epoch from $4::timestamptz) / 900
                order by asset_key, end_period limit 1) is not null as is_relied_on,
               r.valid_from, r.rated_charge_power_kw, r.rated_discharge_power_kw, r.energy_capacity_kwh,
               r.fcr_limit_ratio
        from (select $1::int, $2::timestamptz, $3::timestamptz) as asked
        left join lateral (
          select valid_from, rated_charge_power_kw, rated_discharge_power_kw, energy_capacity_kwh, fcr_limit_ratio
          from parameters_in_force where asset_key = $1 and valid_from < $3
        ) r on true
        """,
        asset_key,
        window.start,
        window.end,
        now,
    )
    ratings = [Rating(*rating) for _, _, *rating in rows if rating[0] is not None]
    return ChangePrecheck(now, window, rows[0]["is_promised"], rows[0]["is_relied_on"], ratings)


async def has_future_holdings(db: Database, asset_key: int, now: datetime) -> bool:
    """Whether the asset has holdings from now on."""
    found: bool | None = await db.fetchval(
        """
        select true from capacity_holding
        where asset_key = $1 and end_period > extract(epoch from $2::timestamptz) / 900
        order by asset_key, end_period limit 1
        """,
        asset_key,
        now,
    )
    return found is not None


async def is_dispatched_ahead(db: Database, asset_key: int, now: datetime) -> bool:
    """Whether the asset is dispatched beyond now. A later version may end earlier: it holds what has changed."""
    found: bool | None = await db.fetchval(
        """
        select end_period > extract(epoch from $2::timestamptz) / 900 from dispatch_version
        where asset_key = $1 order by asset_key, end_period desc limit 1
        """,
        asset_key,
        now,
    )
    return bool(found)


async def read_delivery_zone(db: Database, asset_key: int) -> str:
    zone: str = await db.fetchval("select delivery_zone from physical_asset where asset_key = $1", asset_key)
    return zone
