"""What a delivery run costs: a zone planned as a whole, and one schedule that has changed; in memory, and from the
database back to it."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from statistics import median

import asyncpg
import numpy as np
import psutil

from bench.harness import Client, Harness
from gridloom.delivery.model import BatteryLimits, StartState
from gridloom.delivery.plan_store import changed_chunks, forget_arrays, join_chunks, lock_zone
from gridloom.delivery.planning.distribution import energy_changes_kwh
from gridloom.delivery.planning.model import ZoneInput, ZonePlan
from gridloom.delivery.planning.replanning import PlanStart, PlanUpdate, replan
from gridloom.delivery.runs.due_gates import wait_for_writers
from gridloom.delivery.runs.run import plan_zone, read_one_zone_status
from gridloom.kernel.market_time import PERIOD, market_day_of, market_day_window
from gridloom.platform.database.pool import create_pool
from gridloom.wiring import provide_dependencies

VIRTUAL, BATTERIES, PERIODS = 1_000, 100, 96
WHOLE_S, CHANGED_S = 0.4, 0.04


def zone_of(virtual: int, count: int, periods: int, *, alike: bool) -> tuple[ZoneInput, PlanStart]:
    """Virtual assets on two batteries each, scheduled to half of what backs them; batteries of 1, 2 and 4 hours."""
    draw = np.random.default_rng(2026)
    power_kw = draw.uniform(500, 5000, count)
    capacity_kwh = power_kw * draw.choice([1.0, 2.0, 4.0], count)
    efficiency = np.full((2, count), 0.943) if alike else draw.uniform(0.92, 0.97, (2, count))
    limits_kw = np.repeat(power_kw[:, None], periods, axis=1)
    charge_efficiency = np.repeat(efficiency[0][:, None], periods, axis=1)
    discharge_efficiency = np.repeat(efficiency[1][:, None], periods, axis=1)
    zeros = np.zeros((count, periods))
    batteries = BatteryLimits(
        limits_kw,
        limits_kw,
        zeros,
        np.repeat(capacity_kwh[:, None], periods, axis=1),
        charge_efficiency,
        discharge_efficiency,
        *(zeros, zeros, zeros, zeros),
        np.repeat(capacity_kwh[:, None], periods, axis=1),
        *(np.full_like(zeros, np.inf),) * 3,
        *(zeros, zeros, np.ones_like(zeros)),
        capacity_kwh / 2,
    )
    behind = np.array([draw.choice(count, 2, replace=False) for _ in range(virtual)])
    share_of = np.stack([np.repeat(np.arange(virtual), 2), behind.ravel()], axis=1)
    shares = np.full(2 * virtual, 0.5)
    walks = draw.normal(0, 1, (virtual, periods)).cumsum(axis=1)
    scheduled_kw = walks / np.abs(walks).max() * power_kw.sum() / virtual / 2
    due_kwh = np.zeros((count, periods))
    stored_kwh = energy_changes_kwh(scheduled_kw, np.full((virtual, 1), 0.943), np.full((virtual, 1), 0.943))
    np.add.at(due_kwh, share_of[:, 1], shares[:, None] * stored_kwh[share_of[:, 0]])
    zone = ZoneInput(
        0,
        periods,
        np.arange(1, virtual + 1),
        np.arange(virtual + 1, virtual + count + 1),
        scheduled_kw,
        np.zeros_like(scheduled_kw),
        share_of,
        shares,
        batteries,
        due_kwh,
        batteries.high_kwh,
        *(np.zeros((0, 3), dtype=np.int64), np.zeros((0, periods))),
        *(np.zeros((0, 3), dtype=np.int64), np.zeros((0, periods))),
    )
    return zone, PlanStart(batteries.energy_kwh, batteries.energy_kwh, StartState.of_rest(count))


def run(harness: Harness) -> None:
    virtual, count = (50, 10) if harness.options.quick else (VIRTUAL, BATTERIES)
    for kind, alike in (("batteries alike", True), ("batteries that lose differently", False)):
        zone, start = zone_of(virtual, count, PERIODS, alike=alike)
        _measure(harness, kind, zone, start)
    asyncio.run(_measure_runs(harness, virtual, count))


def _measure(harness: Harness, kind: str, zone: ZoneInput, start: PlanStart) -> None:
    def plan_whole() -> PlanUpdate:
        return replan(zone, None, start, batteries_unchanged=False)

    whole_s, made = _timed(harness, plan_whole)
    packed = dict(changed_chunks({}, made.plan.arrays()))
    changed_kw = zone.power_kw.copy()
    changed_kw[7, 60:64] += 5.0
    changed = replace(zone, power_kw=changed_kw)

    def redispatch() -> PlanUpdate:
        """As a run does it: from the plan that was kept to the one that is kept next."""
        before = join_chunks([(name, packed[name, block]) for name, block in sorted(packed)])
        found = replan(changed, ZonePlan.of_arrays(0, before), start, batteries_unchanged=True)
        list(changed_chunks(before, found.plan.arrays()))
        return found

    changed_s, again = _timed(harness, redispatch)
    assert not again.plan.unserved_kw.any(), "a changed schedule was not served"
    harness.report(
        f"{len(zone.asset_keys)} virtual assets on {len(zone.battery_keys)} {kind}, one day",
        {
            "cpu_ms": round(1000 * whole_s, 1),
            "kept_kb": sum(map(len, packed.values())) // 1024,
        },
        target=f"under {1000 * WHOLE_S:g} ms of CPU",
        met=whole_s < WHOLE_S,
    )
    harness.report(
        f"one changed schedule, {kind}",
        {"cpu_ms": round(1000 * changed_s, 1)},
        target=f"under {1000 * CHANGED_S:g} ms of CPU",
        met=changed_s < CHANGED_S,
    )


def _timed(harness: Harness, work: Callable[[], PlanUpdate]) -> tuple[float, PlanUpdate]:
    """CPU time of this process, the median of some rounds, and what came of the last."""
    taken_s = []
    for _ in range(max(3, harness.options.rounds)):
        began = time.process_time()
        made = work()
        taken_s.append(time.process_time() - began)
    return median(taken_s), made


# --- with the database -----------------------------------------------------------------------------------------------

ZONE = "TenneT"
RATED = {"chargeEfficiency": 0.943, "dischargeEfficiency": 0.943}


class Scene:
    """A zone over HTTP: virtual assets on two batteries each, for a market day that no run has in view yet."""

    def __init__(self, harness: Harness, virtual: int, count: int) -> None:
        self.client: Client = harness.operator
        self.organisation_id = harness.new_organisation().id
        self.start = market_day_window(market_day_of(datetime.now(UTC)) + timedelta(days=5)).start
        self.share_kw = 2000.0 * count / virtual / 2
        self.batteries = [self._add_battery(number) for number in range(count)]
        self.assets = [self._add_asset(number) for number in range(virtual)]
        draw = np.random.default_rng(2026)
        for number in range(virtual):
            waves = np.sin(2 * np.pi * (draw.integers(4, 9) * np.arange(PERIODS) / PERIODS + draw.uniform()))
            self.schedule(number, (self.share_kw / 8 * waves).round(3).tolist())

    def _add_battery(self, number: int) -> str:
        power = {
            "ratedChargePower": 2000,
            "ratedDischargePower": 2000,
            "energyCapacity": (2000, 4000, 8000)[number % 3],
        }
        body = {"name": f"Bench {number}", "organisationID": self.organisation_id, "deliveryZone": ZONE}
        made = self.client.post("/physical-assets", {**body, "parameters": {**power, **RATED}})
        return str(made["id"])

    def _add_asset(self, number: int) -> tuple[str, str]:
        behind = (self.batteries[number % len(self.batteries)], self.batteries[(number + 1) % len(self.batteries)])
        made = self.client.post(
            f"/organisations/{self.organisation_id}/virtual-assets",
            {
                "name": f"Bench {number}",
                "start": self.start.isoformat(),
                "end": (self.start + PERIODS * PERIOD).isoformat(),
                "deliveryZone": ZONE,
                "ratedChargePower": self.share_kw,
                "ratedDischargePower": self.share_kw,
                "energyCapacity": self.share_kw,
                **RATED,
                "backing": [{"physicalAssetID": one, "share": 0.5} for one in behind],
            },
        )
        return made["id"], made["blockIDs"][0]

    def schedule(self, number: int, powers: list[float], offset: int = 0) -> None:
        id, block = self.assets[number]
        points = [
            {"time": (self.start + (offset + place) * PERIOD).isoformat(), "power": power}
            for place, power in enumerate(powers)
        ]
        url = f"/organisations/{self.organisation_id}/virtual-assets/{id}/blocks/{block}"
        self.client.put(url, {"schedule": points})


async def _measure_runs(harness: Harness, virtual: int, count: int) -> None:
    """Runs as a job does them, in one transaction that is undone; CPU of this process and of PostgreSQL's."""
    provide_dependencies()
    scene = await asyncio.to_thread(Scene, harness, virtual, count)
    now = scene.start - timedelta(hours=1)
    pool = await create_pool(harness.database_url, size=1, idle_in_transaction_timeout_s=300)
    gc.collect()
    gc.freeze()  # as the service does before it starts its workers: what is imported is no garbage
    try:
        async with pool.acquire() as db:
            undone = db.transaction()
            await undone.start()
            server = await db.fetchval("select pg_backend_pid()")
            whole = await _measure_run(db, server, now)
            changed: list[Used] = []
            elsewhere: list[Used] = []
            for number in range(2 * max(3, harness.options.rounds)):
                await asyncio.to_thread(scene.schedule, 7 + 31 * number, [5.0, 4.0, 3.0, 2.0], 60)
                if number % 2:
                    forget_arrays()  # as in a process that has not run the zone before
                (elsewhere if number % 2 else changed).append(await _measure_run(db, server, now))
            before = Used.so_far(server)
            await read_one_zone_status(db, ZONE, now)
            look = Used.so_far(server).since(before)
            await undone.rollback()
    finally:
        await pool.close()
    name = f"{virtual} virtual assets on {count} batteries"
    for what, used, most_s in (
        ("one day", whole, WHOLE_S),
        ("one changed schedule", _find_middle(changed), CHANGED_S),
        ("one changed schedule, in a process that has not run the zone before", _find_middle(elsewhere), CHANGED_S),
    ):
        harness.report(
            f"the whole run with its database: {name}, {what}",
            used.figures(),
            target=f"under {1000 * most_s:g} ms of CPU",
            met=used.all_s < most_s,
        )
    harness.report(f"a look at which nothing changed: {name}", look.figures())


@dataclass(frozen=True)
class Used:
    """Seconds of CPU."""

    python_s: float
    postgres_s: float

    @classmethod
    def so_far(cls, server: int) -> Used:
        return cls(time.process_time(), _read_cpu_s(server))

    def since(self, before: Used) -> Used:
        return Used(self.python_s - before.python_s, self.postgres_s - before.postgres_s)

    @property
    def all_s(self) -> float:
        return self.python_s + self.postgres_s

    def figures(self) -> dict[str, float]:
        spent = {"cpu_ms": self.all_s, "python_ms": self.python_s, "postgresql_ms": self.postgres_s}
        return {name: round(1000 * used_s, 1) for name, used_s in spent.items()}


def _find_middle(measured: list[Used]) -> Used:
    return sorted(measured, key=lambda one: one.all_s)[len(measured) // 2]


async def _measure_run(db: asyncpg.pool.PoolConnectionProxy, server: int, now: datetime) -> Used:
    before = Used.so_far(server)
    await wait_for_writers(db)
    state = await lock_zone(db, ZONE)
    status = await read_one_zone_status(db, ZONE, now)
    assert status is not None, "no virtual asset is alive in the zone"
    assert await plan_zone(db, status, state, now) is not None, "nothing was planned"
    return Used.so_far(server).since(before)


def _read_cpu_s(pid: int) -> float:
    """Of another process: by its clock where there is one, else in the hundredths of a second that are listed."""
    if sys.platform == "linux":
        return time.clock_gettime(~pid << 3 | 2)
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)
