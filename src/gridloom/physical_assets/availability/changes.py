"""Saying that what an asset has available has changed, for the rooms above that promised or scheduled it."""

from __future__ import annotations

from typing import Final

from gridloom.database.pool import Database
from gridloom.jobs import enqueue

AVAILABILITY_CHANGED: Final = "physical-assets.availability-changed"
"""The job, keyed by the asset's key. Whoever has promised the asset's capacity declares its handler."""

_concerned: list[str] = []


def concerned_by_changes(*, where: str) -> None:
    """Have the job run for assets that somebody relies on: `from … where …` over the asset's key, $1."""
    _concerned.append(where)


async def announce_change(db: Database, asset_key: int) -> None:
    """To be called in the transaction that changes ratings or unavailabilities, after the change.

    Most assets back nothing, and one statement says so. Whoever comes to rely on the asset takes its lock as well, so
    nobody is overlooked.
    """
    if not _concerned:
        return
    concerns = " or ".join(f"exists (select {where})" for where in _concerned)
    now = await db.fetchval(
        f"select date_trunc('milliseconds', platform_now()) where {concerns}",
        asset_key,
    )
    if now is not None:
        await enqueue(db, AVAILABILITY_CHANGED, key=str(asset_key), due=now, clock="platform")
