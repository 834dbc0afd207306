"""What attacks and faults share: a service under siege, a probe of those who are not meant, and the table."""

from __future__ import annotations

import http.client
import json
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from bench.harness import RESULTS, Client, Harness, describe_machine

ASSET = {
    "name": "Attacked",
    "deliveryZone": "TenneT",
    "parameters": {
        "ratedChargePower": 1000,
        "ratedDischargePower": 1000,
        "energyCapacity": 2000,
        "chargeEfficiency": 0.95,
        "dischargeEfficiency": 0.95,
    },
}


@dataclass
class Seen:
    attack: str
    bound: str
    seen: str
    met: bool
    figures: dict[str, Any] = field(default_factory=dict)


@dataclass
class Scene:
    """The service with one organisation that attacks and one that is probed."""

    harness: Harness
    attacker: Client
    asset_id: str
    probing: Client
    is_quick: bool
    more_addresses: tuple[str, ...] = ()
    """Further services on the same database."""

    @property
    def addresses(self) -> tuple[str, ...]:
        return (self.harness.address, *self.more_addresses)

    @property
    def port(self) -> int:
        return int(self.harness.address.rsplit(":", 1)[1])

    def send(self, path: str, body: bytes, media_type: str, token: str | None = None, method: str = "POST") -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=90)
        headers = {"Content-Type": media_type, "Authorization": f"Bearer {token or self.attacker.token}"}
        try:
            # A client that is rejected while still sending gets the response all the same.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, path, body, headers)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()

    def worker_bytes(self) -> int:
        """Of the largest worker; what it has forked for a body counts by itself."""
        largest = 0
        for child in psutil.Process(self.harness.product_pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if "postgres" not in child.name():
                    largest = max(largest, child.memory_info().rss)
        return largest

    def worker_pids(self) -> set[int]:
        return {child.pid for child in psutil.Process(self.harness.product_pid).children()}


class Probe:
    """A small GET of another organisation, again and again, each on a new connection."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._is_over = threading.Event()
        self.seconds: list[float] = []
        self.failures: Counter[str] = Counter()
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> Probe:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _ask(self) -> None:
        while not self._is_over.is_set():
            began = time.monotonic()
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self._scene.port, timeout=10)
                connection.request("GET", "/auth/me", headers={"Authorization": f"Bearer {self._scene.probing.token}"})
                status = connection.getresponse().status
                connection.close()
                if status != 200:
                    self.failures[str(status)] += 1
            except (OSError, http.client.HTTPException) as error:
                self.failures[type(error).__name__] += 1
            self.seconds.append(time.monotonic() - began)
            time.sleep(0.005)

    def judge(self, attack: str, most_ms: float, **figures: Any) -> Seen:
        ordered = sorted(self.seconds)
        p50, p99 = (1000 * ordered[int(len(ordered) * share)] for share in (0.5, 0.99))
        seen = f"p50 {p50:.0f} ms, p99 {p99:.0f} ms, {sum(self.failures.values())} of {len(ordered)} failed"
        figures |= {"p50Ms": round(p50, 1), "p99Ms": round(p99, 1), "probes": len(ordered)}
        figures["failures"] = dict(self.failures)
        is_met = p99 < most_ms and not self.failures
        return Seen(attack, f"probe p99 < {most_ms:.0f} ms, none fails", seen, is_met, figures)


def log_of(name: str) -> Path:
    """Where the service under siege says what it has to say: thousands of lines."""
    path = Path(tempfile.gettempdir()) / f"gridloom-bench-{name}.log"
    path.write_bytes(b"")
    print(f"What the service says is in {path}.", flush=True)
    return path


def print_table(found: list[Seen]) -> None:
    width = max(len(one.attack) for one in found)
    for one in found:
        print(f"{'ok  ' if one.met else 'MISS'} {one.attack:<{width}}  {one.bound:<32}  {one.seen}", flush=True)


def write_table(name: str, found: list[Seen]) -> None:
    RESULTS.mkdir(exist_ok=True)
    report = {"machine": describe_machine(), "results": [asdict(one) for one in found]}
    (RESULTS / f"{name}.json").write_text(json.dumps(report, indent=2) + "\n")
