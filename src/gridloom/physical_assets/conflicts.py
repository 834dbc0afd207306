"""What was promised and no longer fits: every room that promises an asset's power registers how to find it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from gridloom.database.pool import Database
from gridloom.edge import View
from gridloom.kernel.window import Window
from gridloom.physical_assets.availability import AvailabilitySeries, load_availability

MOST_CONFLICTS = 1000
LONGEST = timedelta(days=3 * 366)  # nothing is promised further ahead


class ConflictKind(StrEnum):
    ANCILLARY_BID = "ANCILLARY_BID"
    SCHEDULE = "SCHEDULE"
    VIRTUAL_ASSET_BLOCK = "VIRTUAL_ASSET_BLOCK"


class Conflict(View):
    """A bid, a stretch of schedule or a block that asks for more than will be available."""

    kind: ConflictKind
    start: datetime
    end: datetime
    power: Annotated[float, Meta(description="kW that are promised; positive is export")]
    available: Annotated[float, Meta(description="kW that are available in that direction at the worst moment")]
    detail: str
    id: Annotated[UUID, Meta(description="The bid or the block")] | UnsetType = UNSET
    product_date_code: str | UnsetType = UNSET
    virtual_asset_id: UUID | UnsetType = UNSET


ConflictFinder = Callable[[Database, int, Window, AvailabilitySeries], Awaitable[list[Conflict]]]
"""From the asset's key, a window that has not ended and the availability over it, to what does not fit in it."""

_finders: dict[ConflictFinder, str] = {}


def finds_conflicts(*, where: str) -> Callable[[ConflictFinder], ConflictFinder]:
    """Have a finder asked whenever an asset's availability changes, and by its health.

    where: tells cheaply whether there is anything to look at, as `from … where …` over the asset's key, $1, and a
    window from $2 to $3.
    """

    def register(finder: ConflictFinder) -> ConflictFinder:
        _finders[finder] = where
        return finder

    return register


async def find_conflicts(db: Database, asset_key: int, window: Window) -> list[Conflict]:
    """What is still to come in the window and does not fit what is available then, in order of time.

    Mostly nothing was promised in the window, and one statement says so.
    """
    promised = " or ".join(f"exists (select {where})" for where in _finders.values())
    probe = await db.fetchrow(
        f"select date_trunc('milliseconds', platform_now()) as now, {promised or 'false'} as is_promised",
        asset_key,
        window.start,
        window.end,
    )
    assert probe is not None
    start, end = max(window.start, probe["now"]), min(window.end, probe["now"] + LONGEST)
    if start >= end or not probe["is_promised"]:
        return []
    ahead = Window(start, end)
    series = (await load_availability(db, [asset_key], ahead))[asset_key]
    found = [conflict for finder in _finders for conflict in await finder(db, asset_key, ahead, series)]
    return sorted(found, key=lambda conflict: (conflict.start, conflict.kind))[:MOST_CONFLICTS]
