"""The run of a delivery zone: cuts, netting, spread, unserved, netting again; then the batteries' dispatch.

There is a run when the last gate of a quarter-hour closes and a look at it finds anything to do. It plans until the end
of the next market day, keeps what has not changed, and makes final what has closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from gridloom.database.clock import platform_now
from gridloom.database.pool import Connection, Database
from gridloom.delivery.dispatch import store as dispatch_store
from gridloom.delivery.dispatch.versions import NewVersion, find_moved, known_versions, list_versions
from gridloom.delivery.model import Floats
from gridloom.delivery.performance import anchor_store
from gridloom.delivery.performance.anchor_store import Anchor
from gridloom.delivery.planning.replanning import Replanned, replan
from gridloom.delivery.planning.standing_plan import StandingPlan
from gridloom.delivery.planning.zone import Zone
from gridloom.delivery.plans import store as plan_store
from gridloom.delivery.plans.store import Settled, ZoneState
from gridloom.delivery.runs import store
from gridloom.delivery.runs.cutting import cut_closed_misfits
from gridloom.delivery.runs.fence import wait_for_writers
from gridloom.delivery.runs.gates import LOOK, next_look, planned_span
from gridloom.delivery.runs.leaving import clear_zone, release_batteries
from gridloom.delivery.runs.notifications import tell_dispatched
from gridloom.delivery.runs.settling import first_settling, settle_periods
from gridloom.delivery.runs.store import Run
from gridloom.delivery.situation.loading import Loaded, load_zone
from gridloom.delivery.situation.look_store import Look, Stamps, look_at_zones
from gridloom.delivery.situation.reloading import keeps_batteries, reload_zone
from gridloom.delivery.zones import netting_store, quarter_store
from gridloom.delivery.zones.quarters import ZoneQuarters, changed_quarters
from gridloom.jobs import JobRun, enqueue, job
from gridloom.kernel.ids import uuid7
from gridloom.kernel.market_time import (
    period_number,
    period_number_from,
)
from gridloom.kernel.units import KW_PER_MW, QUARTER_HOUR_H
from gridloom.monitoring.reading.latest import latest_of_asset
from gridloom.virtual_assets.backing.allocation import DISPATCH
from gridloom.virtual_assets.schedule.rules import first_open_period

FRESH = timedelta(hours=1)
"""A state of charge that is older says nothing about a battery that was never planned before."""


@dataclass(frozen=True, slots=True)
class Horizon:
    """The periods of a run: planned from `first` up to but not `end`, of which those before `final` are for good."""

    zone: str
    now: datetime
    first: int
    final: int
    end: int


@job(DISPATCH, clock="platform", limit=timedelta(minutes=2))
async def dispatch_zone(run: JobRun) -> None:
    """Plan a zone, and have its gates looked at from then on."""
    now = await platform_now(run.db)
    await wait_for_writers(run.db)
    state = await plan_store.lock_zone(run.db, run.key)
    look = await look_at_zone(run.db, run.key, now)
    if look is None:
        await clear_zone(run.db, run.key, state, now)
        return
    if look.next_start < planned_span(now).end:
        await plan_zone(run.db, look, state, now)
    # The last statement, so that a look never waits for a run.
    await enqueue(run.db, LOOK, key="", due=next_look([look], now), clock="platform", at_latest=True)


async def plan_zone(db: Connection, look: Look, state: ZoneState, now: datetime) -> Run | None:
    """One run of a zone that is held, from a look at it as it is; None where nothing has changed."""
    zone = look.delivery_zone
    final = first_open_period(now, look.gate_closure_s)
    first = period_number_from(now) if state.settled_until is None else max(state.settled_until, period_number(now))
    horizon = Horizon(zone, now, min(first, final), final, period_number(planned_span(now).end))
    has_cut = False
    if state.plan is not None and state.settled_until is not None:
        # What closed while nobody ran is final as it was planned.
        has_cut = await settle_periods(db, state.plan, state.settled_until, horizon.first)
    has_cut |= await cut_closed_misfits(db, zone, final, now)
    again = await look_at_zone(db, zone, now) if has_cut else look
    stamps = Stamps() if again is None else again.stamps
    run, plan = None, state.plan
    if plan is None or plan.end < horizon.end or state.stamps != stamps or plan.first > horizon.first:
        run, plan = await _plan_anew(db, horizon, state, stamps)
    await settle_periods(db, plan, horizon.first, final)
    if run is None:
        await plan_store.keep_settled(db, zone, Settled(final, first_settling(plan, final)))
    return run


async def look_at_zone(db: Database, zone: str, now: datetime) -> Look | None:
    """None where no virtual asset lives in it, now or later."""
    span = planned_span(now)
    looks = await look_at_zones(db, now, span.start, span.end, period_number(span.end), zone)
    return looks[0] if looks else None


async def _plan_anew(db: Database, horizon: Horizon, state: ZoneState, stamps: Stamps) -> tuple[Run, StandingPlan]:
    before = state.plan
    loaded, is_reloaded = await _load_or_reload(db, horizon, state, stamps)
    zone = loaded.zone
    anchors = {} if is_reloaded else await anchor_store.read_waiting(db, zone.battery_keys.tolist())
    energy_kwh, due_kwh = await _start_energies(db, zone, before, anchors, horizon.now)
    keeps = before is not None and keeps_batteries(state.stamps, stamps)
    made, versions = await asyncio.to_thread(_lay_plan, zone, before, energy_kwh, due_kwh, keeps)
    run = _sum_up_run(horizon, made, len(versions))
    await store.add_run(db, run)
    known = known_versions(before)
    numbers = await dispatch_store.add_versions(db, run.id, horizon.now, versions, known) if versions else {}
    await _keep_netting(db, horizon, before, made.plan)
    await _keep_quarters(db, horizon, before, made.plan)
    moved = find_moved(before, made.plan)
    known |= numbers
    plan = replace(made.plan, versions=np.array([known[key] for key in zone.battery_keys.tolist()], dtype=np.int64))
    if before is not None:
        gone = set(before.battery_keys.tolist()) - set(zone.battery_keys.tolist())
        await release_batteries(db, before, sorted(gone), zone.first, horizon.now)
        plan = plan.following(before) if is_reloaded else plan
    settled = Settled(horizon.final, first_settling(plan, horizon.final))
    await plan_store.keep_plan(db, horizon.zone, run.id, stamps, plan, loaded.inputs, state.arrays, settled)
    if anchors:
        await anchor_store.keep_applied(db, anchors, zone.first)
    await tell_dispatched(db, versions, numbers, moved)
    return run, plan


def _lay_plan(
    zone: Zone, before: StandingPlan | None, energy_kwh: Floats, due_kwh: Floats, keeps: bool
) -> tuple[Replanned, list[NewVersion]]:
    made = replan(zone, before, energy_kwh, due_kwh, keeps_batteries=keeps)
    return made, list_versions(before, made.plan, made.touched, zone.capacity_kwh)


async def _load_or_reload(db: Database, horizon: Horizon, state: ZoneState, stamps: Stamps) -> tuple[Loaded, bool]:
    """The zone, and whether only what has changed had to be read."""
    if state.plan is not None and state.inputs is not None:
        both = state.stamps, stamps
        reloaded = await reload_zone(db, state.plan, state.inputs, both, horizon.first, horizon.end)
        if reloaded is not None:
            return reloaded, True
    return await load_zone(db, horizon.zone, horizon.first, horizon.end), False


async def _start_energies(
    db: Database, zone: Zone, before: StandingPlan | None, anchors: Mapping[int, Anchor], now: datetime
) -> tuple[Floats, Floats]:
    """What each battery holds at the zone's first period and what it would hold by shares alone: as planned and, where
    it was measured to be off, moved by that; else as measured lately, else half of what it may hold."""
    known = {} if before is None else {key: row for row, key in enumerate(before.battery_keys.tolist())}
    planned_due_kwh = None if before is None else before.due_kwh
    energy_kwh, due_kwh = np.empty(len(zone.battery_keys)), np.empty(len(zone.battery_keys))
    for place, key in enumerate(zone.battery_keys.tolist()):
        row = known.get(key)
        if row is not None and before is not None and planned_due_kwh is not None:
            column = min(max(zone.first - before.first, 0), before.energy_kwh.shape[1] - 1)
            offset_kwh = anchors[key].offset_kwh if key in anchors else 0.0
            held_kwh = before.energy_kwh[row, column] + offset_kwh
            energy_kwh[place] = min(max(held_kwh, 0.0), float(zone.capacity_kwh[place, 0]))
            due_kwh[place] = planned_due_kwh[row, column]
            continue
        measured = await latest_of_asset(db, key)
        low_kwh, high_kwh = float(zone.limits.low_kwh[place, 0]), float(zone.limits.high_kwh[place, 0])
        energy_kwh[place] = (low_kwh + high_kwh) / 2
        if measured is not None and measured.state_of_charge_percentage is not None and now - measured.time < FRESH:
            held_kwh = measured.state_of_charge_percentage / 100 * float(zone.capacity_kwh[place, 0])
            energy_kwh[place] = min(max(held_kwh, 0.0), float(zone.capacity_kwh[place, 0]))
        due_kwh[place] = energy_kwh[place]
    return energy_kwh, due_kwh


async def _keep_netting(db: Database, horizon: Horizon, before: StandingPlan | None, plan: StandingPlan) -> None:
    """The parts that were netted, where they are not as they were."""
    after = plan.netted_part
    old = np.zeros_like(after)
    if before is not None and before.end > horizon.first:
        piece = before.netted_part[:, horizon.first - before.first :][:, : old.shape[1]]
        old[:, : piece.shape[1]] = piece
    places = np.flatnonzero(np.abs(after - old).max(axis=0) > 0)
    if len(places):
        low, high = int(places[0]), int(places[-1]) + 1
        await netting_store.add_netting(
            db, horizon.zone, horizon.now, horizon.first + low, after[0, low:high], after[1, low:high]
        )


async def _keep_quarters(db: Database, horizon: Horizon, before: StandingPlan | None, after: StandingPlan) -> None:
    """What is scheduled, netted and left unserved, where it is not as it was."""
    known = None if before is None else ZoneQuarters.of_plan(before)
    changed = changed_quarters(known, ZoneQuarters.of_plan(after))
    if changed is not None:
        await quarter_store.add_quarters(db, horizon.zone, horizon.now, changed)


def _sum_up_run(horizon: Horizon, made: Replanned, changed: int) -> Run:
    def energy_mwh(power_kw: Floats) -> float:
        return float(np.abs(power_kw).sum()) * QUARTER_HOUR_H / KW_PER_MW

    exported_kw, imported_kw, netted_kw, unserved_kw = made.plan.quarters_kw
    return Run(
        uuid7(),
        horizon.zone,
        horizon.now,
        horizon.first,
        horizon.end,
        horizon.final,
        len(made.plan.asset_keys),
        len(made.plan.battery_keys),
        energy_mwh(exported_kw),
        energy_mwh(imported_kw),
        energy_mwh(netted_kw),
        energy_mwh(made.plan.virtual_kw),
        energy_mwh(unserved_kw),
        made.forced_periods,
        changed,
        made.method,
        made.solver_s,
    )
