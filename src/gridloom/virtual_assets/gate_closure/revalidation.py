"""Revalidation: when gates close, schedules that exceed a limit are cut and the cuts are recorded.

Accepted schedules exceed a limit if capacity is lost later; cycle limits they may exceed from the start. The trader can
repair them until their gate closes. An asset without expected cuts has no job.

The schedule takes over what was announced of a cut. The rest counts as delivered to the holder and is the owners'
imbalance; it is recorded beside the schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from gridloom.market_calendar import Floats, Ints
from gridloom.physical_assets.availability.changes import AVAILABILITY_CHANGED
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.platform.jobs import JobRun, job
from gridloom.virtual_assets import store
from gridloom.virtual_assets.backing.store import lock_assets_backed_by
from gridloom.virtual_assets.energy.projection import Cut, project
from gridloom.virtual_assets.gate_closure.notifications import emit_adjusted
from gridloom.virtual_assets.history import store as history_store
from gridloom.virtual_assets.model import PLATFORM, Adjustment, AdjustmentReason, LockedAsset, VersionKind
from gridloom.virtual_assets.rules import first_open_period
from gridloom.virtual_assets.schedule.change.apply import CLOSE_GATE, enqueue_revalidation, reschedule_revalidation
from gridloom.virtual_assets.schedule.change.draft import draft_change
from gridloom.virtual_assets.schedule.change.store import write_version
from gridloom.virtual_assets.schedule.projection_input import load_projection_input
from gridloom.virtual_assets.schedule.projection_loading import adjustments_of
from gridloom.virtual_assets.schedule.store import LaneChange


@job(AVAILABILITY_CHANGED, clock="platform")
async def enqueue_backed_assets(run: JobRun) -> None:
    """Enqueue a revalidation for each virtual asset that the battery backs."""
    for asset in await lock_assets_backed_by(run.db, int(run.key), run.due):
        await enqueue_revalidation(run.db, asset, run.due)


@job(CLOSE_GATE, clock="platform")
async def close_gate(run: JobRun) -> None:
    await revalidate(run.db, int(run.key), run.due)


async def revalidate(db: Database, asset_key: int, since: datetime) -> list[Adjustment]:
    """Cut the powers that exceed a limit and whose gate closed after `since`; reschedule for the next expected cut."""
    asset = await store.lock_virtual_asset_by_key(db, asset_key)
    if asset is None:
        return []
    now = await platform_now(db)
    first = first_open_period(since, asset.terms.gate_closure_s)
    if asset.first_misfit is not None:
        first = min(first, asset.first_misfit)
    first, end = asset.clip(max(first, asset.judged_until or 0), asset.end)
    closed = min(max(first, first_open_period(now, asset.terms.gate_closure_s)), end)
    lanes, inputs = await load_projection_input(db, asset, first, end)
    projection = project(inputs)
    cuts = [cut for cut in projection.cuts if first + cut.position < closed]
    adjustments = adjustments_of(projection, first)[: len(cuts)]
    if cuts:
        await _write_adjustments(db, asset, _list_changes(lanes, projection.power_kw, cuts, first), adjustments, now)
    expected_cut = next((first + cut.position for cut in projection.cuts[len(cuts) :]), None)
    await store.set_validated(db, asset, closed, expected_cut)
    if expected_cut is not None:
        await reschedule_revalidation(db, asset, expected_cut)
    return adjustments


async def adjust_unserved_periods(
    db: Database, asset_key: int, periods: Ints, power_kw: Floats, reason: AdjustmentReason
) -> None:
    """Record that closed periods are reduced to the power that the zone's batteries could serve.

    It was not announced: the schedule, and with it the virtual store, stays as it is.
    """
    asset = await store.lock_virtual_asset_by_key(db, asset_key)
    if asset is None or not len(periods):
        return
    first, end = int(periods[0]), int(periods[-1]) + 1
    lanes, inputs = await load_projection_input(db, asset, first, end)
    lanes_kw = inputs.power_kw[:, periods - first]
    changes = {lane: LaneChange(periods, lanes_kw[row]) for row, lane in enumerate(lanes)}
    adjustments = [
        Adjustment(
            period, accepted, min(max(asked, min(accepted, 0.0)), max(accepted, 0.0)), reason, accepted, accepted
        )
        for period, accepted, asked in zip(
            periods.tolist(), lanes_kw.sum(axis=0).tolist(), power_kw.tolist(), strict=True
        )
    ]
    now = await platform_now(db)
    await _write_adjustments(db, asset, changes, adjustments, now)
    await enqueue_revalidation(db, asset, now)


def _list_changes(lanes: Sequence[int], power_kw: Floats, cuts: Sequence[Cut], first: int) -> dict[int, LaneChange]:
    indices = np.array([cut.position for cut in cuts], dtype=np.int64)
    return {lane: LaneChange(indices + first, power_kw[row, indices]) for row, lane in enumerate(lanes)}


async def _write_adjustments(
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
