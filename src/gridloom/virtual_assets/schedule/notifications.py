"""What others learn when schedules are changed."""

from __future__ import annotations

from uuid import UUID

from gridloom.database.pool import Database
from gridloom.events.outbox import record_event
from gridloom.kernel.permission import Permission
from gridloom.market_calendar import wire_time
from gridloom.virtual_assets.model import VirtualAsset

READ = Permission.READ_VIRTUAL_ASSETS


async def tell_updated(
    db: Database, asset: VirtualAsset, block_id: UUID, first: int, end: int, periods: int, version: int
) -> None:
    """`periods` of those from `first` to `end` were set."""
    await record_event(
        db,
        type="schedule.updated",
        organisation_id=asset.organisation_id,
        subject=f"virtual-assets/{asset.id}",
        permission=READ,
        asset_key=asset.key,
        data={
            "blockID": block_id,
            "start": wire_time(first),
            "end": wire_time(end),
            "periods": periods,
            "version": version,
        },
    )
