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
from gridloom.physical_assets.availability import AvailabilitySeries, Rating, load_availability
from gridloom.physical_assets.availability.changes import any_exists, concerned, enqueue_change

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

_finders: dict[ConflictFinder, str] = {}
_lasts: list[str] = []


def finds_conflicts(*, where: str, last: str | None = None) -> Callable[[ConflictFinder], ConflictFinder]:
    """Have a finder asked whenever an asset's availability changes, and by its health.

    where: tells cheaply whether there is anything to look at, as `from … where … order by …` over the asset's key, $1,
    and a window from $2 to $3; the order is that of the index to use.
    last: until when something is promised, as `select max(…) from … where …` over the asset's key, $1; without it,
    health looks a week beyond the last known change of what is available.
    """

    def register(finder: ConflictFinder) -> ConflictFinder:
        _finders[finder] = where
        if last is not None:
            _lasts.append(last)
        return finder

    return register


def last_promises() -> str:
    """SQL for the moments until which something is promised from the asset with the key $1, as a list of values."""
    return ", ".join(f"({last})" for last in _lasts) or "null::timestamptz"


@dataclass(frozen=True, slots=True)
class Glance:
    """What a change in a window of an asset could touch, seen under the asset's lock."""

    now: datetime
    window: Window
    is_promised: bool
    is_relied_on: bool
    ratings: list[Rating]


async def look_ahead(db: Database, asset_key: int, window: Window) -> Glance:
    """Mostly nothing was promised in the window and nobody relies on the asset; one statement says so, and brings the
    ratings that hold until the window's end."""
    rows = await db.fetch(
        f"""
        select date_trunc('milliseconds', platform_now()) as now, {any_exists(_finders.values())} as is_promised,
               {any_exists(concerned())} as is_relied_on, r.*
        from (select $1::int, $2::timestamptz, $3::timestamptz) as asked
        left join lateral (
          select distinct on (valid_from) valid_from, rated_charge_power_kw, rated_discharge_power_kw,
                 energy_capacity_kwh, fcr_limit_ratio
          from physical_asset_parameters where asset_key = $1 and valid_from < $3
          order by valid_from, version desc
        ) r on true
        """,  # noqa: S608 — glued from what rooms registered, never from a request
        asset_key,
        window.start,
        window.end,
    )
    now, is_promised, is_relied_on, *_ = rows[0]
    ratings = [Rating(*tuple(row)[3:]) for row in rows if row["valid_from"] is not None]
    return Glance(now, window, is_promised, is_relied_on, ratings)


async def ripple(db: Database, asset_key: int, glance: Glance) -> list[Conflict]:
    """To be called after the change: tell whoever relies on the asset, and find what no longer fits."""
    if glance.is_relied_on:
        await enqueue_change(db, asset_key, glance.now)
    return await _conflicts_ahead(db, asset_key, glance)


async def find_conflicts(db: Database, asset_key: int, window: Window) -> list[Conflict]:
    """What is still to come in the window and does not fit what is available then, in order of time."""
    return await _conflicts_ahead(db, asset_key, await look_ahead(db, asset_key, window))


async def _conflicts_ahead(db: Database, asset_key: int, glance: Glance) -> list[Conflict]:
    start = max(glance.window.start, glance.now)
    end = min(glance.window.end, start + LONGEST)
    if start >= end or not glance.is_promised:
        return []
    ahead = Window(start, end)
    series = (await load_availability(db, [asset_key], ahead))[asset_key]
    found = [conflict for finder in _finders for conflict in await finder(db, asset_key, ahead, series)]
    return sorted(found, key=lambda conflict: (conflict.start, conflict.kind))[:MOST_CONFLICTS]
