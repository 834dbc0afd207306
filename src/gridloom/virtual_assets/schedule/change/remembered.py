"""What this process remembers of assets whose schedules it was the last to change: it need not read them again.

Nobody answers from it. What is judged by it is written on the condition that all of it still holds: the asset has the
revision that this process has given it, which nobody else can have given it; its batteries stand as they stood; and the
clock opens and closes the same gates. Else it is read after all.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from msgspec import Struct

from gridloom.virtual_assets.backing.availability import AvailableFraction
from gridloom.virtual_assets.model import VirtualAsset
from gridloom.virtual_assets.schedule.change.context_store import Recalled, ScheduleContext, first_of_standing
from gridloom.virtual_assets.schedule.change.draft import Draft
from gridloom.virtual_assets.schedule.rules import first_open_period, gate_closes_at
from gridloom.virtual_assets.schedule.store import DayPowers
from gridloom.virtual_assets.store import cache_asset

MAX_CACHED: Final = 1000
MAX_DAYS: Final = 20_000
"""With a schedule, of all assets together: some twenty megabytes."""
SHARED_S: Final = 60.0
"""So long an asset is read each time, once somebody else has changed it: they may well do so again."""


class Remembered(Struct, frozen=True, eq=False):
    asset: VirtualAsset
    context: ScheduleContext


class _Days:
    """How many days are remembered of all assets together."""

    count = 0


_days = _Days()
_remembered: dict[UUID, Remembered] = {}
"""The asset that was changed last stands last."""
_shared_until_s: dict[UUID, float] = {}


def cached_context(
    asset_id: UUID, organisation_id: UUID, days: Sequence[int]
) -> tuple[VirtualAsset, ScheduleContext] | None:
    """What a change of these days is judged by, if it is known without reading; it may no longer be so."""
    found = _remembered.get(asset_id)
    if found is None or found.asset.organisation_id != organisation_id:
        return None
    asset, context = found.asset, found.context
    if len(days) != 1 or days[0] not in context.powers:
        return None
    if first_of_standing(asset, days) < context.asked["from_period"]:
        return None
    if context.recalled is None or time.monotonic() >= context.recalled.until_s:
        return None
    return asset, context


def remember_change(
    asset: VirtualAsset, context: ScheduleContext, draft: Draft, available: AvailableFraction, step: int
) -> None:
    """What stands once a change of a whole asset is committed that was judged by `context` and raised the revision by
    `step`."""
    changed = VirtualAsset(
        key=asset.key,
        id=asset.id,
        organisation_id=asset.organisation_id,
        created_at=asset.created_at,
        terms=asset.terms,
        version=asset.version + 1,
        end_kwh=draft.end_kwh,
        first_misfit=asset.first_misfit,
        judged_until=asset.judged_until,
        first_activated=asset.first_activated,
        revision=asset.revision + step,
        promises=asset.promises,
        periods=asset.periods,
    )
    cache_asset(changed)
    if asset.id in _shared_until_s:
        if time.monotonic() < _shared_until_s[asset.id]:
            return
        del _shared_until_s[asset.id]
    powers = _find_known_days(asset, context)
    for row, day in enumerate(draft.days):
        powers[day] = powers.get(day, {}) | {lane: rows_kw[row] for lane, rows_kw in draft.lanes_kw.items()}
    known = ScheduleContext(
        now=context.now,
        read_s=context.read_s,
        blocks=context.blocks,
        powers=powers,
        summaries=draft.after,
        batteries=context.batteries,
        standing=context.standing,
        asked=context.asked,
        recalled=_find_span(asset, context, available),
    )
    _evict_asset(asset.id)
    _remembered[asset.id] = Remembered(changed, known)
    _days.count += len(powers)
    while len(_remembered) > MAX_CACHED or _days.count > MAX_DAYS:
        _evict_asset(next(iter(_remembered)))


def _evict_asset(asset_id: UUID) -> None:
    found = _remembered.pop(asset_id, None)
    if found is not None:
        _days.count -= len(found.context.powers)


def _find_span(asset: VirtualAsset, context: ScheduleContext, available: AvailableFraction) -> Recalled:
    """For how long it can be judged by `context`, once it is remembered."""
    if context.recalled is not None and context.recalled.whole_from <= available.first:
        return context.recalled
    assert available.is_full, "what is remembered goes as asked"
    gate_closure_s = asset.terms.gate_closure_s
    first_open = first_open_period(context.now, gate_closure_s)
    until = gate_closes_at(first_open, gate_closure_s)
    return Recalled(
        not_before=gate_closes_at(first_open - 1, gate_closure_s),
        until=until,
        until_s=context.read_s + (until - context.now).total_seconds(),
        first_open=first_open,
        whole_from=available.first,
    )


def _find_known_days(asset: VirtualAsset, context: ScheduleContext) -> DayPowers:
    """The schedules of the days that were read or recalled, and of others that are remembered of the same revision."""
    found = _remembered.get(asset.id)
    if found is None or found.context is context or found.asset.revision != asset.revision:
        return dict(context.powers)
    return found.context.powers | context.powers


def evict_shared(asset_id: UUID) -> None:
    """What was remembered of the asset was not so: somebody else has changed it, and may do so again."""
    _evict_asset(asset_id)
    _shared_until_s.pop(asset_id, None)
    _shared_until_s[asset_id] = time.monotonic() + SHARED_S
    while len(_shared_until_s) > MAX_CACHED:
        del _shared_until_s[next(iter(_shared_until_s))]
