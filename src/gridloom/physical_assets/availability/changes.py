"""Saying that what an asset has available has changed, for the rooms above that promised or scheduled it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Final

from gridloom.capacity.store import LockedBatteries
from gridloom.kernel.dependency import Dependency
from gridloom.kernel.market_time import period_number, period_number_from
from gridloom.kernel.window import Window
from gridloom.physical_assets.precheck_store import has_future_holdings, is_dispatched_ahead, read_delivery_zone
from gridloom.platform.database.pool import Database
from gridloom.platform.jobs import enqueue

AVAILABILITY_CHANGED: Final = "physical-assets.availability-changed"
"""The job, keyed by the asset's key. The package that holds the asset's capacity declares its handler."""
FOLLOW_OWNER_JOB: Final = "delivery.follow-owner"
"""The job, keyed by the asset's key: a battery that is in no plan any more is dispatched by what its owner has
changed."""
ASSESS_FAILURES_JOB: Final = "delivery.assess-failures"
"""The job, keyed by `zone/first period/end`: what batteries failed in periods of which an outage was corrected."""

ReadBackedAvailability = Callable[[Database, int, Window], Awaitable[Any]]
EmitAvailabilityChanged = Callable[[Database, Any, datetime], Awaitable[None]]

READ_BACKED_AVAILABILITY: Dependency[ReadBackedAvailability] = Dependency(
    "what is available of the virtual assets that a battery backs"
)
"""Before a change, under the battery's lock: `look(db, battery's key, window)`."""
EMIT_AVAILABILITY_CHANGED: Dependency[EmitAvailabilityChanged] = Dependency(
    "telling the holders of virtual assets what has changed"
)
"""After it, in the same transaction: `emit(db, availability before, now)`."""


async def enqueue_revalidation_if_held(db: Database, locked: LockedBatteries, asset_key: int) -> None:
    """To be called in the transaction that changes ratings or unavailabilities, after the change.

    Most assets have no holder, and one statement says so. A caller that comes to rely on the asset takes its lock
    as well, so no holder is missed.
    """
    if await has_future_holdings(db, asset_key, locked.since):
        await enqueue_revalidation(db, locked, asset_key)
    await enqueue_following(db, locked, asset_key)


async def enqueue_revalidation(db: Database, locked: LockedBatteries, asset_key: int) -> None:
    assert asset_key in locked.keys, "a change is propagated under the battery's lock"
    # What the job looks at begins with the first of the changes that it has not seen.
    await enqueue(
        db, AVAILABILITY_CHANGED, key=str(asset_key), due=locked.since, clock="platform", keep_earlier_due=True
    )


async def enqueue_following(db: Database, locked: LockedBatteries, asset_key: int) -> None:
    """To be called after a change of what its owner does or allows, for a battery of which something is dispatched."""
    if await is_dispatched_ahead(db, asset_key, locked.since):
        await enqueue(
            db, FOLLOW_OWNER_JOB, key=str(asset_key), due=locked.since, clock="platform", keep_earlier_due=True
        )


async def enqueue_assessment_if_begun(db: Database, asset_key: int, window: Window, now: datetime) -> None:
    """To be called in the transaction that changes an unavailability: of periods that have begun it is settled anew
    what the batteries of the zone failed."""
    first, end = period_number(window.start), period_number_from(min(window.end, now))
    if first >= end:
        return
    zone = await read_delivery_zone(db, asset_key)
    await enqueue(db, ASSESS_FAILURES_JOB, key=f"{zone}/{first}/{end}", due=now, clock="platform")
