"""The run of a delivery zone: cuts, netting, spread, unserved, netting again; then the batteries' dispatch.

There is a run when the last gate of a quarter-hour closes and a look at it finds anything to do. It plans until the end
of the next market day, keeps what has not changed, and makes final what has closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from gridloom.database.clock import platform_now
from gridloom.database.pool import Database
from gridloom.delivery import anchor_store, quarter_store, situation_store, store
from gridloom.delivery.anchor_store import Anchor
from gridloom.delivery.fence_store import wait_for_writers
from gridloom.delivery.gates import LOOK, next_look, planned_span
from gridloom.delivery.leaving import clear_zone, release_batteries
from gridloom.delivery.loading import Zone, load_zone
from gridloom.delivery.look_store import Look, Stamps, look_at_zones
from gridloom.delivery.model import Floats
from gridloom.delivery.notifications import tell_dispatched
from gridloom.delivery.parts import changed_range
from gridloom.delivery.plan_codec import StandingPlan, pack
from gridloom.delivery.quarters import ZoneQuarters, changed_quarters
from gridloom.delivery.settling import first_settling, settle_periods
from gridloom.delivery.standing import Replanned, battery_series, replan
from gridloom.delivery.store import NewVersion, Run, ZoneState
from gridloom.jobs import JobRun, enqueue, job
from gridloom.kernel.ids import uuid7
from gridloom.kernel.market_time import (
    period_number,
    period_number_from,
)
from gridloom.kernel.units import KW_PER_MW, POWER_TOLERANCE_KW, QUARTER_HOUR_H
from gridloom.monitoring.reading.latest import latest_of_asset
from gridloom.virtual_assets.backing.allocation import DISPATCH
from gridloom.virtual_assets.gate_closure.revalidation import revalidate
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
    span = planned_span(now)
    looks = await look_at_zones(run.db, now, span.start, span.end, period_number(span.end), run.key)
    if not looks:
        await clear_zone(run.db, run.key, now)
        return
    [look] = looks
    if look.next_start < span.end:
        await plan_zone(run.db, look, now)
    # The last statement, so that a look never waits for a run.
    await enqueue(run.db, LOOK, key="", due=next_look(looks, now), clock="platform", at_latest=True)


async def plan_zone(db: Database, look: Look, now: datetime) -> Run | None:
    """One run; None where nothing has changed."""
    zone = look.delivery_zone
    state = await store.lock_zone(db, zone)
    final = first_open_period(now, look.gate_closure_s)
    first = period_number_from(now) if state.settled_until is None else max(state.settled_until, period_number(now))
    horizon = Horizon(zone, now, min(first, final), final, period_number(planned_span(now).end))
    if state.plan is not None and state.settled_until is not None:
        # What closed while nobody ran is final as it was planned.
        await settle_periods(db, state.plan, state.settled_until, horizon.first)
    for key in await situation_store.read_closed_misfits(db, zone, final):
        await revalidate(db, key, now)
    stamps = await _read_stamps(db, zone, now)
    run, plan = None, state.plan
    if plan is None or plan.end < horizon.end or state.stamps != stamps or plan.first > horizon.first:
        run, plan = await _plan_anew(db, horizon, state, stamps)
    await settle_periods(db, plan, horizon.first, final)
    await store.keep_settled(db, zone, final, first_settling(plan, final))
    return run


async def _read_stamps(db: Database, zone: str, now: datetime) -> Stamps:
    """Anew, with the zone held: nobody else plans from them meanwhile."""
    span = planned_span(now)
    looks = await look_at_zones(db, now, span.start, span.end, period_number(span.end), zone)
    return looks[0].stamps if looks else {}


async def _plan_anew(db: Database, horizon: Horizon, state: ZoneState, stamps: Stamps) -> tuple[Run, StandingPlan]:
    zone = await load_zone(db, horizon.zone, horizon.first, horizon.end)
    anchors = await anchor_store.read_waiting(db, [battery.key for battery in zone.batteries])
    energy_kwh, due_kwh = await _start_energies(db, zone, state.plan, anchors, horizon.now)
    keeps_batteries = {n: s for n, s in state.stamps.items() if n[0] not in "V"} == {
        n: s for n, s in stamps.items() if n[0] not in "V"
    }
    made = await asyncio.to_thread(replan, zone, state.plan, energy_kwh, due_kwh, keeps_batteries=keeps_batteries)
    versions = _changed_versions(zone, state.plan, made.plan)
    run = _sum_up_run(horizon, zone, made, len(versions))
    await store.add_run(db, run)
    numbers = await store.add_versions(db, run.id, horizon.now, versions) if versions else {}
    await _keep_netting(db, horizon, state.plan, made)
    await _keep_quarters(db, horizon, state.plan, made.plan)
    await store.keep_plan(db, horizon.zone, run.id, stamps, made.plan)
    if state.plan is not None:
        gone = set(state.plan.battery_keys.tolist()) - {battery.key for battery in zone.batteries}
        await release_batteries(db, state.plan, sorted(gone), zone.first, horizon.now)
    if anchors:
        await anchor_store.keep_applied(db, anchors, zone.first)
    await tell_dispatched(db, zone.batteries, versions, numbers, _find_moved(zone, state.plan, made.plan))
    return run, made.plan


async def _start_energies(
    db: Database, zone: Zone, before: StandingPlan | None, anchors: Mapping[int, Anchor], now: datetime
) -> tuple[Floats, Floats]:
    """What each battery holds at the zone's first period and what it would hold by shares alone: as planned and, where
    it was measured to be off, moved by that; else as measured lately, else half of what it may hold."""
    known = {} if before is None else {key: row for row, key in enumerate(before.battery_keys.tolist())}
    energy_kwh, due_kwh = np.empty(len(zone.batteries)), np.empty(len(zone.batteries))
    for place, battery in enumerate(zone.batteries):
        row = known.get(battery.key)
        if row is not None and before is not None:
            column = min(max(zone.first - before.first, 0), before.energy_kwh.shape[1] - 1)
            offset_kwh = anchors[battery.key].offset_kwh if battery.key in anchors else 0.0
            held_kwh = before.energy_kwh[row, column] + offset_kwh
            energy_kwh[place] = min(max(held_kwh, 0.0), float(zone.capacity_kwh[place, 0]))
            due_kwh[place] = before.due_kwh[row, column]
            continue
        measured = await latest_of_asset(db, battery.key)
        low_kwh, high_kwh = float(zone.limits.low_kwh[place, 0]), float(zone.limits.high_kwh[place, 0])
        energy_kwh[place] = (low_kwh + high_kwh) / 2
        if measured is not None and measured.state_of_charge_percentage is not None and now - measured.time < FRESH:
            held_kwh = measured.state_of_charge_percentage / 100 * float(zone.capacity_kwh[place, 0])
            energy_kwh[place] = min(max(held_kwh, 0.0), float(zone.capacity_kwh[place, 0]))
        due_kwh[place] = energy_kwh[place]
    return energy_kwh, due_kwh


def _changed_versions(zone: Zone, before: StandingPlan | None, after: StandingPlan) -> list[NewVersion]:
    """For each battery the periods that are not as they were planned, or were not planned at all."""
    known_end = zone.first if before is None or before.end <= zone.first else min(before.end, zone.end)
    old: dict[int, dict[str, Floats]] = {}
    if before is not None and known_end > zone.first:
        series = battery_series(before, zone.first, known_end)
        old = dict(zip(before.battery_keys.tolist(), series, strict=True))
    versions = []
    for battery, series_after in zip(zone.batteries, battery_series(after, zone.first, zone.end), strict=True):
        low, high = zone.end - zone.first, zone.end - zone.first
        if battery.key not in old:
            low = 0
        else:
            count = known_end - zone.first
            changed = changed_range(
                old[battery.key] | {"energy": old[battery.key]["energy"][1:]},
                {name: row[:count] for name, row in series_after.items()}
                | {"energy": series_after["energy"][1 : count + 1]},
            )
            if changed is None and count == high:
                continue
            low = count if changed is None else changed[0]
            high = changed[1] if changed is not None and count == high else high
        arrays = {
            name: row[low : high + 1] if name == "energy" else row[low:high]
            for name, row in series_after.items()
            if name == "energy" or np.abs(row[low:high]).max(initial=0.0) > 0
        }
        place = next(place for place, other in enumerate(zone.batteries) if other is battery)
        arrays["capacity"] = zone.capacity_kwh[place, low:high]
        versions.append(NewVersion(battery.key, zone.first + low, zone.first + high, pack(arrays)))
    return versions


def _find_moved(zone: Zone, before: StandingPlan | None, after: StandingPlan) -> frozenset[int]:
    """The batteries whose power is another than before; what was not planned before was idle."""
    power_kw = (
        {}
        if before is None
        else dict(zip(before.battery_keys.tolist(), before.virtual_kw + before.own_kw, strict=True))
    )
    moved = set()
    for row, key in enumerate(after.battery_keys.tolist()):
        new_kw = after.virtual_kw[row] + after.own_kw[row]
        old_kw = np.zeros_like(new_kw)
        if before is not None and key in power_kw:
            piece = power_kw[key][max(0, after.first - before.first) :][: len(old_kw)]
            old_kw[: len(piece)] = piece
        if np.abs(new_kw - old_kw).max(initial=0.0) > POWER_TOLERANCE_KW:
            moved.add(key)
    return frozenset(moved)


async def _keep_netting(db: Database, horizon: Horizon, before: StandingPlan | None, made: Replanned) -> None:
    """The parts that were netted, where they are not as they were."""
    after = made.plan.netted_part
    old = np.zeros_like(after)
    if before is not None and before.end > horizon.first:
        piece = before.netted_part[:, horizon.first - before.first :][:, : old.shape[1]]
        old[:, : piece.shape[1]] = piece
    places = np.flatnonzero(np.abs(after - old).max(axis=0) > 0)
    if len(places):
        low, high = int(places[0]), int(places[-1]) + 1
        await store.add_netting(
            db, horizon.zone, horizon.now, horizon.first + low, after[0, low:high], after[1, low:high]
        )


async def _keep_quarters(db: Database, horizon: Horizon, before: StandingPlan | None, after: StandingPlan) -> None:
    """What is scheduled, netted and left unserved, where it is not as it was."""
    known = None if before is None else ZoneQuarters.of_plan(before)
    changed = changed_quarters(known, ZoneQuarters.of_plan(after))
    if changed is not None:
        await quarter_store.add_quarters(db, horizon.zone, horizon.now, changed)


def _sum_up_run(horizon: Horizon, zone: Zone, made: Replanned, changed: int) -> Run:
    def energy_mwh(power_kw: Floats) -> float:
        return float(np.abs(power_kw).sum()) * QUARTER_HOUR_H / KW_PER_MW

    return Run(
        uuid7(),
        horizon.zone,
        horizon.now,
        horizon.first,
        horizon.end,
        horizon.final,
        len(zone.assets),
        len(zone.batteries),
        energy_mwh(np.maximum(zone.power_kw, 0.0)),
        energy_mwh(np.minimum(zone.power_kw, 0.0)),
        energy_mwh(np.maximum(made.netted_kw, 0.0)),
        energy_mwh(made.plan.virtual_kw),
        energy_mwh(made.plan.unserved_kw),
        made.forced_periods,
        changed,
        made.method,
        made.solver_s,
    )
