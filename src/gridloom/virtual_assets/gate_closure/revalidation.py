"""Revalidation: when gates close, schedules that exceed a limit are cut and the cuts are recorded.

Accepted schedules exceed a limit if capacity is lost later; cycle limits they may exceed from the start. The trader can
repair them until their gate closes. An asset without expected cuts has no job.

A cut is announced if it follows from an unavailability that was recorded before 12:00 market time of the day before
delivery: its holder can trade around it. Every other cut is the owners' imbalance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta

import numpy as np

from gridloom.capacity.availability import CapacityOutage
from gridloom.capacity.store import load_firm_capacity
from gridloom.kernel.market_time import MARKET_ZONE, market_day_of, period_start
from gridloom.market_calendar import Floats, Ints, market_day_periods
from gridloom.physical_assets.availability.changes import AVAILABILITY_CHANGED
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.platform.jobs import JobRun, job
from gridloom.virtual_assets import store
from gridloom.virtual_assets.backing.availability import AvailableFraction, available_fraction
from gridloom.virtual_assets.backing.store import RecordedOutage, lock_assets_backed_by, read_recorded_outages
from gridloom.virtual_assets.energy.projection import Cut, project
from gridloom.virtual_assets.gate_closure.notifications import emit_adjusted
from gridloom.virtual_assets.history import store as history_store
from gridloom.virtual_assets.model import PLATFORM, Adjustment, AdjustmentReason, LockedAsset, VersionKind, VirtualAsset
from gridloom.virtual_assets.rules import first_open_period
from gridloom.virtual_assets.schedule.change.draft import draft_change
from gridloom.virtual_assets.schedule.change.version_store import write_version
from gridloom.virtual_assets.schedule.notifications import CLOSE_GATE, enqueue_revalidation, reschedule_revalidation
from gridloom.virtual_assets.schedule.projection_input import load_projection_input
from gridloom.virtual_assets.schedule.store import LaneChange


def announced_before(day: date) -> datetime:
    """The latest instant to announce an unavailability of a market day."""
    return datetime.combine(day - timedelta(days=1), time(12), MARKET_ZONE)


async def with_announced(
    db: Database, asset: VirtualAsset, adjustments: Sequence[Adjustment], *, own_cycles: bool
) -> list[Adjustment]:
    """The adjustments with the power that announced unavailabilities alone would leave.

    `own_cycles`: a cut by CYCLE_LIMIT is by the virtual asset's own limit and counts as announced.
    """
    if not adjustments:
        return []
    first, end = adjustments[0].period, adjustments[-1].period + 1
    charge_kw, discharge_kw = await _load_announced_limits_kw(db, asset, first, end)
    found = []
    for one in adjustments:
        index = one.period - first
        left_kw = min(max(one.accepted_kw, -charge_kw[index]), discharge_kw[index])
        if (own_cycles and one.reason is AdjustmentReason.CYCLE_LIMIT) or abs(left_kw) < abs(one.adjusted_kw):
            left_kw = one.adjusted_kw
        found.append(replace(one, announced_kw=left_kw))
    return found


async def _load_announced_limits_kw(db: Database, asset: VirtualAsset, first: int, end: int) -> tuple[Floats, Floats]:
    """The charging and discharging power of wholesale blocks with announced unavailabilities alone."""
    available = await _load_announced(db, asset, first, end)
    _, inputs = await load_projection_input(db, asset, first, end, available=available)
    return inputs.charge_kw.sum(axis=0), inputs.discharge_kw.sum(axis=0)


async def _load_announced(db: Database, asset: VirtualAsset, first: int, end: int) -> AvailableFraction:
    keys = [promise.physical_asset_key for promise in asset.promises]
    books = await load_firm_capacity(db, keys, first, end)
    outages = await read_recorded_outages(db, keys, period_start(first), period_start(end))
    fractions = []
    for low, high, day in _split_days(first, end):
        until = announced_before(day)
        announced = {
            key: replace(
                book,
                ratings_and_outages=replace(book.ratings_and_outages, outages=_list_outages(outages, key, until)),
            )
            for key, book in books.items()
        }
        fractions.append(available_fraction(asset.promises, announced, low, high))
    return AvailableFraction(
        first,
        np.concatenate([one.charge for one in fractions]),
        np.concatenate([one.discharge for one in fractions]),
        np.concatenate([one.energy for one in fractions]),
    )


def _split_days(first: int, end: int) -> list[tuple[int, int, date]]:
    """The periods [first, end) by market day."""
    found = []
    while first < end:
        day = market_day_of(period_start(first))
        stop = min(end, market_day_periods(day)[1])
        found.append((first, stop, day))
        first = stop
    return found


def _list_outages(outages: Sequence[RecordedOutage], key: int, until: datetime) -> list[CapacityOutage]:
    return [one.outage for one in outages if one.asset_key == key and one.recorded_at < until]


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
    adjustments = [Adjustment(first + c.position, c.accepted_kw, c.adjusted_kw, c.reason) for c in cuts]
    if cuts:
        adjustments = await with_announced(db, asset, adjustments, own_cycles=True)
        await _write_adjustments(db, asset, _list_changes(lanes, projection.power_kw, cuts, first), adjustments, now)
    expected_cut = next((first + cut.position for cut in projection.cuts[len(cuts) :]), None)
    await store.set_validated(db, asset, closed, expected_cut)
    if expected_cut is not None:
        await reschedule_revalidation(db, asset, expected_cut)
    return adjustments


async def adjust_unserved_periods(
    db: Database, asset_key: int, periods: Ints, power_kw: Floats, reason: AdjustmentReason
) -> None:
    """Reduce closed periods to the power that the zone's batteries could serve, pro rata over lanes."""
    asset = await store.lock_virtual_asset_by_key(db, asset_key)
    if asset is None or not len(periods):
        return
    first, end = int(periods[0]), int(periods[-1]) + 1
    lanes, inputs = await load_projection_input(db, asset, first, end)
    indices = periods - first
    accepted_kw = inputs.power_kw.sum(axis=0)[indices]
    fraction = np.ones(len(periods))
    np.divide(power_kw, accepted_kw, out=fraction, where=accepted_kw != 0)
    lanes_kw = inputs.power_kw[:, indices] * np.clip(fraction, 0.0, 1.0)
    changes = {lane: LaneChange(periods, lanes_kw[row]) for row, lane in enumerate(lanes)}
    adjustments = [
        Adjustment(period, accepted, adjusted, reason)
        for period, accepted, adjusted in zip(
            periods.tolist(), accepted_kw.tolist(), lanes_kw.sum(axis=0).tolist(), strict=True
        )
    ]
    now = await platform_now(db)
    adjustments = await with_announced(db, asset, adjustments, own_cycles=False)
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
