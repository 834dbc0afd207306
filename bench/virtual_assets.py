"""Schedules of virtual assets: a year at once, one period of a year, and writers who race."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any

import asyncpg
import numpy as np
import orjson

from bench.ceiling import Bare
from bench.harness import Client, Harness, Request
from gridloom.kernel.market_time import period_number
from gridloom.market_calendar import first_period_of_utc_day
from gridloom.virtual_assets.energy.trajectory import (
    DaySummaries,
    days_possibly_out_of_bounds,
    energy_trajectory_kwh,
    first_excess,
    tolerance_kwh,
)
from gridloom.virtual_assets.model import Efficiency

CEILING = Bare()
CAPACITY_KWH = 2000.0
EFFICIENCY = Efficiency(0.9, 0.9)
SIDE_BY_SIDE = 8


@CEILING.on("PUT", "/schedules")
async def write_one_day(pool: Any, last: str, body: bytes) -> Any:
    """The least that keeps a schedule and its versions: lock the asset, replace the day, note the version."""
    asked = orjson.loads(body)
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("select version from virtual_asset where asset_key = $1 for no key update", int(last))
        powers = await connection.fetchval(
            "select power_kw from virtual_schedule where asset_key = $1 and day = $2 and lane = 0",
            int(last),
            asked["day"],
        )
        powers[asked["slot"]] = asked["power"]
        await connection.execute(
            "update virtual_schedule set power_kw = $3 where asset_key = $1 and day = $2 and lane = 0",
            int(last),
            asked["day"],
            powers,
        )
        version = await connection.fetchval(
            "update virtual_asset set version = version + 1 where asset_key = $1 returning version", int(last)
        )
        await connection.execute(
            """insert into schedule_version (asset_key, version, kind, accepted_at, author_kind)
               values ($1, $2, 'SCHEDULE', clock_timestamp(), 'BENCH')""",
            int(last),
            version,
        )
    return {"version": version}


class Battery:
    """A virtual asset of 1 MW and 2 MWh from tomorrow on."""

    def __init__(self, harness: Harness, days: int) -> None:
        self.organisation = harness.new_organisation()
        operator = harness.operator
        start = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        rated = {
            "ratedChargePower": 1000,
            "ratedDischargePower": 1000,
            "energyCapacity": CAPACITY_KWH,
            "chargeEfficiency": EFFICIENCY.charge,
            "dischargeEfficiency": EFFICIENCY.discharge,
        }
        place = {"organisationID": self.organisation.id, "deliveryZone": "TenneT"}
        physical = operator.post("/physical-assets", {"name": "Bench", **place, "parameters": rated})
        self.url = f"/organisations/{self.organisation.id}/virtual-assets"
        self.asset = operator.post(
            self.url,
            {
                "name": "Bench",
                "start": start.isoformat(),
                "end": (start + timedelta(days=days)).isoformat(),
                "deliveryZone": "TenneT",
                **rated,
                "backing": [{"physicalAssetID": physical["id"], "share": 1}],
            },
        )
        self.url += f"/{self.asset['id']}"
        self.start, self.periods = start, days * 96
        self.block_url = f"{self.url}/blocks/{self.asset['blockIDs'][0]}"

    @property
    def client(self) -> Client:
        return self.organisation.admin

    def schedule(self, powers: list[float], offset: int = 0) -> dict[str, Any]:
        return {
            "schedule": [
                {"time": (self.start + timedelta(minutes=15 * (offset + place))).isoformat(), "power": power}
                for place, power in enumerate(powers)
            ]
        }


def daily_powers(days: int) -> list[float]:
    """Charges at night, discharges in the evening, and ends each day as it began."""
    day = np.zeros(96)
    day[8:12], day[72:76] = -900.0, 729.0
    powers: list[float] = np.tile(day, days).tolist()
    return powers


def run(harness: Harness) -> None:
    days = 30 if harness.options.quick else 365
    judge_a_year(harness)
    year = Battery(harness, days)
    schedule_a_year(harness, year, days)
    schedule_one_period(harness, year)
    schedule_side_by_side(harness)
    race(harness)


def judge_a_year(harness: Harness) -> None:
    """Trajectory and bounds of 35,040 periods, and the same by the summaries of its days."""
    power_kw = np.array(daily_powers(365))
    before_kwh, available_kwh = np.full(power_kw.size, 1000.0), np.full(power_kw.size, CAPACITY_KWH)
    slack_kwh = tolerance_kwh(CAPACITY_KWH)

    def whole() -> None:
        energy_kwh = energy_trajectory_kwh(1000.0, power_kw, EFFICIENCY)[1:]
        assert first_excess(before_kwh, energy_kwh, available_kwh, slack_kwh) is None

    summaries = DaySummaries.of(power_kw.reshape(365, 96), EFFICIENCY)
    idle = DaySummaries.zeros(365)

    def by_days() -> None:
        assert not days_possibly_out_of_bounds(idle, summaries, 1000.0, np.full(365, CAPACITY_KWH), slack_kwh).any()

    took_ms = {"all periods": _best_ms(whole), "by days": _best_ms(by_days)}
    harness.report(
        "validate 35,040 periods",
        {f"{k} ms": v for k, v in took_ms.items()},
        target="< 10 ms",
        met=max(took_ms.values()) < 10,
    )


def _best_ms(work: Any) -> float:
    took = []
    for _ in range(20):
        started = time.perf_counter()
        work()
        took.append(time.perf_counter() - started)
    return round(1000 * median(took), 3)


def schedule_a_year(harness: Harness, battery: Battery, days: int) -> None:
    body = orjson.dumps(battery.schedule(daily_powers(days)))
    took_ms = []
    for _ in range(3 if harness.options.quick else 9):
        started = time.perf_counter()
        answer = battery.client.call("PUT", battery.block_url, body)
        took_ms.append(1000 * (time.perf_counter() - started))
        assert answer["imbalance"]["balanced"], answer["imbalance"]
    figures = {
        "ms": round(median(took_ms), 1),
        "slowest ms": round(max(took_ms), 1),
        "megabytes": round(len(body) / 1e6, 2),
    }
    harness.report(f"PUT {days * 96:,} points end to end", figures, target="< 400 ms", met=median(took_ms) < 400)


def schedule_one_period(harness: Harness, year: Battery) -> None:
    """One period of a long life costs what it costs of a short one, and a fair share of the bare writes."""
    short = Battery(harness, 2)
    short.client.put(short.block_url, short.schedule(daily_powers(2)))
    bare = Battery(harness, 2)  # the bare writes keep no summaries, so they have an asset of their own
    bare.client.put(bare.block_url, bare.schedule(daily_powers(2)))
    key, first_day = asyncio.run(_key(harness, bare)), period_number(bare.start) // 96
    ceiling = [
        Request("PUT", f"/schedules/{key}", json={"day": first_day + place % 2, "slot": place, "power": 5.0})
        for place in range(64)
    ]
    rates: dict[str, float] = {}
    for name, battery in (("two days", short), ("long life", year)):
        dice = random.Random(5)
        product = [
            Request(
                "PUT",
                battery.block_url,
                token=battery.client.token,
                json=battery.schedule(
                    [dice.choice([-5.0, 5.0])],
                    offset=dice.randrange(battery.periods // 96) * 96 + dice.randrange(20, 60),
                ),
            )
            for _ in range(64)
        ]
        result = harness.compare(f"PUT one period, {name}", product, ceiling, at_least=None, connections=8)
        rates[name] = result.figures["product"]["rate_s"]
    ratio = rates["long life"] / rates["two days"]
    harness.report(
        "one period of a long life against one of two days",
        {"ratio": round(ratio, 3)},
        target=">= 0.7",
        met=ratio >= 0.7,
    )


def schedule_side_by_side(harness: Harness) -> None:
    """Eight writers, each on an asset of its own: no writer waits for another's lock."""
    mine, bare = ([Battery(harness, 2) for _ in range(SIDE_BY_SIDE)] for _ in range(2))
    for battery in (*mine, *bare):
        battery.client.put(battery.block_url, battery.schedule(daily_powers(2)))
    first_day = period_number(bare[0].start) // 96
    keys = [asyncio.run(_key(harness, battery)) for battery in bare]
    dice = random.Random(6)
    product = [
        Request(
            "PUT",
            battery.block_url,
            token=battery.client.token,
            json=battery.schedule([dice.choice([-5.0, 5.0])], offset=dice.randrange(2) * 96 + dice.randrange(20, 60)),
        )
        for _ in range(8)
        for battery in mine
    ]
    ceiling = [
        Request("PUT", f"/schedules/{key}", json={"day": first_day + place % 2, "slot": place, "power": 5.0})
        for place in range(8)
        for key in keys
    ]
    name = f"PUT one period, {SIDE_BY_SIDE} writers on {SIDE_BY_SIDE} assets"
    result = harness.compare(name, product, ceiling, at_least=0.35, connections=SIDE_BY_SIDE)
    times = result.figures["product"]["p50_ms"] / result.figures["ceiling"]["p50_ms"]
    harness.report(f"{name}: median", {"of the ceiling's": round(times, 2)}, target="<= 3", met=times <= 3)


async def _key(harness: Harness, battery: Battery) -> int:
    connection = await asyncpg.connect(harness.database_url)
    try:
        key: int = await connection.fetchval("select key from asset where id = $1", battery.asset["id"])
        return key
    finally:
        await connection.close()


def race(harness: Harness) -> None:
    """16 writers on one asset; after each round the trajectory is computed from the rows alone."""
    battery = Battery(harness, 4)
    rounds, writes = (2, 10) if harness.options.quick else (6, 60)
    statuses: dict[str, int] = {"accepted": 0, "refused": 0}
    lock = threading.Lock()

    def write(seed: int) -> None:
        dice = random.Random(seed)
        client = battery.client
        for _ in range(writes):
            length = dice.choice([1, 2, 4, 8, 16])
            offset = dice.randrange(battery.periods - length)
            power = dice.choice([-1000.0, -600.0, -200.0, 0.0, 300.0, 700.0, 1000.0])
            try:
                client.put(battery.block_url, battery.schedule([power] * length, offset))
                outcome = "accepted"
            except RuntimeError as refusal:
                if " 422 " not in str(refusal):
                    raise
                outcome = "refused"
            with lock:
                statuses[outcome] += 1

    violations, started = 0, time.perf_counter()
    for number in range(rounds):
        threads = [threading.Thread(target=write, args=(number * 16 + place,)) for place in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        energy_kwh = asyncio.run(_energies_kwh(harness, battery))
        slack_kwh = tolerance_kwh(CAPACITY_KWH)
        violations += int((energy_kwh < -slack_kwh).sum() + (energy_kwh > CAPACITY_KWH + slack_kwh).sum())
    took_s = time.perf_counter() - started
    total = sum(statuses.values())
    assert total == rounds * writes * 16, "a writer broke off"
    figures = {**statuses, "violations": violations, "per second": round(total / took_s)}
    harness.report(f"16 writers race for {total:,} updates", figures, target="0 violations", met=violations == 0)


async def _energies_kwh(harness: Harness, battery: Battery) -> Any:
    key = await _key(harness, battery)
    connection = await asyncpg.connect(harness.database_url)
    try:
        rows = await connection.fetch("select day, power_kw from virtual_schedule where asset_key = $1", key)
    finally:
        await connection.close()
    power_kw = np.zeros(battery.periods)
    for row in rows:
        place = first_period_of_utc_day(row["day"]) - period_number(battery.start)
        power_kw[place : place + 96] += row["power_kw"]
    return energy_trajectory_kwh(CAPACITY_KWH / 2, power_kw, EFFICIENCY)
