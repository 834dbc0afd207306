"""Telemetry through nodes of a cluster: one service that speaks to the coordinator, one and two that write through a
worker node each (`GRIDLOOM_TELEMETRY_DATABASE_URL`). What a request costs each node, in processor time.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from bench.auctions import Scene
from bench.harness import Client, Harness, cpu_seconds, running
from bench.node_cpu import Nodes, connect_nodes, name_node, used_ms

SIGNALS, BATTERIES = 20, 24
WARM_UP = 60
IDLE_S = 8

Ask = Callable[[], Any]


def write_telemetry(client: Client, batteries: list[str]) -> Iterator[Any]:
    """One second of 20 signals, for one battery after another."""
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
    for second in itertools.count():
        moment = (start + timedelta(seconds=second)).isoformat()
        body = {f"signal_{number}": {"time": [moment], "value": [second / 10 + number]} for number in range(SIGNALS)}
        yield client.post(f"/monitoring/{batteries[second % len(batteries)]}/datapoints", body)


def measure_entries(harness: Harness, count: int) -> dict[str, dict[str, float]]:
    """By how the requests come in, milliseconds a request: of each node, each service, and the busiest of them."""
    urls = asyncio.run(_list_worker_urls(harness.database_url))
    found = {"through the coordinator": _measure([harness], count)}
    with _serve_through(harness, urls[0]) as first:
        found["through one worker node"] = _measure([first], count)
        with _serve_through(harness, urls[1]) as second:
            found["two services, through two worker nodes"] = _measure([first, second], count)
    return found


@contextmanager
def _serve_through(harness: Harness, url: str) -> Iterator[Harness]:
    environment = {"GRIDLOOM_TELEMETRY_DATABASE_URL": url}
    with running(
        "citus_costs", harness.options, has_ceiling=False, environment=environment, database=harness.database_url
    ) as service:
        yield service


async def _list_worker_urls(url: str) -> list[str]:
    nodes = await connect_nodes(url)
    try:
        rows = await nodes.fetch("select nodename, nodeport from pg_dist_node where groupid > 0 order by groupid")
        return [name_node(url, row["nodename"], row["nodeport"]) for row in rows]
    finally:
        await nodes.close()


def _measure(services: list[Harness], count: int) -> dict[str, float]:
    asks = [_make_ask(service) for service in services]
    for ask in asks:
        for _ in range(WARM_UP):
            ask()
    return asyncio.run(_measure_nodes(services, asks, count))


def _make_ask(service: Harness) -> Ask:
    scene = Scene(service, 0)
    batteries = [scene.battery, *(scene.new_battery(1000) for _ in range(BATTERIES - 1))]
    return write_telemetry(scene.owner.admin, batteries).__next__


async def _measure_nodes(services: list[Harness], asks: list[Ask], count: int) -> dict[str, float]:
    def work() -> None:
        for number in range(count):
            asks[number % len(asks)]()

    nodes = await connect_nodes(services[0].database_url)
    try:
        idle, idle_s = await _watch(services, nodes, lambda: time.sleep(IDLE_S))
        used, seconds = await _watch(services, nodes, work)
    finally:
        await nodes.close()
    own = {name: max(0.0, ms - idle[name] / idle_s * seconds) / count for name, ms in used.items()}
    busiest = {
        "busiest_node_ms": max(ms for name, ms in own.items() if not name.startswith("service")),
        "busiest_ms": max(own.values()),
    }
    return {name: round(ms, 3) for name, ms in ({f"{name}_ms": ms for name, ms in own.items()} | busiest).items()}


async def _watch(services: list[Harness], nodes: Nodes, work: Callable[[], object]) -> tuple[dict[str, float], float]:
    before, service_s = await nodes.read_cpu_ns(), [cpu_seconds(one.product_pid) for one in services]
    began = time.monotonic()
    work()
    after = await nodes.read_cpu_ns()
    used = {name: used_ms(before[name], sessions) for name, sessions in after.items()}
    for number, (service, seconds) in enumerate(zip(services, service_s, strict=True), start=1):
        used[f"service {number}"] = 1000 * (cpu_seconds(service.product_pid) - seconds)
    return used, time.monotonic() - began
