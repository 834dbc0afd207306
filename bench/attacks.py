"""What one client can do to the others: `python -m bench.attacks [name …] [--quick]`.

Starts a service of its own on 127.0.0.1, carries each attack out while another organisation asks for something small on
new connections, and prints a table (attack, bound, seen); the figures go to bench/results/attacks.json.
"""

from __future__ import annotations

import argparse
import http.client
import io
import json
import random
import resource
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from bench.harness import PASSWORD, RESULTS, USERNAME, Client, Harness, Options, describe_machine, running

ARROW, PARQUET, CSV, NDJSON = (
    "application/vnd.apache.arrow.stream",
    "application/vnd.apache.parquet",
    "text/csv",
    "application/x-ndjson",
)
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

    @property
    def port(self) -> int:
        return int(self.harness.address.rsplit(":", 1)[1])

    def send(self, path: str, body: bytes, media_type: str, token: str | None = None) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=90)
        headers = {"Content-Type": media_type, "Authorization": f"Bearer {token or self.attacker.token}"}
        try:
            # Whoever is refused while still sending is told so all the same.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request("POST", path, body, headers)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()

    def worker_bytes(self) -> int:
        children = psutil.Process(self.harness.product_pid).children()
        return max((child.memory_info().rss for child in children if "postgres" not in child.name()), default=0)


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
            except (OSError, http.client.HTTPException) as fault:
                self.failures[type(fault).__name__] += 1
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


# --- connections -----------------------------------------------------------------------------------------------------


def hold_connections(scene: Scene, name: str, count: int, first: bytes, *, reads: bool = False) -> Seen:
    count = count // 10 if scene.is_quick else count
    held: list[socket.socket] = []
    with Probe(scene) as probe:
        for _ in range(count):
            connection = socket.socket()
            connection.settimeout(5)
            with suppress(OSError):
                connection.connect(("127.0.0.1", scene.port))
                if first:
                    connection.sendall(first)
                if reads:
                    connection.recv(4096)
                held.append(connection)
        time.sleep(10)
    open_now = sum(1 for connection in held if _is_open(connection))
    for connection in held:
        connection.close()
    return probe.judge(f"{count:,} {name} connections", 100, opened=len(held), openAfterTenSeconds=open_now)


def _is_open(connection: socket.socket) -> bool:
    try:
        connection.setblocking(False)
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def silent_connections(scene: Scene) -> list[Seen]:
    request = b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"
    return [
        hold_connections(scene, "silent", 10_000, b""),
        hold_connections(scene, "half-sent", 10_000, b"GET /health/live HTTP/1.1\r\nHost: x\r\n"),
        hold_connections(scene, "idle keep-alive", 4_000, request, reads=True),
    ]


# --- bodies -----------------------------------------------------------------------------------------------------


def _stream_of(table: pa.Table, compression: str | None = "zstd") -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _dictionary(text: str, rows: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int8)), pa.array([text]))


def _parquet_of(asset: str, rows: int) -> bytes:
    sink = io.BytesIO()
    columns = {"assetID": [asset] * rows, "time": ["2026-01-05T10:00:00Z"] * rows, "volume": [1.0] * rows}
    pq.write_table(pa.table(columns), sink, compression="zstd")
    return sink.getvalue()


def _bodies(scene: Scene) -> dict[str, tuple[str, bytes, str, str | None]]:
    telemetry, netted = f"/monitoring/{scene.asset_id}/datapoints", "/settlements/net-off"
    operator = scene.harness.operator.token
    rows = 1_000_000
    plain = {"signal": _dictionary("active_power", rows), "value": _dictionary("1.0", rows)}
    long_number = b'[{"signal":"a","time":"2026-01-05T10:00:00Z","value":1.' + b"0" * 9_000_000 + b"}]"
    names = "".join(f"s{number},2026-01-05T10:00:00Z,1\n" for number in range(rows))
    start = b"assetID,time,volume\n"
    return {
        "Arrow, a long text in `time`": (
            telemetry, _stream_of(pa.table({**plain, "time": _dictionary("x" * 3000, rows)})), ARROW, None),
        "Arrow, a long text in `signal`": (
            telemetry,
            _stream_of(pa.table({**plain, "signal": _dictionary("x" * 60_000, rows),
                                 "time": _dictionary("2026-01-05T10:00:00Z", rows)})),
            ARROW, None),
        "Parquet, a long text": (netted, _parquet_of("x" * 28_000, 100_000), PARQUET, operator),
        "CSV line of 60 M commas": (netted, start + b"," * 60_000_000, CSV, operator),
        "CSV cell of 60 MB": (netted, start + b"x" * 60_000_000, CSV, operator),
        "6 MB of {} lines": (telemetry, b"{}\n" * 2_000_000, NDJSON, None),
        "3 MB of {} lines": (telemetry, b"{}\n" * 1_000_000, NDJSON, None),
        "a number of 9 MB": (telemetry, long_number, "application/json", None),
        "a million signal names": (telemetry, f"signal,time,value\n{names}".encode(), CSV, None),
    }  # fmt: skip


def heavy_bodies(scene: Scene) -> list[Seen]:
    found = []
    for name, (path, body, media_type, token) in _bodies(scene).items():
        with Probe(scene) as probe, ThreadPoolExecutor(4) as pool:
            time.sleep(0.3)
            sent = [pool.submit(scene.send, path, body, media_type, token) for _ in range(4)]
            peak, began = 0, time.monotonic()
            while not all(one.done() for one in sent) and time.monotonic() - began < 120:
                peak = max(peak, scene.worker_bytes())
                time.sleep(0.05)
            statuses = Counter(one.result() for one in sent)
            time.sleep(0.3)
        seen = probe.judge(
            f"{name} ({len(body):,} bytes), four at once", 200, statuses=dict(statuses), peakMiB=peak >> 20
        )
        seen.met = seen.met and not any(status == 0 or status >= 500 for status in statuses)
        seen.seen += f", answered {dict(statuses)}, worker at most {peak >> 20} MiB"
        found.append(seen)
    return found


def memory_after(scene: Scene) -> list[Seen]:
    """After everything else: what the workers hold a minute later."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and scene.worker_bytes() >> 20 >= 300:
        time.sleep(1)
    held = scene.worker_bytes() >> 20
    return [Seen("memory within a minute after", "< 300 MiB a worker", f"{held} MiB", held < 300, {"MiB": held})]


# --- logins, reads, damage --------------------------------------------------------------------------------------------


def parallel_logins(scene: Scene) -> list[Seen]:
    """Sixty guesses at once, one of them right: what is looked at is told, what is not tells nothing."""
    statuses: Counter[int] = Counter()

    def guess(number: int) -> None:
        body = {"username": USERNAME, "password": PASSWORD if number == 30 else f"wrong guess {number}"}
        connection = http.client.HTTPConnection("127.0.0.1", scene.port, timeout=30)
        connection.request("POST", "/auth/public/authenticate", json.dumps(body), {"Content-Type": "application/json"})
        statuses[connection.getresponse().status] += 1
        connection.close()

    with ThreadPoolExecutor(60) as pool:
        list(pool.map(guess, range(60)))
    looked_at = statuses[401]
    return [
        Seen(
            "sixty logins at once, one right",
            "at most 5 wrong ones looked at",
            f"{dict(statuses)}",
            looked_at <= 5,
            {"statuses": dict(statuses)},
        )
    ]


def wide_reads(scene: Scene) -> list[Seen]:
    rows = [
        {"signal": f"s{number}", "time": "2026-01-05T10:00:00Z", "value": 1.0}
        for number in range(400 if scene.is_quick else 4096)
    ]
    path = f"/monitoring/{scene.asset_id}/datapoints"
    status = scene.send(path, json.dumps(rows).encode(), "application/json")
    query = f"{path}?start=2026-01-01T00:00:00Z&end=2026-02-01T00:00:00Z&resolution=raw"
    began = time.monotonic()
    scene.attacker.get(query)
    one_s = time.monotonic() - began
    with Probe(scene) as probe, ThreadPoolExecutor(6) as pool:
        list(pool.map(scene.attacker.get, [query] * 6))
    return [
        Seen(
            f"a read over {len(rows):,} signals",
            "< 1 s",
            f"{one_s:.2f} s (written {status})",
            one_s < 1,
            {"seconds": round(one_s, 3)},
        ),
        probe.judge("six of them at once", 200),
    ]


def damaged_bodies(scene: Scene) -> list[Seen]:
    """Arrow and Parquet with a few bytes changed: read or refused, never a failure, and no worker dies."""
    most = 300 if scene.is_quick else 10_000
    chance, statuses = random.Random(13), Counter[int]()
    rows = 64
    arrow = [
        _stream_of(
            pa.table({
                "signal": _dictionary("active_power", rows), "time": _dictionary("2026-01-05T10:00:00Z", rows),
                "value": pa.array(np.ones(rows)), "quality": pa.array(["GOOD"] * rows, pa.string_view()),
            }),
            compression,
        )
        for compression in (None, "zstd", "lz4")
    ]  # fmt: skip
    parquet = _parquet_of("0197a5c0-0000-7000-8000-000000000001", 50)
    operator = scene.harness.operator.token
    workers = {child.pid for child in psutil.Process(scene.harness.product_pid).children()}

    def damage(number: int) -> int:
        sound = parquet if number % 2 else chance.choice(arrow)
        mutated = bytearray(sound)
        for _ in range(chance.randint(1, 6)):
            mutated[chance.randrange(len(mutated))] = chance.randrange(256)
        if number % 2:
            return scene.send("/settlements/net-off", bytes(mutated), PARQUET, operator)
        return scene.send(f"/monitoring/{scene.asset_id}/datapoints", bytes(mutated), ARROW)

    with ThreadPoolExecutor(8) as pool:
        statuses.update(pool.map(damage, range(most)))
    lost = workers - {child.pid for child in psutil.Process(scene.harness.product_pid).children()}
    failed = sum(count for status, count in statuses.items() if status == 0 or status >= 500)
    seen = f"{dict(statuses)}, {len(lost)} processes died"
    figures = {"statuses": dict(statuses)}
    return [Seen(f"{most:,} damaged Arrow and Parquet bodies", "no 5xx", seen, not failed and not lost, figures)]


ATTACKS: dict[str, Callable[[Scene], list[Seen]]] = {
    "connections": silent_connections,
    "bodies": heavy_bodies,
    "reads": wide_reads,
    "damage": damaged_bodies,
    "logins": parallel_logins,
    "memory": memory_after,
}


def print_table(found: list[Seen]) -> None:
    width = max(len(one.attack) for one in found)
    for one in found:
        print(f"{'ok  ' if one.met else 'MISS'} {one.attack:<{width}}  {one.bound:<32}  {one.seen}", flush=True)


def write_table(name: str, found: list[Seen]) -> None:
    RESULTS.mkdir(exist_ok=True)
    report = {"machine": describe_machine(), "results": [asdict(one) for one in found]}
    (RESULTS / f"{name}.json").write_text(json.dumps(report, indent=2) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.attacks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(ATTACKS)}")
    parser.add_argument("--quick", action="store_true", help="a tenth of it, and nothing is written")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    found: list[Seen] = []
    with running("attacks", Options(workers=2), has_ceiling=False) as harness:
        attacker, probed = harness.new_organisation("Attacker"), harness.new_organisation("Probed")
        asset = attacker.admin.post("/physical-assets", {**ASSET, "organisationID": attacker.id})
        scene = Scene(harness, attacker.admin, asset["id"], probed.admin, given.quick)
        for name in given.names or ATTACKS:
            results = ATTACKS[name](scene)
            print_table(results)
            found += results
    if not given.quick:
        write_table("attacks", found)
    return 0 if all(one.met for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
