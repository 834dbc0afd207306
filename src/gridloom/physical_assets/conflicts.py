"""Promises that no longer fit, of all packages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from msgspec import UNSET, UnsetType

from gridloom.capacity.availability import AvailabilitySeries
from gridloom.capacity.store import LockedBatteries, load_availability
from gridloom.kernel.dependency import Dependency
from gridloom.kernel.window import Window
from gridloom.physical_assets.availability.changes import enqueue_following, enqueue_revalidation
from gridloom.physical_assets.precheck_store import ChangePrecheck, read_precheck
from gridloom.platform.database.pool import Database
from gridloom.platform.http import ResponseBody

MAX_CONFLICTS = 1000
MAX_WINDOW = timedelta(days=3 * 366)  # what is looked at in one go


class ConflictKind(StrEnum):
    SCHEDULE = "SCHEDULE"
    ANCILLARY_BID = "ANCILLARY_BID"
    VIRTUAL_ASSET = "VIRTUAL_ASSET"
    AUCTION = "AUCTION"
    VIRTUAL_ASSET_BLOCK = "VIRTUAL_ASSET_BLOCK"


class MissingCapacity(ResponseBody):
    """The uncovered part at the worst instant: kW and kWh."""

    charge: float
    discharge: float
    energy: float


class CapacityConflict(ResponseBody, kw_only=True):
    """A holder of more of the asset than will be there for it: an interval of its own schedule, a bid, a promise to a
    virtual asset or an open auction, which bear a loss in this order, the last two and accepted bids alike; or a
    block whose schedule asks for more than its virtual asset has left."""

    kind: ConflictKind
    start: datetime
    end: datetime
    power: float
    available: float
    detail: str
    missing: MissingCapacity | UnsetType = UNSET
    id: UUID | UnsetType = UNSET
    product_date_code: str | UnsetType = UNSET
    virtual_asset_id: UUID | UnsetType = UNSET
    auction_id: UUID | UnsetType = UNSET


ConflictFinder = Callable[[Database, int, Window, AvailabilitySeries], Awaitable[list[CapacityConflict]]]
"""From the asset's key, a window that has not ended and the availability over it, to what does not fit in it."""

CONFLICT_FINDERS: Dependency[tuple[ConflictFinder, ...]] = Dependency("who finds what no longer fits")
"""One for each kind of promise; asked whenever an asset's availability changes, and by its health."""


async def propagate_change(
    db: Database, locked: LockedBatteries, asset_key: int, precheck: ChangePrecheck
) -> list[CapacityConflict]:
    """Call it after the change: enqueues revalidation for holders of the asset and returns conflicts."""
    if precheck.is_relied_on:
        await enqueue_revalidation(db, locked, asset_key)
    await enqueue_following(db, locked, asset_key)
    return await _find_future_conflicts(db, asset_key, precheck)


async def find_conflicts(db: Database, asset_key: int, window: Window, now: datetime) -> list[CapacityConflict]:
    """Future promises in the window that exceed the capacity available then, in order of time."""
    return await _find_future_conflicts(db, asset_key, await read_precheck(db, asset_key, window, now))


async def _find_future_conflicts(db: Database, asset_key: int, precheck: ChangePrecheck) -> list[CapacityConflict]:
    start = max(precheck.window.start, precheck.now)
    end = min(precheck.window.end, start + MAX_WINDOW)
    if start >= end or not precheck.has_commitments_in_window:
        return []
    ahead = Window(start, end)
    series = (await load_availability(db, [asset_key], ahead))[asset_key]
    found = [conflict for finder in CONFLICT_FINDERS.get() for conflict in await finder(db, asset_key, ahead, series)]
    return sorted(found, key=lambda conflict: (conflict.start, conflict.kind))[:MAX_CONFLICTS]
