"""One service against two, reads with and without a standby, and a takeover."""

from __future__ import annotations

import os
import signal
import time
import uuid
from typing import Any

import psutil

from bench.harness import PASSWORD, USERNAME, Client, Harness, check, cpu_seconds
from bench.load import Request
from bench.local_cluster import Cluster, cluster
from bench.read_your_writes import make_battery, write_entry


def run(harness: Harness) -> None:
    with cluster() as made:
        first, service = made.start_service(1, reads_from_standby=False)
        path = _make_scene(first)
        reads = Request("GET", f"{path}?limit=100", headers=_sign_in(first))
        one = _measure(harness, made, "reads, one service, primary alone", [(first, service.pid)], reads)
        second, other = made.start_service(2, reads_from_standby=False)
        both = [(first, service.pid), (second, other.pid)]
        two = _measure(harness, made, "reads, two services, primary alone", both, reads)
        third, reader = made.start_service(3, reads_from_standby=True)
        _measure(harness, made, "reads, one service, from the standby", [(third, reader.pid)], reads)
        harness.report("two services against one", {"ratio": round(two / one, 2)})
        _take_over(harness, made, third, path)


def _sign_in(address: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {Client(address).sign_in(USERNAME, PASSWORD).token}"}


def _make_scene(address: str) -> str:
    path = make_battery(address)
    operator = Client(address).sign_in(USERNAME, PASSWORD)
    for number in range(100):
        operator.post(path, write_entry(f"Entry {number}"))
    return path


def _postgres_seconds(server: Any) -> float:
    """What a server and its sessions have used so far; sessions stay, for pools keep them."""
    tree = psutil.Process(server.pid)
    return sum(sum(each.cpu_times()[:2]) for each in (tree, *tree.children()))


def _measure(harness: Harness, made: Cluster, name: str, services: list[tuple[str, int]], request: Request) -> float:
    servers = {"primary": made.primary, "standby": made.standby}
    for address, _ in services:
        check(harness.load(request, to=address, seconds=0.5).result(), "warming up")
    before = {key: _postgres_seconds(server) for key, server in servers.items()}
    used = sum(cpu_seconds(pid) for _, pid in services)
    loads = [harness.load(request, to=address) for address, _ in services]
    measured = [load.result() for load in loads]
    requests = sum(each.requests for each in measured)
    figures = {"rate_s": round(sum(each.rate_s for each in measured), 1)}
    figures["service_cpu_us"] = round(1e6 * (sum(cpu_seconds(pid) for _, pid in services) - used) / requests, 1)
    for key, server in servers.items():
        figures[f"{key}_cpu_us"] = round(1e6 * (_postgres_seconds(server) - before[key]) / requests, 1)
    harness.report(name, figures)
    return figures["rate_s"]


def _take_over(harness: Harness, made: Cluster, address: str, path: str) -> None:
    """Kill the primary, promote the standby: when is the service ready again, and is what was acknowledged there?"""
    client = Client(address).sign_in(USERNAME, PASSWORD)
    kept = [client.post(path, write_entry(uuid.uuid4().hex))["id"] for _ in range(50)]
    assert made.primary.pid is not None
    os.kill(made.primary.pid, signal.SIGKILL)
    time.sleep(1)
    made.standby.promote()
    begun = time.monotonic()
    while True:
        try:
            client.get("/health/ready")
            break
        except RuntimeError:
            time.sleep(0.01)
    ready_s = time.monotonic() - begun
    lost = sum(client.get(f"{path}/{entry}")["id"] != entry for entry in kept)
    figures = {"ready_s": round(ready_s, 2), "acknowledged": len(kept), "lost": lost}
    harness.report("takeover", figures, target="ready within 2 s, 0 lost", met=ready_s <= 2 and lost == 0)
