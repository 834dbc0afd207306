"""Inputs of an asset's health besides its availability."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from gridloom.physical_assets.model import AssetStatus
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database


@dataclass(frozen=True, slots=True)
class HealthInput:
    """The asset at an instant, and how far ahead anything is scheduled or unavailable."""

    now: datetime
    status: AssetStatus
    active_unavailability_ids: list[UUID]
    horizon: datetime


async def read_health_input(db: Database, asset_key: int) -> HealthInput:
    """A week ahead at least; bids, schedules, unavailabilities and new ratings may reach further."""
    now = await platform_now(db)
    row = await db.fetchrow(
        """
        select p.status,
               array(select id from unavailability
                     where asset_key = $1 and ends_at > $2 and starts_at <= $2 order by id) as active,
               greatest(
                 $2::timestamptz,
                 (select max(valid_from) from physical_asset_parameters where asset_key = $1),
                 (select max(ends_at) from unavailability where asset_key = $1),
                 (select to_timestamp(max(end_period) * 900.0) from capacity_holding
                  where asset_key = $1 and kind not in ('VIRTUAL_ASSET', 'AUCTION')),
                 (select max(period) + interval '15 minutes' from physical_schedule where asset_key = $1)
               ) + interval '8 days' as horizon
        from physical_asset p where p.asset_key = $1
        """,
        asset_key,
        now,
    )
    assert row is not None
    return HealthInput(now, AssetStatus(row["status"]), row["active"], row["horizon"])
