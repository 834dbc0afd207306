"""Changing schedules at once where a glance is enough to judge them, and behind the asset's lock where it is not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from gridloom.edge import Request
from gridloom.identity.authorization import authorize_organisation
from gridloom.kernel.problem import Problem
from gridloom.virtual_assets.asset_locks import asset_lock
from gridloom.virtual_assets.asset_lookup import require_locked_asset
from gridloom.virtual_assets.blocks.wire import NewSchedule, ResponseWindowQuery
from gridloom.virtual_assets.model import VirtualAsset
from gridloom.virtual_assets.schedule.change.apply import LockRequired, supports_optimistic
from gridloom.virtual_assets.schedule.change.context_store import ScheduleContext, read_asset_and_context, read_context
from gridloom.virtual_assets.schedule.change.remembered import cached_context, evict_shared
from gridloom.virtual_assets.schedule.change.version_store import RevisionConflict
from gridloom.virtual_assets.schedule.points import touched_days
from gridloom.virtual_assets.store import cached_asset

if TYPE_CHECKING:
    from gridloom.database.commit.single_statement import RowSink

A = TypeVar("A")
Accept = Callable[["RowSink", VirtualAsset, ScheduleContext], Awaitable[A]]
"""Judges a change of the asset by what stands of it, and writes it."""


async def change_schedule(
    request: Request,
    organisation_id: UUID,
    asset_id: UUID,
    body: NewSchedule,
    query: ResponseWindowQuery,
    accept: Accept[A],
) -> A:
    """Have a change accepted, once: at once, if nobody changes the asset between reading it and writing.

    A window that is asked for may reach beyond what the change touches: it is read after it, in its transaction.
    """
    async with asset_lock(asset_id):
        if query.start is None and query.end is None:
            with suppress(LockRequired, RevisionConflict):
                accepted = await _change_optimistic(request, organisation_id, asset_id, body, accept)
                if accepted is not None:
                    return accepted
            request.cancel_single_statement()
        asset = await require_locked_asset(request, organisation_id, asset_id)
        context = await read_context(request.db, asset, touched_days(body, asset))
        return await accept(request.db, asset, context)


async def _change_optimistic(
    request: Request, organisation_id: UUID, asset_id: UUID, body: NewSchedule, accept: Accept[A]
) -> A | None:
    """None for an asset that this process does not know, that is not there, or that is never judged at a glance."""
    known = cached_asset(asset_id)
    if known is None or not supports_optimistic(known):
        return None
    change = await request.begin_read_then_write()
    owner = await authorize_organisation(request.db, request.caller, organisation_id)
    days = touched_days(body, known)
    recalled = cached_context(asset_id, owner, days)
    if recalled is not None:
        try:
            return await accept(change, *recalled)
        except RevisionConflict:
            evict_shared(asset_id)
        except Problem:
            pass  # whether it is refused is judged by what is read, and so is what the refusal says
        request.cancel_single_statement()
        change = await request.begin_read_then_write()
    found = await read_asset_and_context(request.db, owner, known, _add_last_day(days, known))
    return None if found is None else await accept(change, *found)


def _add_last_day(days: Sequence[int], asset: VirtualAsset) -> Sequence[int]:
    """What is scheduled at the end of life tells what can still be done about an imbalance."""
    last = asset.days[-1]
    return days if not days or days[-1] == last else [*days, last]
