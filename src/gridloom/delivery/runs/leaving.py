"""Batteries that back nothing any more: what was still planned for them is taken back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from gridloom.database.pool import Database
from gridloom.delivery.codec import pack
from gridloom.delivery.dispatch import store as dispatch_store
from gridloom.delivery.dispatch.versions import NewVersion, known_versions
from gridloom.delivery.model import NOISE_KW
from gridloom.delivery.planning.parts import list_parts
from gridloom.delivery.planning.standing_plan import StandingPlan
from gridloom.delivery.plans import store as plan_store
from gridloom.delivery.plans.store import ZoneState
from gridloom.delivery.runs.notifications import tell_dispatched
from gridloom.delivery.runs.settling import settle_periods
from gridloom.kernel.ids import uuid7
from gridloom.kernel.market_time import period_number_from, period_start
from gridloom.kernel.window import Window
from gridloom.physical_assets.availability import ENERGY, load_availability


async def release_batteries(db: Database, plan: StandingPlan, keys: Sequence[int], first: int, now: datetime) -> None:
    """From `first` on these batteries of the plan stand still; who owns one that was to move is told."""
    low = max(0, first - plan.first)
    if not keys or first >= plan.end:
        return
    names, part_kw = list_parts(plan, low, plan.end - plan.first)
    busy = set(names[np.abs(part_kw).max(axis=1, initial=0.0) > NOISE_KW, 0].tolist())
    rows = [row for row, key in enumerate(plan.battery_keys.tolist()) if key in keys and key in busy]
    if not rows:
        return
    released = [int(plan.battery_keys[row]) for row in rows]
    rated = await load_availability(db, released, Window(period_start(plan.first + low), period_start(plan.end)))
    versions = []
    for row, key in zip(rows, released, strict=True):
        capacity_kwh = rated[key].rated[:, ENERGY]
        energy_kwh = np.full(len(capacity_kwh) + 1, plan.energy_kwh[row, low])
        body = pack({"energy": energy_kwh, "capacity": np.asarray(capacity_kwh)})
        versions.append(NewVersion(key, plan.first + low, plan.end, body))
    numbers = await dispatch_store.add_versions(db, uuid7(), now, versions, known_versions(plan))
    await tell_dispatched(db, versions, numbers, released)


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
