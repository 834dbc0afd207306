"""What others learn when schedules are changed."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from gridloom.events.outbox import record_event
from gridloom.kernel.permission import Permission
from gridloom.market_calendar import format_period
from gridloom.virtual_assets.model import VirtualAsset

if TYPE_CHECKING:
    from gridloom.database.commit.single_statement import RowSink

READ = Permission.READ_VIRTUAL_ASSETS


async def emit_updated(
    db: RowSink, asset: VirtualAsset, block_id: UUID, first: int, end: int, periods: int, version: int
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
            "start": format_period(first),
            "end": format_period(end),
            "periods": periods,
            "version": version,
        },
    )
