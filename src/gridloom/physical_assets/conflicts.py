"""What was promised and no longer fits: every room that promises an asset's power registers how to find it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from gridloom.database.pool import Database
from gridloom.edge import View
from gridloom.kernel.window import Window
from gridloom.physical_assets.availability import AvailabilitySeries, load_availability
from gridloom.physical_assets.availability.changes import any_exists, concerned, enqueue_change

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


async def ripple(db: Database, asset_key: int, window: Window) -> list[Conflict]:
    """To be called after a change of what the asset can do in the window: tell whoever relies on it, and find what no
    longer fits."""
    glance = await _glance(db, asset_key, window)
    if glance.is_relied_on:
        await enqueue_change(db, asset_key, glance.now)
    return await _conflicts_ahead(db, asset_key, window, glance)


async def find_conflicts(db: Database, asset_key: int, window: Window) -> list[Conflict]:
    """What is still to come in the window and does not fit what is available then, in order of time."""
    return await _conflicts_ahead(db, asset_key, window, await _glance(db, asset_key, window))


@dataclass(frozen=True, slots=True)
class _Glance:
    now: datetime
    is_promised: bool
    is_relied_on: bool


async def _glance(db: Database, asset_key: int, window: Window) -> _Glance:
    """Mostly nothing was promised in the window and nobody relies on the asset; one statement says so."""
    row = await db.fetchrow(
        f"""
        select date_trunc('milliseconds', platform_now()) as now, {any_exists(_finders.values())} as is_promised,
               {any_exists(concerned())} as is_relied_on
        from (select $1::int, $2::timestamptz, $3::timestamptz) as asked
        """,  # noqa: S608 — glued from what rooms registered, never from a request
        asset_key,
        window.start,
        window.end,
    )
    assert row is not None
    return _Glance(row["now"], row["is_promised"], row["is_relied_on"])


async def _conflicts_ahead(db: Database, asset_key: int, window: Window, glance: _Glance) -> list[Conflict]:
    start, end = max(window.start, glance.now), min(window.end, glance.now + LONGEST)
    if start >= end or not glance.is_promised:
        return []
    ahead = Window(start, end)
    series = (await load_availability(db, [asset_key], ahead))[asset_key]
    found = [conflict for finder in _finders for conflict in await finder(db, asset_key, ahead, series)]
    return sorted(found, key=lambda conflict: (conflict.start, conflict.kind))[:MOST_CONFLICTS]
