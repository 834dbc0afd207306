"""Changing schedules at once where a glance is enough to judge them, and behind the asset's lock where it is not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from gridloom.edge import Call
from gridloom.identity.reach import organisation_reach
from gridloom.kernel.problem import Problem
from gridloom.virtual_assets.asset_lookup import lock_known_asset
from gridloom.virtual_assets.asset_queue import queue_for
from gridloom.virtual_assets.blocks.wire import NewSchedule, ShownQuery
from gridloom.virtual_assets.model import VirtualAsset
from gridloom.virtual_assets.schedule.change.ground_store import Ground, read_asset_and_ground, read_ground
from gridloom.virtual_assets.schedule.change.remembered import forget_shared, recall_ground
from gridloom.virtual_assets.schedule.change.scheduling import NeedsLock, may_go_as_asked
from gridloom.virtual_assets.schedule.change.version_store import ChangedSince
from gridloom.virtual_assets.schedule.points import touched_days
from gridloom.virtual_assets.store import last_seen

if TYPE_CHECKING:
    from gridloom.database.committing.at_once import WriteOnly

A = TypeVar("A")
Accept = Callable[["WriteOnly", VirtualAsset, Ground], Awaitable[A]]
"""Judges a change of the asset by what stands of it, and writes it."""


async def change_schedule(
    call: Call, organisation_id: UUID, asset_id: UUID, body: NewSchedule, query: ShownQuery, accept: Accept[A]
) -> A:
    """Have a change accepted, once: at once, if nobody changes the asset between reading it and writing.

    A window that is asked for may reach beyond what the change touches: it is read after it, in its transaction.
    """
    async with queue_for(asset_id):
        if query.start is None and query.end is None:
            with suppress(NeedsLock, ChangedSince):
                accepted = await _change_at_once(call, organisation_id, asset_id, body, accept)
                if accepted is not None:
                    return accepted
            call.forget_at_once()
        asset = await lock_known_asset(call, organisation_id, asset_id)
        ground = await read_ground(call.db, asset, touched_days(body, asset))
        return await accept(call.db, asset, ground)


async def _change_at_once(
    call: Call, organisation_id: UUID, asset_id: UUID, body: NewSchedule, accept: Accept[A]
) -> A | None:
    """None for an asset that this process does not know, that is not there, or that is never judged at a glance."""
    known = last_seen(asset_id)
    if known is None or not may_go_as_asked(known):
        return None
    change = await call.begin_at_once_after_reading()
    owner = await organisation_reach(call.db, call.caller, organisation_id)
    days = touched_days(body, known)
    recalled = recall_ground(asset_id, owner, days)
    if recalled is not None:
        try:
            return await accept(change, *recalled)
        except ChangedSince:
            forget_shared(asset_id)
        except Problem:
            pass  # whether it is refused is judged by what is read, and so is what the refusal says
        call.forget_at_once()
        change = await call.begin_at_once_after_reading()
    found = await read_asset_and_ground(call.db, owner, known, _add_last_day(days, known))
    return None if found is None else await accept(change, *found)


def _add_last_day(days: Sequence[int], asset: VirtualAsset) -> Sequence[int]:
    """What is scheduled at the end of life tells what can still be done about an imbalance."""
    last = asset.days[-1]
    return days if not days or days[-1] == last else [*days, last]
