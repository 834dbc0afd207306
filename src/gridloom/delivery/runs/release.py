"""Batteries that back no virtual asset any more: what was still planned for virtual assets is released, and what is
left follows their owners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from gridloom.delivery import plan_store, zone_store
from gridloom.delivery.codec import Arrays, pack
from gridloom.delivery.dispatch import store as dispatch_store
from gridloom.delivery.dispatch.reading import load_dispatch
from gridloom.delivery.dispatch.versions import NewDispatchVersion, last_versions
from gridloom.delivery.inputs.loading import BatteryPark, load_released_batteries
from gridloom.delivery.model import CODE_OF_KIND, BatteryDispatch, BatteryLimits, DispatchInput, PartKind, StartState
from gridloom.delivery.plan_store import ZoneState
from gridloom.delivery.planning.distribution import distribute
from gridloom.delivery.planning.model import ZonePlan, number_days
from gridloom.delivery.planning.parts import list_parts
from gridloom.delivery.runs.finalisation import finalise_periods
from gridloom.delivery.runs.notifications import emit_dispatched
from gridloom.delivery.zone_store import ZoneTotals
from gridloom.kernel.ids import uuid7
from gridloom.kernel.market_time import period_number_from
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.market_calendar import Floats
from gridloom.platform.database.pool import Database


async def release_batteries(db: Database, plan: ZonePlan, keys: Sequence[int], first: int, now: datetime) -> None:
    """From `first` on these batteries of the plan do what their owners have scheduled and hold what those were awarded,
    and nothing else; the owners of those that were to move, or will, are notified."""
    low = max(0, first - plan.first)
    if not keys or first >= plan.end:
        return
    names, part_kw = list_parts(plan, low, plan.end - plan.first)
    busy = set(names[np.abs(part_kw).max(axis=1, initial=0.0) > POWER_TOLERANCE_KW, 0].tolist())
    rows = [row for row, key in enumerate(plan.battery_keys.tolist()) if key in keys]
    released = [int(plan.battery_keys[row]) for row in rows]
    park = await load_released_batteries(db, released, plan.first + low, plan.end)
    idle = replace(park.limits, energy_kwh=plan.energy_kwh[rows, low])
    before = plan.state_at(low)
    reach = before.unreachable_kwh[rows], before.available_fraction[rows]
    dispatch = _follow_owners(idle, reach, plan.first + low, plan.end)
    parts = {key: _own_parts(park, dispatch, index) for index, key in enumerate(released)}
    versions = [
        NewDispatchVersion(key, plan.first + low, plan.end, pack(own))
        for key, own in parts.items()
        if key in busy or len(own["names"])
    ]
    if versions:
        numbers = await dispatch_store.add_versions(db, uuid7(), now, versions, last_versions(plan))
        await emit_dispatched(db, versions, numbers, [one.asset_key for one in versions])


async def dispatch_released(db: Database, key: int, now: datetime) -> None:
    """Dispatch a battery that is in no plan by what its owner has changed since it was released."""
    first, end = period_number_from(now), await dispatch_store.read_dispatched_until(db, key)
    if end is None or end <= first:
        return
    before = await load_dispatch(db, key, first, end)
    if not before.is_planned.all():
        return  # nothing is dispatched until it is planned again
    park = await load_released_batteries(db, [key], first, end)
    limits = replace(park.limits, energy_kwh=before.energy_kwh[:1])
    dispatch = _follow_owners(limits, (np.zeros(1), np.ones(1)), first, end)
    version = NewDispatchVersion(key, first, end, pack(_own_parts(park, dispatch, 0)))
    numbers = await dispatch_store.add_versions(db, uuid7(), now, [version], {})
    is_moved = np.abs(dispatch.power_kw[0] - before.power_kw).max() > POWER_TOLERANCE_KW
    await emit_dispatched(db, [version], numbers, [key] if is_moved else [])


def _follow_owners(limits: BatteryLimits, reach: tuple[Floats, Floats], first: int, end: int) -> BatteryDispatch:
    """Batteries without promises: their own schedules and placed drift within their limits. `reach`: the energy out of
    reach, and the available part of the energy capacity, just before."""
    count, periods = limits.shape
    nothing = np.zeros((0, periods))
    given = DispatchInput(
        nothing,
        limits,
        np.zeros((0, 2), dtype=np.int64),
        np.zeros(0),
        np.zeros((count, periods + 1)),
        *number_days(first, end),
        replace(StartState.of_rest(count), unreachable_kwh=reach[0], available_fraction=reach[1]),
    )
    return distribute(given, np.zeros(periods), np.zeros((count, periods)))


def _own_parts(park: BatteryPark, dispatch: BatteryDispatch, index: int) -> Arrays:
    """The owner's part of the battery at this index, as a version holds it."""
    held = park.reserves.keys[:, 0] == index
    own = [[CODE_OF_KIND[PartKind.OWN], 0], [CODE_OF_KIND[PartKind.DRIFT], 0]]
    names = np.concatenate([own, park.reserves.keys[held, 1:]])
    parts_kw = np.concatenate([[dispatch.own_kw[index], dispatch.drift_kw[index]], park.reserves.power_kw[held]])
    there = np.abs(parts_kw).max(axis=1) > POWER_TOLERANCE_KW
    return {
        "energy": dispatch.energy_kwh[index],
        "names": names[there],
        "parts": parts_kw[there],
        "capacity": park.capacity_kwh[index],
    }


async def close_zone(db: Database, zone: str, state: ZoneState, now: datetime) -> None:
    """No virtual asset is left in the zone, today or tomorrow: what has closed is final as it was planned, the rest is
    taken back."""
    if state.plan is None:
        return
    first = period_number_from(now) if state.final_until is None else max(state.final_until, period_number_from(now))
    if state.final_until is not None:
        await finalise_periods(db, zone, state.plan, state.final_until, first, now)
    await release_batteries(db, state.plan, state.plan.battery_keys.tolist(), first, now)
    await _clear_totals(db, zone, state.plan, first, now)
    await plan_store.delete_plan(db, zone)


async def _clear_totals(db: Database, zone: str, plan: ZonePlan, first: int, now: datetime) -> None:
    """From `first` on nothing is scheduled in the zone: an asset that was to live then is gone."""
    first, planned = max(first, plan.first), ZoneTotals.of_plan(plan)
    if first >= plan.end:
        return
    ahead = planned.slice_periods(first, plan.end)
    if any(np.abs(power_kw).max() > POWER_TOLERANCE_KW for power_kw in ahead.series()):
        await zone_store.add_totals(db, zone, now, ZoneTotals.empty(first, plan.end))
    if plan.netted_fraction[:, first - plan.first :].any():
        none = np.zeros(plan.end - first)
        await zone_store.add_netting(db, zone, now, first, none, none)
