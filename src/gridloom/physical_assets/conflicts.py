"""What was promised and no longer fits, whichever room has promised it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from gridloom.capacity.store import LockedBatteries
from gridloom.database.pool import Database
from gridloom.edge import View
from gridloom.kernel.need import Need
from gridloom.kernel.window import Window
from gridloom.physical_assets.availability import AvailabilitySeries, load_availability
from gridloom.physical_assets.availability.changes import enqueue_change
from gridloom.physical_assets.glance_store import Glance, read_glance

MOST_CONFLICTS = 1000
LONGEST = timedelta(days=3 * 366)  # what is looked at in one go


class ConflictKind(StrEnum):
    SCHEDULE = "SCHEDULE"
    ANCILLARY_BID = "ANCILLARY_BID"
    VIRTUAL_ASSET = "VIRTUAL_ASSET"
    AUCTION = "AUCTION"
    VIRTUAL_ASSET_BLOCK = "VIRTUAL_ASSET_BLOCK"


class Missing(View):
    """What of it is not covered at the worst moment: kW and kWh."""

    charge: float
    discharge: float
    energy: float


class Conflict(View, kw_only=True):
    """Something that holds more of the asset than will be there for it: a stretch of its own schedule, a bid, a promise
    to a virtual asset or an open auction, which bear a loss in this order, the last two and accepted bids alike; or a
    block whose schedule asks for more than its virtual asset has left."""

    kind: ConflictKind
    start: datetime
    end: datetime
    power: Annotated[float, Meta(description="kW that are promised; positive is export")]
    available: Annotated[float, Meta(description="kW that are available in that direction at the worst moment")]
    detail: str
    missing: Annotated[Missing, Meta(description="What of it is not covered at the worst moment")] | UnsetType = UNSET
    id: Annotated[UUID, Meta(description="The bid, the virtual asset, the auction or the block")] | UnsetType = UNSET
    product_date_code: str | UnsetType = UNSET
    virtual_asset_id: UUID | UnsetType = UNSET
    auction_id: UUID | UnsetType = UNSET


ConflictFinder = Callable[[Database, int, Window, AvailabilitySeries], Awaitable[list[Conflict]]]
"""From the asset's key, a window that has not ended and the availability over it, to what does not fit in it."""

CONFLICT_FINDERS: Need[tuple[ConflictFinder, ...]] = Need("who finds what no longer fits")
"""One for each kind of promise; asked whenever an asset's availability changes, and by its health."""


async def ripple(db: Database, locked: LockedBatteries, asset_key: int, glance: Glance) -> list[Conflict]:
    """To be called after the change: tell whoever relies on the asset, and find what no longer fits."""
    if glance.is_relied_on:
        await enqueue_change(db, locked, asset_key)
    return await _conflicts_ahead(db, asset_key, glance)


async def find_conflicts(db: Database, asset_key: int, window: Window, now: datetime) -> list[Conflict]:
    """What is still to come in the window and does not fit what is available then, in order of time."""
    return await _conflicts_ahead(db, asset_key, await read_glance(db, asset_key, window, now))


async def _conflicts_ahead(db: Database, asset_key: int, glance: Glance) -> list[Conflict]:
    start = max(glance.window.start, glance.now)
    end = min(glance.window.end, start + LONGEST)
    if start >= end or not glance.is_promised:
        return []
    ahead = Window(start, end)
    series = (await load_availability(db, [asset_key], ahead))[asset_key]
    found = [conflict for finder in CONFLICT_FINDERS.get() for conflict in await finder(db, asset_key, ahead, series)]
    return sorted(found, key=lambda conflict: (conflict.start, conflict.kind))[:MOST_CONFLICTS]
