"""What one request costs a cluster: processor time of coordinator and workers, commands to workers, shards touched.

`make bench BENCH=cluster DATABASE_URL=…` runs it, on a distributed database whose nodes all run on this machine; the
same requests on a PostgreSQL of its own stand beside. Requests come one after the other, so that what is used belongs
to them; what the service uses at rest is measured first and subtracted. Processor time says the same on a busy machine.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any
from uuid import UUID

from bench.auctions import Scene as Auctions
from bench.citus_entry import measure_entries, write_telemetry
from bench.harness import (
    MEMBER_PASSWORD,
    Client,
    Harness,
    cpu_seconds,
    running,
    write_results,
)
from bench.node_cpu import COORDINATOR, Nodes, connect_nodes, used_ms
from bench.remote_commands import Counted, Proxy
from bench.settled_year import fill, window_of
from bench.virtual_assets import Battery, daily_powers

BATTERIES = 6
DAYS = 30
WARM_UP, MEASURED, TRACED = 30, 150, 9
SETTLE_S = 0.3
"""After a traced request: its events are sequenced after its commit."""

GOALS_MS = {
    "telemetry, 20 signals": 2.0,
    "schedule, one period": 3.0,
    "bid": 4.0,
    "read of a battery": 1.0,
    "revenue, 30 days daily": 5.0,
    "sign-in": None,
}
"""Of the coordinator's processor time."""


@dataclass(frozen=True, slots=True)
class Case:
    """A request that can be repeated any number of times."""

    name: str
    ask: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one request, in milliseconds of processor time."""

    service_ms: float
    coordinator_ms: float
    workers_ms: float


def run(harness: Harness) -> None:
    count = 20 if harness.options.quick else MEASURED
    versions = asyncio.run(_read_versions(harness.database_url))
    assert "citus" in versions, "this bench wants a distributed database: gridloom distribute"
    cases = make_cases(harness)
    costs = measure_cases(harness, cases, count)
    with running("citus_costs", harness.options, has_ceiling=False) as plain:
        plain_costs = measure_cases(plain, make_cases(plain), count)
    traces = _trace_cases(harness, [case.name for case in cases])
    for name, cost in costs.items():
        _report(harness, name, cost, plain_costs[name], traces[name])
    _report_entries(harness, count)
    harness.report("versions", versions)
    if not harness.options.quick:
        for result in harness.results:
            result.bench = "citus_costs"
        for path in write_results(harness.results, harness.options):
            print(f"written: {path}")


def _report(harness: Harness, name: str, cost: Cost, plain: Cost, trace: list[Counted]) -> None:
    typical = sorted(trace, key=lambda one: len(one.commands))[len(trace) // 2]
    figures = {
        "coordinator_ms": cost.coordinator_ms,
        "workers_ms": cost.workers_ms,
        "service_ms": cost.service_ms,
        "plain_ms": plain.coordinator_ms,
        "plain_service_ms": plain.service_ms,
        "statements": median(len(one.statements) for one in trace),
        "remote_commands": median(len(one.commands) for one in trace),
        "shards": median(len(one.shards) for one in trace),
        "prepared_transactions": median(one.prepared for one in trace),
        "commands": [command[:160] for command in typical.commands[:40]],
        "sent": [statement[:160] for statement in typical.statements[:40]],
    }
    goal = GOALS_MS[name]
    harness.report(
        name,
        figures,
        target=None if goal is None else f"coordinator <= {goal} ms",
        met=None if goal is None else cost.coordinator_ms <= goal,
    )


def _report_entries(harness: Harness, count: int) -> None:
    """How much more telemetry two services take that write it through two worker nodes. The busiest process bounds it,
    a service or a node (`ratio_with_services`); `ratio_two_to_one` is by the nodes alone, which one service does not
    fill."""
    found = measure_entries(harness, 2 * count)
    alone, one, two = (figures["busiest_node_ms"] for figures in found.values())
    _, one_of_all, two_of_all = (figures["busiest_ms"] for figures in found.values())
    ratios = {
        "ratio_two_to_one": round(one / two, 2),
        "ratio_two_to_coordinator": round(alone / two, 2),
        "ratio_with_services": round(one_of_all / two_of_all, 2),
    }
    harness.report(
        "telemetry by the nodes that it is written through",
        {**found, **ratios},
        target="two services through two nodes >= 1.7 of one, by the busiest process",
        met=one_of_all / two_of_all >= 1.7,
    )


# --- the requests --------------------------------------------------------------------------------------------------


def make_cases(harness: Harness) -> list[Case]:
    auctions = Auctions(harness, 2)
    organisation = auctions.owner
    batteries = [auctions.battery, *(auctions.new_battery(1000) for _ in range(BATTERIES - 1))]
    scheduled = Battery(harness, 2)
    scheduled.client.put(scheduled.block_url, scheduled.schedule(daily_powers(2)))
    with tempfile.TemporaryDirectory(prefix="gl-bench-") as directory:
        settled = asyncio.run(fill(harness.database_url, 3, DAYS, Path(directory) / "unused.parquet"))
    username = organisation.admin.get("/auth/me")["username"]
    asks: list[Iterator[Any]] = [
        write_telemetry(organisation.admin, batteries),
        _write_schedules(scheduled),
        _bid(auctions),
        _read_batteries(organisation.admin, batteries),
        _read_revenue(harness.operator, settled.ids),
        _sign_in(harness.anonymous, username),
    ]
    return [Case(name, asking.__next__) for name, asking in zip(GOALS_MS, asks, strict=True)]


def _write_schedules(battery: Battery) -> Iterator[Any]:
    for number in itertools.count():
        body = battery.schedule([(-5.0, 5.0)[number % 2]], offset=96 * (number % 2) + 20 + number % 40)
        yield battery.client.put(battery.block_url, body)


def _bid(scene: Auctions) -> Iterator[Any]:
    auctions = scene.auctions(3, timedelta(hours=8))
    for number in itertools.count():
        bidder = scene.bidders[number % len(scene.bidders)]
        yield bidder.admin.post(f"/auctions/{auctions[number % 3]}/bids", {"price": f"{100 + number % 50}.50"})


def _read_batteries(client: Client, batteries: list[str]) -> Iterator[Any]:
    for number in itertools.count():
        yield client.get(f"/physical-assets/{batteries[number % len(batteries)]}")


def _read_revenue(client: Client, assets: list[UUID]) -> Iterator[Any]:
    for number in itertools.count():
        asset = assets[number % len(assets)]
        yield client.get(f"/revenue-reporting/virtual-assets/{asset}/data-points?{window_of(DAYS)}&resolution=daily")


def _sign_in(client: Client, username: str) -> Iterator[Any]:
    while True:
        yield client.sign_in(username, MEMBER_PASSWORD)


# --- processor time ------------------------------------------------------------------------------------------------


def measure_cases(harness: Harness, cases: list[Case], count: int) -> dict[str, Cost]:
    return asyncio.run(_measure_cases(harness, cases, count))


async def _measure_cases(harness: Harness, cases: list[Case], count: int) -> dict[str, Cost]:
    nodes = await connect_nodes(harness.database_url)
    try:
        idle_ms_s = await _measure_idle(harness, nodes)
        costs = {}
        for case in cases:
            for _ in range(WARM_UP):
                case.ask()
            time.sleep(SETTLE_S)
            costs[case.name] = await _measure_case(harness, nodes, case, count, idle_ms_s)
        return costs
    finally:
        await nodes.close()


async def _measure_idle(harness: Harness, nodes: Nodes) -> dict[str, float]:
    """Milliseconds a second that each node's sessions, and the service, use at rest."""
    time.sleep(1)
    used, seconds = await _watch(harness, nodes, lambda: time.sleep(2 if harness.options.quick else 12))
    return {name: ms / seconds for name, ms in used.items()}


async def _measure_case(harness: Harness, nodes: Nodes, case: Case, count: int, idle_ms_s: dict[str, float]) -> Cost:
    def ask() -> None:
        for _ in range(count):
            case.ask()
        time.sleep(SETTLE_S)

    used, seconds = await _watch(harness, nodes, ask)
    own = {name: max(0.0, ms - idle_ms_s[name] * seconds) / count for name, ms in used.items()}
    workers = sum(ms for name, ms in own.items() if name.startswith("worker"))
    return Cost(round(own["service"], 3), round(own[COORDINATOR], 3), round(workers, 3))


async def _watch(harness: Harness, nodes: Nodes, work: Callable[[], object]) -> tuple[dict[str, float], float]:
    """What was used while something was done, by node, and how long that took."""
    before, service_s, began = await nodes.read_cpu_ns(), cpu_seconds(harness.product_pid), time.monotonic()
    work()
    after = await nodes.read_cpu_ns()
    used = {name: used_ms(before[name], sessions) for name, sessions in after.items()}
    used["service"] = 1000 * (cpu_seconds(harness.product_pid) - service_s)
    return used, time.monotonic() - began


# --- commands to workers ---------------------------------------------------------------------------------------------


def _trace_cases(harness: Harness, names: list[str]) -> dict[str, list[Counted]]:
    """The same requests through a proxy that counts; a service of its own, so that nothing slows the one measured."""
    with (
        Proxy(harness.database_url) as proxy,
        running("citus_costs", harness.options, has_ceiling=False, database=proxy.url) as traced,
    ):
        traces = {}
        for case in make_cases(traced):
            for _ in range(WARM_UP):
                case.ask()
            traces[case.name] = [_trace(proxy, case) for _ in range(TRACED)]
        assert list(traces) == names
        return traces


def _trace(proxy: Proxy, case: Case) -> Counted:
    time.sleep(SETTLE_S)
    proxy.take()
    case.ask()
    time.sleep(SETTLE_S)
    return proxy.take()


async def _read_versions(url: str) -> dict[str, Any]:
    nodes = await connect_nodes(url)
    try:
        found = await nodes.fetchval(
            """
            select jsonb_build_object('postgresql', current_setting('server_version'),
              'workers', (select count(*) from pg_dist_node where groupid > 0),
              'citus', (select extversion from pg_extension where extname = 'citus'),
              'shards', current_setting('citus.shard_count'))::text
            """
        )
    finally:
        await nodes.close()
    return dict(json.loads(found))
