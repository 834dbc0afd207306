"""Saying that what an asset has available has changed, for the rooms above that promised or scheduled it."""

from __future__ import annotations

from typing import Final

from gridloom.database.pool import Database
from gridloom.jobs import enqueue
from gridloom.physical_assets.store import platform_now

AVAILABILITY_CHANGED: Final = "physical-assets.availability-changed"
"""The job, keyed by the asset's key. Whoever has promised the asset's capacity declares its handler."""


async def announce_change(db: Database, asset_key: int) -> None:
    """To be called in the transaction that changes ratings or unavailabilities, after the change."""
    await enqueue(db, AVAILABILITY_CHANGED, key=str(asset_key), due=await platform_now(db), clock="platform")
