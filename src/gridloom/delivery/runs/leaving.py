"""Batteries that back nobody any more: what was still planned for virtual assets is taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from gridloom.database.pool import Database
from gridloom.delivery.codec import Arrays, pack
from gridloom.delivery.dispatch import store as dispatch_store
from gridloom.delivery.dispatch.versions import NewVersion, known_versions
from gridloom.delivery.model import CODE_OF_KIND, NOISE_KW, PartKind, Spread
from gridloom.delivery.planning.parts import list_parts
from gridloom.delivery.planning.spreading import settle
from gridloom.delivery.planning.standing_plan import StandingPlan
from gridloom.delivery.plans import store as plan_store
from gridloom.delivery.plans.store import ZoneState
from gridloom.delivery.runs.notifications import tell_dispatched
from gridloom.delivery.runs.settling import settle_periods
from gridloom.delivery.situation.loading import Park, load_idle_park
from gridloom.kernel.ids import uuid7
from gridloom.kernel.market_time import period_number_from


async def release_batteries(db: Database, plan: StandingPlan, keys: Sequence[int], first: int, now: datetime) -> None:
    """From `first` on these batteries of the plan do what their owners have scheduled and hold what those were awarded,
    and nothing else; who owns one that was to move is told."""
    low = max(0, first - plan.first)
    if not keys or first >= plan.end:
        return
    names, part_kw = list_parts(plan, low, plan.end - plan.first)
    busy = set(names[np.abs(part_kw).max(axis=1, initial=0.0) > NOISE_KW, 0].tolist())
    rows = [row for row, key in enumerate(plan.battery_keys.tolist()) if key in keys and key in busy]
    if not rows:
        return
    released = [int(plan.battery_keys[row]) for row in rows]
    park = await load_idle_park(db, released, plan.first + low, plan.end)
    idle = replace(park.limits, energy_kwh=plan.energy_kwh[rows, low])
    spread = settle(np.zeros(idle.shape[1]), np.zeros(idle.shape), idle)
    versions = [
        NewVersion(key, plan.first + low, plan.end, pack(_list_own_parts(park, spread, place)))
        for place, key in enumerate(released)
    ]
    numbers = await dispatch_store.add_versions(db, uuid7(), now, versions, known_versions(plan))
    await tell_dispatched(db, versions, numbers, released)


def _list_own_parts(park: Park, spread: Spread, place: int) -> Arrays:
    """What the battery at this place does for its owner, as a version holds it."""
    held = park.stand_by_of[:, 0] == place
    names = np.concatenate([[[CODE_OF_KIND[PartKind.OWN], 0]], park.stand_by_of[held, 1:]])
    parts_kw = np.concatenate([spread.own_kw[place : place + 1], park.stand_by_kw[held]])
    there = np.abs(parts_kw).max(axis=1) > NOISE_KW
    return {
        "energy": spread.energy_kwh[place],
        "names": names[there],
        "parts": parts_kw[there],
        "capacity": park.capacity_kwh[place],
    }


async def clear_zone(db: Database, zone: str, state: ZoneState, now: datetime) -> None:
    """No virtual asset is left in the zone: what has closed is final as it was planned, the rest is taken back."""
    if state.plan is None:
        return
    first = (
        period_number_from(now) if state.settled_until is None else max(state.settled_until, period_number_from(now))
    )
    if state.settled_until is not None:
        await settle_periods(db, state.plan, state.settled_until, first)
    await release_batteries(db, state.plan, state.plan.battery_keys.tolist(), first, now)
    await plan_store.forget_plan(db, zone)
