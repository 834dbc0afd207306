"""One service against two, reads with and without a standby, a takeover, and that no read hides a write."""

from __future__ import annotations

import os
import signal
import time
import uuid
from datetime import UTC, datetime
from typing import Any

import psutil

from bench.harness import PASSWORD, USERNAME, Client, Harness, check, cpu_seconds
from bench.load import Request
from bench.local_cluster import Cluster, cluster

READS = 10_000


def run(harness: Harness) -> None:
    with cluster() as made:
        first, service = made.start_service(1, reads_from_standby=False)
        asset = _make_scene(first)
        reads = Request("GET", f"/physical-assets/{asset}/logbook?limit=100", headers=_sign_in(first))
        one = _measure(harness, made, "reads, one service, primary alone", [(first, service.pid)], reads)
        second, other = made.start_service(2, reads_from_standby=False)
        both = [(first, service.pid), (second, other.pid)]
        two = _measure(harness, made, "reads, two services, primary alone", both, reads)
        third, reader = made.start_service(3, reads_from_standby=True)
        _measure(harness, made, "reads, one service, from the standby", [(third, reader.pid)], reads)
        harness.report("two services against one", {"ratio": round(two / one, 2)})
        _count_hidden_writes(harness, third, asset, 300 if harness.options.quick else READS)
        _take_over(harness, made, third, asset)


def _sign_in(address: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {Client(address).sign_in(USERNAME, PASSWORD).token}"}


def _make_scene(address: str) -> str:
    operator = Client(address).sign_in(USERNAME, PASSWORD)
    parameters = {
        "ratedChargePower": 1000,
        "ratedDischargePower": 1000,
        "energyCapacity": 2000,
        "chargeEfficiency": 0.9,
        "dischargeEfficiency": 0.9,
    }
    own = operator.get("/auth/me")["organisationID"]
    body = {"name": "B", "organisationID": own, "deliveryZone": "TenneT", "parameters": parameters}
    asset = str(operator.post("/physical-assets", body)["id"])
    for number in range(100):
        operator.post(f"/physical-assets/{asset}/logbook", _entry(f"Entry {number}"))
    return asset


def _entry(title: str) -> dict[str, str]:
    return {"title": title, "type": "note", "start": datetime(2026, 1, 1, tzinfo=UTC).isoformat()}


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


def _count_hidden_writes(harness: Harness, address: str, asset: str, reads: int) -> None:
    """Each read right behind a write of the same caller."""
    client = Client(address).sign_in(USERNAME, PASSWORD)
    path, hidden = f"/physical-assets/{asset}/logbook", 0
    for number in range(reads):
        if number % 2000 == 1999:
            client = Client(address).sign_in(USERNAME, PASSWORD)
        title = uuid.uuid4().hex
        client.post(path, _entry(title))
        hidden += not client.get(f"{path}?text={title}")
    harness.report("reads behind a write", {"reads": reads, "hidden": hidden}, target="0 hidden", met=hidden == 0)


def _take_over(harness: Harness, made: Cluster, address: str, asset: str) -> None:
    """Kill the primary, promote the standby: when is the service ready again, and is what was acknowledged there?"""
    client = Client(address).sign_in(USERNAME, PASSWORD)
    path = f"/physical-assets/{asset}/logbook"
    kept = [client.post(path, _entry(uuid.uuid4().hex))["id"] for _ in range(50)]
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
