"""Saying that what an asset has available has changed, for the rooms above that promised or scheduled it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from gridloom.database.pool import Database
from gridloom.jobs import enqueue
from gridloom.kernel.need import Need
from gridloom.kernel.window import Window

AVAILABILITY_CHANGED: Final = "physical-assets.availability-changed"
"""The job, keyed by the asset's key. Whoever has promised the asset's capacity declares its handler."""

Looking = Callable[[Database, int, Window], Awaitable[Any]]
Telling = Callable[[Database, Any, datetime], Awaitable[None]]

LOOK_AT_BACKED: Need[Looking] = Need("what is available of the virtual assets that a battery backs")
"""Before a change, under the battery's lock: `look(db, battery's key, window)`."""
TELL_HOLDERS: Need[Telling] = Need("telling the holders of virtual assets what has changed")
"""After it, in the same transaction: `tell(db, what was seen before, now)`."""

_concerned: list[str] = []


def concerned_by_changes(*, where: str) -> None:
    """Have the job run for assets that somebody relies on: `from … where … order by …` over the asset's key, $1."""
    _concerned.append(where)


def concerned() -> Sequence[str]:
    return _concerned


def any_exists(wheres: Iterable[str]) -> str:
    """SQL that says whether one of these finds anything.

    Each ends in the order of its index. With a plain EXISTS the planner, believing that what it looks for is
    everywhere, would walk the whole table for the asset that has nothing in it.
    """
    return " or ".join(f"(select true {where} limit 1) is not null" for where in wheres) or "false"


async def announce_change(db: Database, asset_key: int) -> None:
    """To be called in the transaction that changes ratings or unavailabilities, after the change.

    Most assets back nothing, and one statement says so. Whoever comes to rely on the asset takes its lock as well, so
    nobody is overlooked.
    """
    now = await db.fetchval(
        f"""
        select date_trunc('milliseconds', platform_now()) from (select $1::int) as asked
        where {any_exists(_concerned)}
        """,  # noqa: S608 — glued from what rooms registered, never from a request
        asset_key,
    )
    if now is not None:
        await enqueue_change(db, asset_key, now)


async def enqueue_change(db: Database, asset_key: int, now: datetime) -> None:
    # What the job looks at begins with the first of the changes that it has not seen.
    await enqueue(db, AVAILABILITY_CHANGED, key=str(asset_key), due=now, clock="platform", at_latest=True)
