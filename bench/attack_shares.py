"""One organisation takes all it can get of each share while another one works: what the other one notices.

Each attack is measured against the same requests on the calm service: the p99 of another organisation stays below the
larger of 200 ms and twice its calm value, and none of its requests is refused.
"""

from __future__ import annotations

import http.client
import json
import math
import multiprocessing
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from typing import Any

from bench.attack_harness import ASSET, Scene, Seen
from bench.harness import MEMBER_PASSWORD, Client, Harness
from bench.virtual_assets import Battery

MAX_P99_MS = 200.0
MEBIBYTE = 1 << 20
PRICE_DAYS = 1200


def ask(address: str, token: str | None, method: str, path: str, body: bytes = b"", media_type: str = "") -> int:
    """The status of one request on a connection of its own; 0 where there was none."""
    host, _, port = address.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    headers = {"Authorization": f"Bearer {token}"}
    if body:
        headers["Content-Type"] = media_type or "application/json"
    try:
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.request(method, path, body or None, headers)
        response = connection.getresponse()
        response.read()
        return response.status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


# --- who attacks, and who is measured --------------------------------------------------------------------------------


@dataclass
class Rivals:
    """Two organisations, each with a virtual battery of 90 days and a physical one, and years of published prices."""

    attacker: Battery
    viewer: Client
    victim: Battery
    victim_asset_id: str


_rivals: dict[int, Rivals] = {}


def find_rivals(scene: Scene) -> Rivals:
    """Made when the first attack asks for them."""
    if id(scene) not in _rivals:
        harness = scene.harness
        _publish_prices(harness.operator)
        attacker, victim = Battery(harness, 90), Battery(harness, 90)
        asset = victim.client.post("/physical-assets", {**ASSET, "organisationID": victim.organisation.id})
        _rivals[id(scene)] = Rivals(attacker, _invite_viewer(harness, attacker), victim, asset["id"])
    return _rivals[id(scene)]


def _publish_prices(operator: Client) -> None:
    first = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=PRICE_DAYS)
    rows = [
        {
            "series": "DAY_AHEAD_DE_LU",
            "start": (first + timedelta(hours=hour)).isoformat(),
            "end": (first + timedelta(hours=hour + 1)).isoformat(),
            "price": round(80 + 50 * math.sin(hour * math.pi / 12) + 17 * math.sin(hour * 0.37), 2),
        }
        for hour in range(24 * (PRICE_DAYS + 2))
    ]
    for at in range(0, len(rows), 10_000):
        operator.post("/reference-prices", rows[at : at + 10_000])


def _invite_viewer(harness: Harness, battery: Battery) -> Client:
    id, name = battery.organisation.id, f"viewer-{time.time_ns()}"
    invited = harness.operator.post(f"/organisations/{id}/invitations", {"email": f"{name}@x.org", "role": "VIEWER"})
    account = {"token": invited["token"], "username": name, "password": MEMBER_PASSWORD, "displayName": name}
    harness.anonymous.post("/auth/public/invitations/accept", account)
    return harness.anonymous.sign_in(name, MEMBER_PASSWORD)


# --- measuring -------------------------------------------------------------------------------------------------------


@dataclass
class Measured:
    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    @property
    def p99_ms(self) -> float:
        ordered = sorted(self.seconds)
        return 1000 * ordered[int(len(ordered) * 0.99)]

    @property
    def refused(self) -> int:
        return sum(count for status, count in self.statuses.items() if not 200 <= status < 300)


def measure(request: Callable[[], int], seconds: float, pause_s: float = 0.01) -> Measured:
    """The same request again and again, one at a time."""
    measured, ends = Measured(), time.monotonic() + seconds
    while time.monotonic() < ends:
        began = time.monotonic()
        measured.statuses[request()] += 1
        measured.seconds.append(time.monotonic() - began)
        time.sleep(pause_s)
    return measured


@contextmanager
def flood(count: int, *requests: Callable[[], int]) -> Iterator[Counter[int]]:
    """So many connections that repeat a request until the block ends; what they were answered.

    They are a process of their own: in the victim's, their threads would take its interpreter lock, not the service.
    """
    fork, statuses = multiprocessing.get_context("fork"), Counter[int]()
    over, (receiving, sending) = fork.Event(), fork.Pipe(duplex=False)
    attackers = fork.Process(target=_repeat_requests, args=(count, requests, over, sending), daemon=True)
    attackers.start()
    try:
        yield statuses
    finally:
        over.set()
        statuses.update(receiving.recv())
        attackers.join()


def _repeat_requests(count: int, requests: Sequence[Callable[[], int]], over: Event, sending: Connection) -> None:
    def repeat(number: int) -> Counter[int]:
        request, statuses = requests[number % len(requests)], Counter[int]()
        while not over.is_set():
            statuses[request()] += 1
        return statuses

    with ThreadPoolExecutor(count) as pool:
        sending.send(sum(pool.map(repeat, range(count)), Counter[int]()))


def compare(
    scene: Scene, name: str, request: Callable[[], int], attack: Callable[[], Any], begin_s: float = 2.0
) -> Seen:
    """The victim's request on the calm service and under the attack, a context whose value says how that fared."""
    calm = measure(request, 4 if scene.is_quick else 10)
    with attack() as fared:
        time.sleep(begin_s)
        stormy = measure(request, 6 if scene.is_quick else 20)
    bound_ms = max(MAX_P99_MS, 2 * calm.p99_ms)
    seen = (
        f"p99 {stormy.p99_ms:.0f} ms (calm {calm.p99_ms:.0f}), {stormy.refused} of {len(stormy.seconds)} refused; "
        f"attacker {dict(fared)}"
    )
    figures = {
        "p99Ms": round(stormy.p99_ms, 1),
        "calmP99Ms": round(calm.p99_ms, 1),
        "requests": len(stormy.seconds),
        "statuses": dict(stormy.statuses),
        "attacker": {str(status): count for status, count in fared.items()},
    }
    is_met = stormy.p99_ms < bound_ms and not stormy.refused
    return Seen(name, f"p99 < {bound_ms:.0f} ms, none refused", seen, is_met, figures)


def small_read(scene: Scene) -> Callable[[], int]:
    rivals = find_rivals(scene)
    path = f"/physical-assets/{rivals.victim_asset_id}"
    return lambda: ask(scene.harness.address, rivals.victim.client.token, "GET", path)


# --- bodies ----------------------------------------------------------------------------------------------------------


def telemetry_of(points: int) -> bytes:
    """Rows that have to be read one by one: about 80 bytes a point."""
    first = datetime.now(UTC).replace(microsecond=0) - timedelta(days=20)
    rows = [
        {"signal": f"s{n % 20}", "time": (first + timedelta(seconds=n // 20)).isoformat(), "value": n % 977 / 7}
        for n in range(points)
    ]
    return json.dumps(rows).encode()


def upload(scene: Scene, body: bytes) -> Callable[[], int]:
    rivals = find_rivals(scene)
    path = f"/monitoring/{rivals.victim_asset_id}/datapoints"
    return lambda: ask(scene.harness.address, rivals.victim.client.token, "POST", path, body)


def slow_uploads(scene: Scene) -> list[Seen]:
    """Four bodies of 64 MiB, half of each sent at once, the rest a byte every eight seconds; and again."""
    rivals = find_rivals(scene)
    asset_id = rivals.attacker.asset["backing"][0]["physicalAssetID"]
    over = threading.Event()

    def send_slowly(statuses: Counter[int]) -> None:
        while not over.is_set():
            with suppress(OSError), socket.create_connection(("127.0.0.1", scene.port), timeout=60) as connection:
                head = (
                    f"POST /monitoring/{asset_id}/datapoints HTTP/1.1\r\nHost: x\r\n"
                    f"Authorization: Bearer {rivals.attacker.client.token}\r\n"
                    f"Content-Type: text/csv\r\nContent-Length: {64 * MEBIBYTE}\r\n\r\n"
                )
                connection.sendall(head.encode() + b"signal,time,value\n")
                for _ in range(31):
                    connection.sendall(b"x" * MEBIBYTE)
                connection.setblocking(False)
                answer = b""
                while not over.is_set() and not answer:
                    with suppress(BlockingIOError):
                        answer = connection.recv(64)
                        break
                    if over.wait(8):
                        break
                    connection.send(b"x")
                statuses[int(answer.split(b" ")[1]) if answer.startswith(b"HTTP/") else 0] += 1

    @contextmanager
    def attack() -> Iterator[Counter[int]]:
        statuses: Counter[int] = Counter()
        over.clear()
        with ThreadPoolExecutor(4) as pool:
            sending = [pool.submit(send_slowly, statuses) for _ in range(4)]
            try:
                yield statuses
            finally:
                over.set()
                for one in sending:
                    one.result()

    body = telemetry_of(8_000)
    return [compare(scene, "1 four slow uploads of 64 MiB", upload(scene, body), attack)]


def large_uploads(scene: Scene) -> list[Seen]:
    rivals, large, small = find_rivals(scene), telemetry_of(300_000), telemetry_of(8_900)
    path = f"/monitoring/{rivals.attacker.asset['backing'][0]['physicalAssetID']}/datapoints"
    send = lambda: ask(scene.harness.address, rivals.attacker.client.token, "POST", path, large)  # noqa: E731
    name = f"6 eight uploads of {len(large) >> 20} MB beside one of {len(small) >> 10} KB"
    return [compare(scene, name, upload(scene, small), lambda: flood(8, send))]


# --- computations ----------------------------------------------------------------------------------------------------


def past_forecasts(scene: Scene) -> list[Seen]:
    """Each day is new to the store until all of them have been computed."""
    rivals, today = find_rivals(scene), datetime.now(UTC).date()
    days = iter(range(1, 10**9))

    def request() -> int:
        day: date = today - timedelta(days=2 + next(days) % (PRICE_DAYS - 60))
        return ask(scene.harness.address, rivals.viewer.token, "GET", f"/forecasts/day-ahead?delivery-day={day}")

    return [compare(scene, "2 32 connections for forecasts", small_read(scene), lambda: flood(32, request))]


def _plan(battery: Battery, days: int, *, exact: bool) -> bytes:
    periods = days * 96
    values = [
        {"time": (battery.start + timedelta(minutes=15 * n)).isoformat(), "price": round(60 + 70 * math.sin(n * n), 2)}
        for n in range(periods)
    ]
    end = (battery.start + timedelta(days=days)).isoformat()
    body = {"start": battery.start.isoformat(), "end": end, "prices": {"values": values}, "exact": exact}
    return json.dumps(body).encode()


def long_optimisations(scene: Scene) -> list[Seen]:
    rivals, address = find_rivals(scene), scene.harness.address
    long, short = _plan(rivals.attacker, 31, exact=True), _plan(rivals.victim, 1, exact=False)

    def attack() -> int:
        return ask(address, rivals.attacker.client.token, "POST", f"{rivals.attacker.url}/optimisations", long)

    def plan_day() -> int:
        return ask(address, rivals.victim.client.token, "POST", f"{rivals.victim.url}/optimisations", short)

    return [
        compare(scene, "3 20 connections of 31-day plans: a day's plan", plan_day, lambda: flood(20, attack)),
        compare(scene, "3 the same: a small read", small_read(scene), lambda: flood(20, attack)),
    ]


# --- jobs ------------------------------------------------------------------------------------------------------------


def _backtest(days: int) -> bytes:
    end = datetime.now(UTC).date() - timedelta(days=2)
    battery = {"ratedPower": 1000, "energyCapacity": 2000, "chargeEfficiency": 0.95, "dischargeEfficiency": 0.95}
    body = {"start": str(end - timedelta(days=days)), "end": str(end), "policy": "FORECAST", "battery": battery}
    return json.dumps(body).encode()


def many_jobs(scene: Scene) -> list[Seen]:
    """100 back-tests of a year and 30 optimisations of 90 days at once, then more as places get free."""
    rivals, address = find_rivals(scene), scene.harness.address
    year, long = _backtest(365), _plan(rivals.attacker, 90, exact=True)
    statuses: Counter[int] = Counter()
    token = rivals.attacker.client.token
    for number in range(130):
        path, body = ("/backtests", year) if number % 13 < 10 else (f"{rivals.attacker.url}/optimisations", long)
        statuses[ask(address, token, "POST", path, body)] += 1

    @contextmanager
    def keep_full() -> Iterator[Counter[int]]:
        def request() -> int:
            time.sleep(0.2)
            return ask(address, token, "POST", "/backtests", year)

        with flood(1, request) as more:
            yield more

    seen = compare(scene, "4 a queue full of jobs: a small read", small_read(scene), keep_full)
    began = time.monotonic()
    job = rivals.victim.client.post("/backtests", json.loads(_backtest(30)))
    done = _await_backtest(rivals.victim.client, job["id"])
    waited_s = time.monotonic() - began
    ready = scene.harness.anonymous.get("/health/ready")
    degraded = [check["name"] for check in ready["checks"] if check["status"] != "OK"]
    bound = "done < 60 s, ready, at most 22 taken at once"
    text = f"{done} after {waited_s:.1f} s, degraded: {degraded or 'nothing'}; attacker {dict(statuses)}"
    figures = {"seconds": round(waited_s, 1), "attacker": {str(key): count for key, count in statuses.items()}}
    is_met = done == "DONE" and waited_s < 60 and not degraded and statuses[202] <= 30 and statuses[429] > 0
    return [seen, Seen("4 another's back-test of 30 days", bound, text, is_met, figures)]


def _await_backtest(client: Client, id: str) -> str:
    ends = time.monotonic() + 120
    status = "QUEUED"
    while status in ("QUEUED", "RUNNING") and time.monotonic() < ends:
        time.sleep(0.2)
        status = client.get(f"/backtests/{id}")["status"]
    return status


# --- streams, requests, keys -----------------------------------------------------------------------------------------


def _open_stream(address: str, token: str | None, number: int) -> tuple[socket.socket | None, int]:
    """From one of several loopback addresses, since one may hold only so many connections."""
    host, _, port = address.removeprefix("http://").partition(":")
    connection = socket.socket()
    connection.settimeout(20)
    try:
        connection.bind((f"127.0.1.{1 + number % 16}", 0))
        connection.connect((host, int(port)))
        connection.sendall(f"GET /events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        status = int(connection.recv(64).split(b" ")[1])
    except (OSError, IndexError, ValueError):
        connection.close()
        return None, 0
    return connection, status


def many_streams(scene: Scene) -> list[Seen]:
    """2,000 streams of one organisation over all services, in which something happens all the time."""
    rivals = find_rivals(scene)
    count = 700 if scene.is_quick else 2000
    physical = rivals.attacker.asset["backing"][0]["physicalAssetID"]
    starts = iter(range(10**9))

    def happen() -> int:
        time.sleep(0.02)
        begin = datetime.now(UTC).replace(microsecond=0) + timedelta(days=200, minutes=next(starts))
        body = {
            "description": "Bench",
            "type": "TESTING",
            "start": begin.isoformat(),
            "end": (begin + timedelta(minutes=1)).isoformat(),
            "volume": {"energyCapacity": 0, "powerCapacity": {"charge": 0, "discharge": 0}},
        }
        path = f"/physical-assets/{physical}/unavailability"
        return ask(scene.harness.address, rivals.attacker.client.token, "POST", path, json.dumps(body).encode())

    statuses: Counter[int] = Counter()

    @contextmanager
    def attack() -> Iterator[Counter[int]]:
        with ExitStack() as stack:
            for number in range(count):
                address = scene.addresses[number % len(scene.addresses)]
                connection, status = _open_stream(address, rivals.attacker.client.token, number)
                statuses[status] += 1
                if connection is not None:
                    stack.enter_context(connection)
            with flood(1, happen) as happened:
                yield happened

    name = f"5 {count:,} event streams"
    seen = compare(scene, name, small_read(scene), attack)
    text = f"{dict(statuses)} on {len(scene.addresses)} services"
    exact = Seen(f"{name}: opened", "exactly 500", text, statuses[200] == 500, {"opened": statuses[200]})
    return [seen, exact]


def many_requests(scene: Scene) -> list[Seen]:
    """More requests than a minute has, on connections that stay open."""
    rivals, local = find_rivals(scene), threading.local()
    headers = {"Authorization": f"Bearer {rivals.attacker.client.token}"}

    def request() -> int:
        if not hasattr(local, "connection"):
            local.connection = http.client.HTTPConnection("127.0.0.1", scene.port, timeout=30)
        try:
            local.connection.request("GET", "/auth/me", headers=headers)
            response = local.connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException):
            del local.connection
            return 0
        if response.status == 429:
            assert json.loads(body)["share"] == "requests", body
            time.sleep(0.001)
        return int(response.status)

    return [compare(scene, "7 requests without end", small_read(scene), lambda: flood(12, request))]


def many_keys(scene: Scene) -> list[Seen]:
    """80 API keys at once over all services: one member gets 50."""
    battery = Battery(scene.harness, 2)
    body = json.dumps({"name": "k", "permissions": ["Read:physical-assets"]}).encode()

    def create(number: int) -> int:
        address = scene.addresses[number % len(scene.addresses)]
        return ask(address, battery.client.token, "POST", "/auth/api-keys", body)

    with ThreadPoolExecutor(16) as pool:
        statuses = Counter(pool.map(create, range(80)))
    usage = battery.client.get(f"/organisations/{battery.organisation.id}/usage")
    used = next(share["used"] for share in usage["shares"] if share["share"] == "api-keys")
    is_met = statuses == {201: 50, 409: 30} and used == 50
    return [Seen("7 80 API keys of one member", "exactly 50", f"{dict(statuses)}, usage {used}", is_met)]


def exact_jobs(scene: Scene) -> list[Seen]:
    """Back-tests asked for over all services at once: never more than 2 running and 20 queued."""
    battery, body = Battery(scene.harness, 2), _backtest(365)
    most, over = Counter[str](), threading.Event()

    def watch() -> None:
        while not over.is_set():
            usage = battery.client.get(f"/organisations/{battery.organisation.id}/usage")
            jobs = next(share for share in usage["shares"] if share["share"] == "jobs")
            most["running"] = max(most["running"], jobs["used"])
            most["queued"] = max(most["queued"], jobs["waiting"])

    def create(number: int) -> int:
        address = scene.addresses[number % len(scene.addresses)]
        return ask(address, battery.client.token, "POST", "/backtests", body)

    with ThreadPoolExecutor(17) as pool:
        watching = pool.submit(watch)
        statuses = Counter(pool.map(create, range(80)))
        time.sleep(5)
        over.set()
        watching.result()
    is_met = most["running"] <= 2 and most["queued"] <= 22 and statuses[202] <= 30 and statuses[429] >= 50
    text = f"{dict(statuses)}, at most {dict(most)} on {len(scene.addresses)} services"
    return [Seen("4 80 back-tests at once", "2 running, 20 queued", text, is_met, {"most": dict(most)})]
