"""Work that costs and answers that nothing reads: one organisation, or a caller without an account, against another.

Each attack is measured beside the calm service of the same run, with reads and writes of another organisation.
"""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

import psutil

from bench.attack_harness import Scene, Seen
from bench.attack_shares import Rivals, ask, compare, find_rivals, flood, small_read

MAX_SERVICE_BYTES = 10**9
NOBODYS_PASSWORD = "4@8({[<369!1|0$5+7%2" * 3 + "4@8({[<3691!"
"""72 characters, each of which may stand for a letter."""


def schedule_write(scene: Scene) -> Callable[[], int]:
    """One point of the other organisation's own schedule, each time with another power."""
    rivals, powers = find_rivals(scene), count(1)
    start = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(days=2)
    path = f"/physical-assets/{rivals.victim_asset_id}/schedule"

    def write() -> int:
        point = {"time": start.isoformat(), "power": next(powers) % 100}
        body = json.dumps({"schedule": [point]}).encode()
        return ask(scene.harness.address, rivals.victim.client.token, "PUT", path, body)

    return write


def _service_bytes(scene: Scene) -> int:
    """In the workers and their forks, without PostgreSQL: a page that some of them share counts once."""
    held = 0
    for child in psutil.Process(scene.harness.product_pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            if "postgres" not in child.name():
                held += child.memory_full_info().pss
    return held


def compare_both(scene: Scene, name: str, attack: Callable[[], Any]) -> list[Seen]:
    """A read and a write of the other organisation, and the most memory that the service took meanwhile."""
    most = 0

    @contextmanager
    def watched() -> Iterator[Counter[int]]:
        nonlocal most
        with attack() as fared:
            yield fared
            most = max(most, _service_bytes(scene))

    found = [
        compare(scene, f"{name}: a small read", small_read(scene), watched),
        compare(scene, f"{name}: a schedule's point", schedule_write(scene), watched),
    ]
    megabytes = most // 10**6
    return [
        *found,
        Seen(f"{name}: memory", "< 1,000 MB", f"{megabytes} MB", most < MAX_SERVICE_BYTES, {"MB": megabytes}),
    ]


def _password_requests(scene: Scene) -> list[Callable[[], int]]:
    """Made-up invitations with a password that is hard to estimate, and changes of one's own to such a password."""
    rivals, address = find_rivals(scene), scene.harness.address
    made_up = {"token": "gli_made-up", "username": "nobody", "displayName": "Nobody", "password": NOBODYS_PASSWORD}
    own = {"currentPassword": "wrong", "newPassword": NOBODYS_PASSWORD}

    def accept() -> int:
        return ask(address, None, "POST", "/auth/public/invitations/accept", json.dumps(made_up).encode())

    def change() -> int:
        return ask(address, rivals.attacker.client.token, "POST", "/auth/password", json.dumps(own).encode())

    return [accept, make_patient(change)]


def make_patient(request: Callable[[], int]) -> Callable[[], int]:
    """One that waits a moment where it is beyond its share."""

    def ask_again() -> int:
        status = request()
        if status == 429:
            time.sleep(0.05)
        return status

    return ask_again


def strong_passwords(scene: Scene) -> list[Seen]:
    requests = _password_requests(scene)
    return compare_both(scene, "1 12 connections with passwords", lambda: flood(12, *requests))


def _large_reads(rivals: Rivals) -> list[str]:
    """The widest reads of the attacker's batteries: three years of quarter-hours."""
    battery = rivals.attacker
    physical = battery.asset["backing"][0]["physicalAssetID"]
    start = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=600)
    window = f"start={start:%Y-%m-%dT%H:%M:%SZ}&end={start + timedelta(days=1098):%Y-%m-%dT%H:%M:%SZ}"
    return [
        f"/physical-assets/{physical}/commitments?{window}",
        f"/physical-assets/{physical}/performance?{window}",
        f"/revenue-reporting/organisations/{battery.organisation.id}/data-points?{window}&resolution=15-minute",
        f"/organisations/{battery.organisation.id}/statements",
    ]


def _read_requests(scene: Scene, paths: Sequence[str]) -> list[Callable[[], int]]:
    address, token = scene.harness.address, find_rivals(scene).attacker.client.token
    return [make_patient(partial(ask, address, token, "GET", path)) for path in paths]


def large_reads(scene: Scene) -> list[Seen]:
    rivals = find_rivals(scene)
    paths = _large_reads(rivals)

    def attack(*paths: str, connections: int) -> Callable[[], Any]:
        return lambda: flood(connections, *_read_requests(scene, paths))

    found = [
        *compare_both(scene, "2 12 of commitments", attack(paths[0], connections=12)),
        *compare_both(scene, "2 16 of performance", attack(paths[1], connections=16)),
        *compare_both(scene, "2 60 of statements", attack(paths[3], connections=60)),
        *compare_both(scene, "2 24 of all of them", attack(*paths, connections=24)),
    ]
    endless = paths[0].split("end=")[0] + "end=2199-01-01T00:00:00Z"
    status = ask(scene.harness.address, rivals.attacker.client.token, "GET", endless)
    return [*found, Seen("2 a window of decades", "422", str(status), status == 422, {"status": status})]


@contextmanager
def _unread(scene: Scene) -> Iterator[Counter[int]]:
    """Fifty connections that ask for sixty megabytes each and read none of it."""
    rivals = find_rivals(scene)
    path = _large_reads(rivals)[0]
    statuses: Counter[int] = Counter()
    with ExitStack() as stack:
        held = []
        for _ in range(50):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(5)
            connection.connect(("127.0.0.1", scene.port))
            bearer = f"Authorization: Bearer {rivals.attacker.client.token}"
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n{bearer}\r\n\r\n".encode())
            held.append(connection)
        yield statuses
        for connection in held:
            connection.setblocking(False)
            try:
                statuses[int(connection.recv(64).split(b" ")[1])] += 1
            except (OSError, IndexError, ValueError):
                statuses[0] += 1


def unread_answers(scene: Scene) -> list[Seen]:
    return compare_both(scene, "3 50 readers that read nothing", lambda: _unread(scene))


def all_together(scene: Scene) -> list[Seen]:
    """Passwords, large reads, answers that nothing reads and invitations at once."""
    rivals = find_rivals(scene)
    path, token = f"/organisations/{rivals.attacker.organisation.id}/invitations", rivals.attacker.client.token
    body = json.dumps({"email": "a@x.org", "role": "VIEWER"}).encode()
    requests = [
        *_password_requests(scene),
        *_read_requests(scene, _large_reads(rivals)),
        make_patient(partial(ask, scene.harness.address, token, "POST", path, body)),
    ]

    @contextmanager
    def attack() -> Iterator[Counter[int]]:
        with _unread(scene), flood(7 * len(requests), *requests) as fared:
            yield fared

    return compare_both(scene, "1 to 6 at once", attack)


def many_invitations(scene: Scene) -> list[Seen]:
    """Invitations to one address and to hundreds, by the ADMIN; of an ADMIN, and of grants, by a key of theirs."""
    rivals, address = find_rivals(scene), scene.harness.address
    organisation = rivals.attacker.organisation.id
    path, token = f"/organisations/{organisation}/invitations", rivals.attacker.client.token
    numbers = count()

    def invite(email: str, role: str = "VIEWER", by: str | None = token) -> int:
        return ask(address, by, "POST", path, json.dumps({"email": email, "role": role}).encode())

    seen = compare(
        scene, "6 invitations without end: a small read", small_read(scene), lambda: flood(4, lambda: invite("a@x.org"))
    )
    statuses = Counter(invite(f"{next(numbers)}@x.org") for _ in range(260))
    is_open = [one for one in rivals.attacker.client.get(path + "?limit=1000") if one["status"] == "PENDING"]
    asset = rivals.attacker.asset["backing"][0]["physicalAssetID"]
    held = ["Manage:organisation", "Read:physical-assets"]
    secret = rivals.attacker.client.post("/auth/api-keys", {"name": "k", "permissions": held})["secret"]
    grant = json.dumps({"permissions": ["Update:schedules"]}).encode()
    friend = rivals.victim.organisation.id
    by_key = [
        invite("boss@x.org", "ADMIN", secret),
        ask(address, secret, "PUT", f"/physical-assets/{asset}/grants/{friend}", grant),
    ]
    return [
        seen,
        Seen(
            "6 open invitations", "200", f"{len(is_open)}, {dict(statuses)}", len(is_open) == 200 and statuses[409] > 0
        ),
        Seen("4, 5 a key invites an ADMIN, and grants what it lacks", "403", f"{by_key}", by_key[0] == 403),
    ]


def reset_under_load(scene: Scene) -> list[Seen]:
    """Everything at once around a reset of the sandbox: 503 with Retry-After while it runs, and then 401."""
    address, token = scene.harness.address, scene.probing.token
    paths = ("/auth/me", "/physical-assets", "/auctions", "/organisations", "/events", "/audit-log", "/webhooks")

    def read(path: str) -> Callable[[], int]:
        def request() -> int:
            connection = http.client.HTTPConnection("127.0.0.1", scene.port, timeout=10)
            try:
                connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
                response = connection.getresponse()
                if response.status == 200 and path == "/events":
                    return 200
                response.read()
                return response.status if response.status != 503 or response.getheader("retry-after") else -503
            except (OSError, http.client.HTTPException):
                return 0
            finally:
                connection.close()

        return request

    operator = scene.harness.operator
    with flood(24, *map(read, paths)) as statuses:
        time.sleep(1)
        reset = ask(address, operator.token, "POST", "/sandbox/reset")
        time.sleep(1)
    is_met = not any((status >= 500 and status != 503) or status == -503 for status in statuses)
    return [Seen("8 requests around a reset", "no 500", f"{reset}; {dict(statuses)}", is_met and reset < 300)]
