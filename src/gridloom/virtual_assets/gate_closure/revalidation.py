"""Re-validation: when gates close, schedules that no longer fit are cut and the cuts are recorded.

Schedules fit when they are accepted. They stop to fit when capacity is lost afterwards, and they may exceed the cycle
limits from the start. Until the gate closes the trader can mend them; then the platform cuts what does not fit. An
asset whose schedules all fit has no job waiting.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from gridloom.database.clock import platform_now
from gridloom.database.pool import Database
from gridloom.jobs import JobRun, job
from gridloom.market_calendar import Floats, Ints
from gridloom.physical_assets.availability.changes import AVAILABILITY_CHANGED
from gridloom.virtual_assets import store
from gridloom.virtual_assets.energy.projection import Cut, project
from gridloom.virtual_assets.energy.projection_input import load_projection_input
from gridloom.virtual_assets.gate_closure.announced import with_announced
from gridloom.virtual_assets.gate_closure.notifications import emit_adjusted
from gridloom.virtual_assets.history import store as history_store
from gridloom.virtual_assets.model import PLATFORM, Adjustment, AdjustmentReason, LockedAsset, VersionKind
from gridloom.virtual_assets.schedule import gate_jobs
from gridloom.virtual_assets.schedule.change.draft import draft_change
from gridloom.virtual_assets.schedule.change.version_store import write_version
from gridloom.virtual_assets.schedule.rules import first_open_period
from gridloom.virtual_assets.schedule.store import LaneChange


@job(AVAILABILITY_CHANGED, clock="platform")
async def enqueue_backed_assets(run: JobRun) -> None:
    """Each virtual asset behind which the battery stands gets a look of its own, in a transaction of its own."""
    for asset in await store.lock_assets_backed_by(run.db, int(run.key), run.due):
        await gate_jobs.enqueue_revalidation(run.db, asset, run.due)


@job(gate_jobs.CLOSE_GATE, clock="platform")
async def close_gate(run: JobRun) -> None:
    await revalidate(run.db, int(run.key), run.due)


async def revalidate(db: Database, asset_key: int, since: datetime) -> list[Adjustment]:
    """Cut what does not fit and whose gate closed after `since`, and come back when the next such gate closes."""
    asset = await store.lock_virtual_asset_by_key(db, asset_key)
    if asset is None:
        return []
    now = await platform_now(db)
    first = first_open_period(since, asset.terms.gate_closure_s)
    if asset.first_misfit is not None:
        first = min(first, asset.first_misfit)
    first, end = asset.clip(max(first, asset.judged_until or 0), asset.end)
    closed = min(max(first, first_open_period(now, asset.terms.gate_closure_s)), end)
    lanes, standing = await load_projection_input(db, asset, first, end)
    projection = project(standing)
    cuts = [cut for cut in projection.cuts if first + cut.position < closed]
    adjustments = [Adjustment(first + c.position, c.accepted_kw, c.adjusted_kw, c.reason) for c in cuts]
    if cuts:
        adjustments = await with_announced(db, asset, adjustments, own_cycles=True)
        await _write_cuts(db, asset, _list_changes(lanes, projection.power_kw, cuts, first), adjustments, now)
    misfit = next((first + cut.position for cut in projection.cuts[len(cuts) :]), None)
    await store.set_validated(db, asset, closed, misfit)
    if misfit is not None:
        await gate_jobs.reschedule_revalidation(db, asset, misfit)
    return adjustments


async def adjust_unserved_periods(
    db: Database, asset_key: int, periods: Ints, power_kw: Floats, reason: AdjustmentReason
) -> None:
    """Bring closed periods down to the power that the batteries of the zone could serve, lanes in proportion."""
    asset = await store.lock_virtual_asset_by_key(db, asset_key)
    if asset is None or not len(periods):
        return
    first, end = int(periods[0]), int(periods[-1]) + 1
    lanes, standing = await load_projection_input(db, asset, first, end)
    places = periods - first
    accepted_kw = standing.power_kw.sum(axis=0)[places]
    kept = np.ones(len(periods))
    np.divide(power_kw, accepted_kw, out=kept, where=accepted_kw != 0)
    lanes_kw = standing.power_kw[:, places] * np.clip(kept, 0.0, 1.0)
    changes = {lane: LaneChange(periods, lanes_kw[row]) for row, lane in enumerate(lanes)}
    adjustments = [
        Adjustment(period, accepted, adjusted, reason)
        for period, accepted, adjusted in zip(
            periods.tolist(), accepted_kw.tolist(), lanes_kw.sum(axis=0).tolist(), strict=True
        )
    ]
    now = await platform_now(db)
    adjustments = await with_announced(db, asset, adjustments, own_cycles=False)
    await _write_cuts(db, asset, changes, adjustments, now)
    await gate_jobs.enqueue_revalidation(db, asset, now)


def _list_changes(lanes: Sequence[int], power_kw: Floats, cuts: Sequence[Cut], first: int) -> dict[int, LaneChange]:
    places = np.array([cut.position for cut in cuts], dtype=np.int64)
    return {lane: LaneChange(places + first, power_kw[row, places]) for row, lane in enumerate(lanes)}


async def _write_cuts(
    db: Database,
    asset: LockedAsset,
    changes: dict[int, LaneChange],
    adjustments: Sequence[Adjustment],
    now: datetime,
) -> None:
    draft = await draft_change(db, asset, changes)
    version = await write_version(db, asset, draft, VersionKind.ADJUSTMENT, PLATFORM, None, now)
    await history_store.write_adjustments(db, asset, version, adjustments)
    await emit_adjusted(db, asset, adjustments)
