"""What a delivery run costs: a zone planned as a whole, and one schedule that has changed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from uuid import UUID

import numpy as np

from bench.harness import Harness
from gridloom.delivery.loading import Zone
from gridloom.delivery.model import Batteries, Floats
from gridloom.delivery.plan_codec import standing_plan
from gridloom.delivery.situation_store import Battery, LiveAsset
from gridloom.delivery.spreading import changes_kwh
from gridloom.delivery.standing import Replanned, replan

VIRTUAL, BATTERIES, PERIODS = 1_000, 100, 96
WHOLE_S, CHANGED_S = 2.0, 0.05


def zone_of(virtual: int, count: int, periods: int, *, alike: bool) -> tuple[Zone, Floats]:
    """Virtual assets on two batteries each, scheduled to half of what backs them; batteries of 1, 2 and 4 hours."""
    draw = np.random.default_rng(2026)
    power_kw = draw.uniform(500, 5000, count)
    capacity_kwh = power_kw * draw.choice([1.0, 2.0, 4.0], count)
    efficiency = np.full((2, count), 0.943) if alike else draw.uniform(0.92, 0.97, (2, count))
    limits_kw = np.repeat(power_kw[:, None], periods, axis=1)
    charge_efficiency, discharge_efficiency = (np.repeat(row[:, None], periods, axis=1) for row in efficiency)
    zeros = np.zeros((count, periods))
    batteries = Batteries(
        limits_kw,
        limits_kw,
        zeros,
        np.repeat(capacity_kwh[:, None], periods, axis=1),
        charge_efficiency,
        discharge_efficiency,
        zeros,
        zeros,
        zeros,
        capacity_kwh / 2,
    )
    behind = np.array([draw.choice(count, 2, replace=False) for _ in range(virtual)])
    share_of = np.stack([np.repeat(np.arange(virtual), 2), behind.ravel()], axis=1)
    shares = np.full(2 * virtual, 0.5)
    walks = draw.normal(0, 1, (virtual, periods)).cumsum(axis=1)
    scheduled_kw = walks / np.abs(walks).max() * power_kw.sum() / virtual / 2
    due_kwh = np.zeros((count, periods))
    stored_kwh = changes_kwh(scheduled_kw, np.full((virtual, 1), 0.943), np.full((virtual, 1), 0.943))
    np.add.at(due_kwh, share_of[:, 1], shares[:, None] * stored_kwh[share_of[:, 0]])
    zone = Zone(
        0,
        periods,
        [LiveAsset(key, UUID(int=key), UUID(int=0), 0, periods, 0.943, 0.943, None) for key in range(1, virtual + 1)],
        [Battery(virtual + key, UUID(int=key), UUID(int=0)) for key in range(1, count + 1)],
        scheduled_kw,
        share_of,
        shares,
        batteries,
        due_kwh,
        batteries.high_kwh,
        [],
    )
    return zone, batteries.energy_kwh


def run(harness: Harness) -> None:
    virtual, count = (50, 10) if harness.options.quick else (VIRTUAL, BATTERIES)
    for kind, alike in (("batteries alike", True), ("batteries that lose differently", False)):
        zone, energy_kwh = zone_of(virtual, count, PERIODS, alike=alike)
        _measure(harness, kind, zone, energy_kwh)


def _measure(harness: Harness, kind: str, zone: Zone, energy_kwh: Floats) -> None:
    def plan_whole() -> Replanned:
        return replan(zone, None, energy_kwh, energy_kwh, keeps_batteries=False)

    whole_s, made = _timed(harness, plan_whole)
    packed = made.plan.packed()
    changed_kw = zone.power_kw.copy()
    changed_kw[7, 60:64] += 5.0
    changed = replace(zone, power_kw=changed_kw)

    def redispatch() -> Replanned:
        """As a run does it: from the plan that was kept to the one that is kept next."""
        found = replan(changed, standing_plan(0, packed), energy_kwh, energy_kwh, keeps_batteries=True)
        found.plan.packed()
        return found

    changed_s, again = _timed(harness, redispatch)
    assert not again.plan.unserved_kw.any(), "a changed schedule was not served"
    harness.report(
        f"{len(zone.assets)} virtual assets on {len(zone.batteries)} {kind}, one day",
        {"cpu_ms": round(1000 * whole_s, 1), "method": made.method.value, "kept_kb": len(packed) // 1024},
        target=f"under {WHOLE_S:g} s of CPU",
        met=whole_s < WHOLE_S,
    )
    harness.report(
        f"one changed schedule, {kind}",
        {"cpu_ms": round(1000 * changed_s, 1), "method": again.method.value},
        target=f"under {1000 * CHANGED_S:g} ms of CPU",
        met=changed_s < CHANGED_S,
    )


def _timed(harness: Harness, work: Callable[[], Replanned]) -> tuple[float, Replanned]:
    """CPU time of this process, the median of some rounds, and what came of the last."""
    taken_s = []
    for _ in range(max(3, harness.options.rounds)):
        began = time.process_time()
        made = work()
        taken_s.append(time.process_time() - began)
    return median(taken_s), made
