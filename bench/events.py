"""How soon a change reaches those who follow it, and how many can follow at once."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from statistics import median, quantiles
from typing import Any

import psutil

from bench.harness import Client, Harness, Organisation
from bench.sse_clients import Follower

PARAMETERS = {
    "ratedChargePower": 10_000,
    "ratedDischargePower": 10_000,
    "energyCapacity": 20_000,
    "chargeEfficiency": 0.95,
    "dischargeEfficiency": 0.95,
}


def new_asset(harness: Harness, organisation: Organisation) -> str:
    created = organisation.admin.post(
        "/physical-assets",
        {
            "name": "Bench battery",
            "organisationID": organisation.id,
            "deliveryZone": "Amprion",
            "parameters": PARAMETERS,
        },
    )
    return str(created["id"])


def change(client: Client, asset: str, number: int) -> None:
    """One change of a schedule, which is one event."""
    period = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(days=2)
    body = {"schedule": [{"time": period.isoformat(), "power": number % 1000}]}
    client.put(f"/physical-assets/{asset}/schedule", body)


async def measure(harness: Harness, streams: int, changes: int, pause_s: float) -> dict[str, Any]:
    organisation = harness.new_organisation()
    asset = new_asset(harness, organisation)
    sent: list[float] = []
    answered: list[float] = []
    latencies_ms: list[float] = []
    heard_last: dict[int, int] = {}

    def hearing(reader: int) -> Any:
        def heard(place: int, _data: str, came: float) -> None:
            assert place == heard_last.get(reader, first - 1) + 1, "a stream skipped or repeated an event"
            heard_last[reader] = place
            latencies_ms.append((came - sent[place - first]) * 1000)

        return heard

    first = 1
    token = organisation.admin.token or ""
    followers = [Follower(harness.address, token, hearing(number)) for number in range(streams)]
    began = time.perf_counter()
    tasks = []
    for follower in followers:
        tasks.append(asyncio.create_task(follower.follow()))
        await asyncio.sleep(0.001)
    while not all(follower.is_open for follower in followers):
        await asyncio.sleep(0.01)
    opened_s = time.perf_counter() - began
    memory_mb = (
        sum(
            child.memory_info().rss
            for child in psutil.Process(harness.product_pid).children()
            if child.name() != "postgres"
        )
        / 1e6
    )
    for number in range(changes):
        sent.append(time.perf_counter())
        await asyncio.to_thread(change, organisation.admin, asset, number)
        answered.append(time.perf_counter())
        await asyncio.sleep(pause_s)
    async with asyncio.timeout(30):
        while len(latencies_ms) < streams * changes:
            await asyncio.sleep(0.01)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    requests_ms = [(end - start) * 1000 for start, end in zip(sent, answered, strict=True)]
    return {
        "streams": streams,
        "opened_s": round(opened_s, 2),
        "workers_mb": round(memory_mb),
        "p50_ms": round(median(latencies_ms), 1),
        "p99_ms": round(quantiles(latencies_ms, n=100)[98], 1),
        "request_p50_ms": round(median(requests_ms), 1),
    }


def run(harness: Harness) -> None:
    """From sending a request to its event on an open stream, so the request itself is part of the time."""
    quick = harness.options.quick
    one = asyncio.run(measure(harness, 1, 20 if quick else 300, 0.02))
    harness.report("a change reaches an open stream", one, target="median < 200 ms", met=one["p50_ms"] < 200)
    many = asyncio.run(measure(harness, 100 if quick else 1000, 5 if quick else 60, 0.5))
    harness.report("a change reaches 1,000 open streams", many, target="median < 200 ms", met=many["p50_ms"] < 200)
