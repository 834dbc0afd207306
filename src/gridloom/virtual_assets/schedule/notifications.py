"""The event and the revalidation job that follow a change of schedules."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from gridloom.kernel.market_time import period_start
from gridloom.kernel.permission import Permission
from gridloom.market_calendar import format_period
from gridloom.platform.database.pool import Database
from gridloom.platform.events.outbox import record_event
from gridloom.platform.jobs import enqueue
from gridloom.virtual_assets.model import LockedAsset, LockedAssetKey, VirtualAsset

READ = Permission.READ_VIRTUAL_ASSETS


async def emit_updated(
    db: Database, asset: VirtualAsset, block_id: UUID, first: int, end: int, periods: int, version: int
) -> None:
    """`periods` of the periods [first, end) were set."""
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


CLOSE_GATE: Final = "virtual-assets.close-gate"
"""Job, keyed by a virtual asset's key: revalidates the periods whose gates have closed."""


async def enqueue_revalidation(db: Database, asset: LockedAsset | LockedAssetKey, due: datetime) -> None:
    """Revalidate all gates that close from `due` on, and earlier ones that a pending job covers.

    The asset must be locked, because a running revalidation could otherwise reschedule over it.
    """
    await enqueue(db, CLOSE_GATE, key=str(asset.key), due=due, clock="platform", keep_earlier_due=True)


async def reschedule_revalidation(db: Database, asset: LockedAsset, period: int) -> None:
    """For the revalidation itself: the next one is due when the gate of this period closes."""
    due = period_start(period) - timedelta(seconds=asset.terms.gate_closure_s)
    await enqueue(db, CLOSE_GATE, key=str(asset.key), due=due, clock="platform")
