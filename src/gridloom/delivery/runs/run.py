"""The run of a delivery zone: cuts, netting, fair parts, limits, levelling, unserved, netting again; then versions.

There is a run when the last gate of a quarter-hour closes and anything has changed. It plans until the end of the next
market day, keeps what has not changed, and makes final what has closed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import structlog

from gridloom.delivery import plan_store, zone_store
from gridloom.delivery.dispatch import store as dispatch_store
from gridloom.delivery.dispatch.reading import load_dispatch
from gridloom.delivery.dispatch.versions import (
    NewDispatchVersion,
    batteries_with_new_power,
    changed_versions,
    last_versions,
)
from gridloom.delivery.inputs import store as input_store
from gridloom.delivery.inputs.loading import LoadedZone, load_zone
from gridloom.delivery.inputs.reloading import batteries_unchanged, reload_changed_schedules
from gridloom.delivery.inputs.zone_status_store import InputVersions, ZoneStatus, read_zone_status
from gridloom.delivery.model import DistributionMethod, StartState
from gridloom.delivery.performance import store as performance_store
from gridloom.delivery.performance.energy_use import load_exported_kwh
from gridloom.delivery.performance.store import SocCorrection
from gridloom.delivery.plan_store import FinalUntil, ZoneState
from gridloom.delivery.planning.model import ZoneInput, ZonePlan
from gridloom.delivery.planning.replanning import PlanStart, PlanUpdate, replan
from gridloom.delivery.planning.start import carry_share_energy, limit_own_schedules
from gridloom.delivery.runs import store
from gridloom.delivery.runs.drift import enqueue_placement
from gridloom.delivery.runs.due_gates import (
    DUE_GATES_JOB,
    is_planned,
    next_gate_closure,
    planning_window,
    wait_for_writers,
)
from gridloom.delivery.runs.finalisation import finalise_periods, find_next_fact_period, revalidate_closed_periods
from gridloom.delivery.runs.notifications import emit_dispatched, emit_run_failed, emit_shortfalls
from gridloom.delivery.runs.release import close_zone, dispatch_released, release_batteries
from gridloom.delivery.runs.store import Run
from gridloom.delivery.zone_store import ZoneTotals, changed_totals
from gridloom.kernel.ids import uuid7
from gridloom.kernel.market_time import period_number, period_number_from
from gridloom.kernel.units import KW_PER_MW, QUARTER_HOUR_H
from gridloom.market_calendar import Floats
from gridloom.physical_assets.availability.changes import FOLLOW_OWNER_JOB
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.errors import DATABASE_ERRORS
from gridloom.platform.database.pool import Connection, Database
from gridloom.platform.jobs import JobRun, enqueue, job
from gridloom.virtual_assets.allocation import DISPATCH_JOB
from gridloom.virtual_assets.rules import first_open_period

log = structlog.get_logger()

MAX_SOC_AGE: Final = timedelta(hours=1)
"""An older state of charge says nothing about a battery that was never planned before."""


@dataclass(frozen=True, slots=True)
class Horizon:
    """The periods [first, end) of a run, of which those before `final` become final."""

    zone: str
    now: datetime
    first: int
    final: int
    end: int


@job(DISPATCH_JOB, clock="platform", limit=timedelta(minutes=2))
async def dispatch_zone(run: JobRun) -> None:
    """Plan a zone, and have its gates closed from then on."""
    now = await platform_now(run.db)
    await wait_for_writers(run.db)
    state = await plan_store.lock_zone(run.db, run.key)
    status = await read_one_zone_status(run.db, run.key, now)
    if status is not None and is_planned(status, now):
        await _try_plan_zone(run.db, status, state, now)
    else:
        await close_zone(run.db, run.key, state, now)
    if status is None:
        return
    await enqueue_placement(run.db, run.key, now)
    # The last statement, so that the job of the gates never waits for a run.
    await enqueue(
        run.db, DUE_GATES_JOB, key="", due=next_gate_closure([status], now), clock="platform", keep_earlier_due=True
    )


@job(FOLLOW_OWNER_JOB, clock="platform")
async def follow_owner(run: JobRun) -> None:
    """Have a battery for which nothing is planned any more do what its owner has changed: an outage, parameters, a
    schedule or an award. Of one that is planned, the next gate sees the change."""
    key, now = int(run.key), await platform_now(run.db)
    zone = await input_store.read_delivery_zone(run.db, key)
    if zone is None:
        return
    state = await plan_store.lock_zone(run.db, zone)
    status = await read_one_zone_status(run.db, zone, now)
    if status is None or not is_planned(status, now):
        await close_zone(run.db, zone, state, now)
    elif state.plan is not None and key in state.plan.battery_keys:
        return
    await dispatch_released(run.db, key, now)


async def _try_plan_zone(db: Connection, status: ZoneStatus, state: ZoneState, now: datetime) -> None:
    """A run that fails leaves the plan before it in force, and is reported. The next gate has the next run."""
    try:
        async with db.transaction():
            await plan_zone(db, status, state, now)
    except DATABASE_ERRORS:
        raise  # the job is tried again
    except Exception as fault:  # whatever is wrong with one zone's plan, gates of all zones go on closing
        log.error("delivery.run_failed", delivery_zone=status.delivery_zone, exc_info=fault)
        if await store.record_failure(db, status.delivery_zone, now, type(fault).__name__):
            await emit_run_failed(db, status.delivery_zone, now, type(fault).__name__)
    else:
        await store.clear_failure(db, status.delivery_zone)


async def plan_zone(db: Connection, status: ZoneStatus, state: ZoneState, now: datetime) -> Run | None:
    """One run of a zone whose row is locked, from its status now; None where nothing has changed."""
    zone = status.delivery_zone
    final = first_open_period(now, status.gate_closure_s)
    first = period_number_from(now) if state.final_until is None else max(state.final_until, period_number(now))
    horizon = Horizon(zone, now, min(first, final), final, period_number(planning_window(now).end))
    has_cut = False
    if state.plan is not None and state.final_until is not None:
        # What closed while no process ran is final as it was planned.
        has_cut = await finalise_periods(db, zone, state.plan, state.final_until, horizon.first, now)
    has_cut |= await revalidate_closed_periods(db, zone, final, now)
    again = await read_one_zone_status(db, zone, now) if has_cut else status
    versions = InputVersions() if again is None else again.versions
    run, plan = None, state.plan
    if plan is None or plan.end < horizon.end or state.versions != versions or plan.first > horizon.first:
        run, plan = await _replan_zone(db, horizon, state, versions)
    await finalise_periods(db, zone, plan, horizon.first, final, now)
    if run is None:
        await plan_store.store_final_until(db, zone, FinalUntil(final, await find_next_fact_period(db, plan, final)))
    return run


async def read_one_zone_status(db: Database, zone: str, now: datetime) -> ZoneStatus | None:
    """None where no virtual asset is alive in it, now or later."""
    window = planning_window(now)
    statuses = await read_zone_status(db, now, window.start, window.end, period_number(window.end), zone)
    return statuses[0] if statuses else None


async def _replan_zone(
    db: Database, horizon: Horizon, state: ZoneState, versions: InputVersions
) -> tuple[Run, ZonePlan]:
    before = state.plan
    loaded, is_reloaded = await _load_or_reload(db, horizon, state, versions)
    keys = loaded.zone.battery_keys.tolist()
    corrections = {} if is_reloaded else await performance_store.read_pending_corrections(db, keys)
    start = await _load_start(db, loaded, state, corrections, horizon.now)
    if not is_reloaded:  # else it holds own schedules that are limited already
        limited = limit_own_schedules(loaded.zone, loaded.inputs, start.share_energy_kwh)
        loaded = LoadedZone(limited, replace(loaded.inputs, limits=limited.limits))
    zone = loaded.zone
    unchanged = before is not None and batteries_unchanged(state.versions, versions)
    update, new_versions = await asyncio.to_thread(_compute_plan, loaded, state, start, unchanged)
    run = _summarise_run(horizon, update, len(new_versions))
    await store.add_run(db, run)
    last = last_versions(before)
    numbers = await dispatch_store.add_versions(db, run.id, horizon.now, new_versions, last) if new_versions else {}
    await _store_netting(db, horizon, before, update.plan)
    await _store_totals(db, horizon, before, update.plan)
    moved = batteries_with_new_power(before, update.plan, update.changed_slice)
    last |= numbers
    plan = replace(update.plan, versions=np.array([last[key] for key in keys], dtype=np.int64))
    if before is not None:
        gone = set(before.battery_keys.tolist()) - set(keys)
        await release_batteries(db, before, sorted(gone), zone.first, horizon.now)
        plan = plan.prepend(before) if is_reloaded else plan
    final = FinalUntil(horizon.final, await find_next_fact_period(db, plan, horizon.final))
    await plan_store.store_plan(db, horizon.zone, run.id, versions, plan, loaded.inputs, state.arrays, final)
    if corrections:
        await performance_store.mark_corrections_applied(db, corrections, zone.first)
    await emit_dispatched(db, new_versions, numbers, moved)
    await emit_shortfalls(db, before, plan, horizon.first)
    return run, plan


def _compute_plan(
    loaded: LoadedZone, state: ZoneState, start: PlanStart, unchanged: bool
) -> tuple[PlanUpdate, list[NewDispatchVersion]]:
    began_s = time.perf_counter()
    update = replan(loaded.zone, state.plan, start, batteries_unchanged=unchanged)
    took_s = time.perf_counter() - began_s
    capacity_before_kwh = None if unchanged or state.inputs is None else state.inputs.capacity_kwh
    versions = changed_versions(
        state.plan, update.plan, update.changed_slice, loaded.zone.capacity_kwh, capacity_before_kwh
    )
    return replace(update, seconds=took_s), versions


async def _load_or_reload(
    db: Database, horizon: Horizon, state: ZoneState, versions: InputVersions
) -> tuple[LoadedZone, bool]:
    """The zone, and whether only what has changed had to be read."""
    if state.plan is not None and state.inputs is not None:
        both = state.versions, versions
        reloaded = await reload_changed_schedules(db, state.plan, state.inputs, both, horizon.first, horizon.end)
        if reloaded is not None:
            return reloaded, True
    return await load_zone(db, horizon.zone, horizon.first, horizon.end), False


async def _load_start(
    db: Database, loaded: LoadedZone, state: ZoneState, corrections: Mapping[int, SocCorrection], now: datetime
) -> PlanStart:
    """Each battery at the zone's first period: as planned and, where it was measured to be off, corrected by that; else
    as measured lately, else as last dispatched until then, else half of what it may store."""
    zone, before = loaded.zone, state.plan
    count = len(zone.battery_keys)
    rows = {} if before is None else {key: row for row, key in enumerate(before.battery_keys.tolist())}
    column = 0 if before is None else min(max(zone.first - before.first, 0), before.energy_kwh.shape[1] - 1)
    done = None if before is None else before.state_at(column)
    energy_kwh = np.empty(count)
    start = StartState.of_rest(count)
    limits, keys = zone.limits, zone.battery_keys.tolist()
    fresh = np.array([key not in rows for key in keys], dtype=bool)
    if before is not None and done is not None:
        old = np.array([rows[key] for key in keys if key in rows], dtype=np.int64)
        energy_kwh[~fresh] = np.maximum(before.energy_kwh[old, column], 0.0)
        start.day_export_kwh[~fresh], start.year_export_kwh[~fresh] = (
            done.day_export_kwh[old],
            done.year_export_kwh[old],
        )
        start.power_kw[~fresh] = done.power_kw[old]
        start.unreachable_kwh[~fresh] = done.unreachable_kwh[old]
        start.available_fraction[~fresh] = done.available_fraction[old]
        for index, key in enumerate(keys):
            if key in corrections and key in rows:
                planned_kwh, capacity_kwh = (
                    float(before.energy_kwh[rows[key], column]),
                    float(zone.capacity_kwh[index, 0]),
                )
                measured_kwh = max(planned_kwh + corrections[key].offset_kwh, 0.0)
                energy_kwh[index] = min(measured_kwh, max(capacity_kwh, planned_kwh))
    new_keys = [key for key in keys if key not in rows]
    charges = await input_store.read_states_of_charge(db, new_keys, now - MAX_SOC_AGE) if new_keys else {}
    least_export_kwh = np.minimum(limits.daily_export_kwh, limits.annual_export_kwh).min(axis=1, initial=np.inf)
    for index in np.flatnonzero(fresh).tolist():
        energy_kwh[index] = await _find_first_energy_kwh(db, zone, index, charges.get(keys[index]))
        if np.isfinite(least_export_kwh[index]):
            exported_kwh = await load_exported_kwh(db, keys[index], zone.first)
            start.day_export_kwh[index], start.year_export_kwh[index] = exported_kwh
    share_energy_kwh = carry_share_energy(zone, loaded.inputs, before, state.inputs, energy_kwh, fresh)
    return PlanStart(energy_kwh, share_energy_kwh, start)


async def _find_first_energy_kwh(db: Database, zone: ZoneInput, index: int, charge: float | None) -> float:
    """By its state of charge (%) or, where that was not measured lately, by the dispatch of a plan that it was in until
    lately, or half of what it may store."""
    limits, capacity_kwh = zone.limits, float(zone.capacity_kwh[index, 0])
    if charge is not None:
        return min(max(charge / 100 * capacity_kwh, 0.0), capacity_kwh)
    last = await load_dispatch(db, int(zone.battery_keys[index]), zone.first - 1, zone.first + 1)
    if last.is_planned.any():
        planned_kwh = float(last.energy_kwh[1] if last.is_planned[1] else last.after_kwh[0])
        return min(max(planned_kwh, 0.0), capacity_kwh)
    return (float(limits.low_kwh[index, 0]) + float(limits.high_kwh[index, 0])) / 2


async def _store_netting(db: Database, horizon: Horizon, before: ZonePlan | None, plan: ZonePlan) -> None:
    """The fractions that were netted, where they differ from before."""
    after = plan.netted_fraction
    old = np.zeros_like(after)
    if before is not None and before.end > horizon.first:
        piece = before.netted_fraction[:, horizon.first - before.first :][:, : old.shape[1]]
        old[:, : piece.shape[1]] = piece
    indices = np.flatnonzero(np.abs(after - old).max(axis=0) > 0)
    if len(indices):
        low, high = int(indices[0]), int(indices[-1]) + 1
        await zone_store.add_netting(
            db, horizon.zone, horizon.now, horizon.first + low, after[0, low:high], after[1, low:high]
        )


async def _store_totals(db: Database, horizon: Horizon, before: ZonePlan | None, after: ZonePlan) -> None:
    """Scheduled, netted and unserved power, where it differs from before."""
    existing = None if before is None else ZoneTotals.of_plan(before)
    changed = changed_totals(existing, ZoneTotals.of_plan(after))
    if changed is not None:
        await zone_store.add_totals(db, horizon.zone, horizon.now, changed)


def _summarise_run(horizon: Horizon, update: PlanUpdate, changed: int) -> Run:
    def energy_mwh(power_kw: Floats) -> float:
        return float(np.abs(power_kw).sum()) * QUARTER_HOUR_H / KW_PER_MW

    plan = update.plan
    exported_kw, imported_kw, netted_kw, unserved_kw = plan.totals_kw
    return Run(
        id=uuid7(),
        delivery_zone=horizon.zone,
        began_at=horizon.now,
        first_period=horizon.first,
        end_period=horizon.end,
        final_until=horizon.final,
        virtual_assets=len(plan.asset_keys),
        batteries=len(plan.battery_keys),
        scheduled_export_mwh=energy_mwh(exported_kw),
        scheduled_import_mwh=energy_mwh(imported_kw),
        netted_mwh=energy_mwh(netted_kw),
        spread_mwh=energy_mwh(plan.virtual_kw),
        unserved_mwh=energy_mwh(unserved_kw),
        reserve_shortfall_mwh=energy_mwh(plan.unheld_reserves()[1]),
        forced_periods=update.opposed_periods,
        changed_batteries=changed,
        method=DistributionMethod.CLOSED_FORM,
        solver_s=update.seconds,
    )
