"""`kill -9` of a database's nodes on this machine under load: a worker node of a cluster, then its coordinator.

Callers write logbook entries to batteries of several organisations, each with an Idempotency-Key, and read them. While
a worker node is dead, what lies on it is answered 503 and the rest as ever; readiness is DEGRADED and names what is
lost. When it is back everything is, and every acknowledged entry is there once.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
import urllib.parse
import uuid
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from bench.attack_harness import ASSET
from bench.database_nodes import Node, find_local_nodes
from bench.harness import Harness

ORGANISATIONS, BATTERIES = 6, 4
DOWN_S, QUICK_DOWN_S = 15.0, 6.0
RECOVERY_S = 90.0
ROUNDS, QUICK_ROUNDS = 3, 1
QUICKLY, QUICK_QUICKLY = 20, 3
"""How often the coordinator is killed and started again at once: what a transaction writes on workers and on the
coordinator is there together or not at all, and a repetition under the same key finds out."""
EXPECTED_ERRORS = (
    "job.crashed",
    "request.failed readReadiness",  # 503 while the coordinator is dead
    # A killed node: what asked it fails as unreachable, and is answered 503 or tried again.
    r"(request.failed|job.failed|delivery.run_failed|webhooks.attempt_not_recorded|response.aborted) .*"
    r"(remote node|marked as essential|server closed the connection|terminating connection|shut down|starting up|"
    r"recovery mode|not yet accepting|Connect call failed|Connection refused|connection (was|is) closed|"
    r"ConnectionDoesNotExist|ConnectionReset|InternalClientError|prepare transaction|commit transaction|TimeoutError|"
    r"healthy placement)",
)


@dataclass
class Battery:
    path: str
    token: str


@dataclass
class Seen:
    """Answers while the nodes are in one state."""

    statuses: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    without_retry_after: int = 0
    readiness: Counter[str] = field(default_factory=Counter)
    details: set[str] = field(default_factory=set)

    def describe(self) -> dict[str, Any]:
        return {
            "answers": dict(self.statuses),
            "wrong": self.wrong[:5],
            "503 without Retry-After": self.without_retry_after,
            "readiness": dict(self.readiness),
            "nodes": sorted(self.details)[:3],
        }


class Callers:
    """One thread for each organisation's batteries, and one that asks for readiness."""

    def __init__(self, harness: Harness, batteries: list[list[Battery]]) -> None:
        self._port = urllib.parse.urlsplit(harness.address).port
        self._operator_token = harness.operator.token
        self._is_over = threading.Event()
        self._guard = threading.Lock()
        self.seen = Seen()
        self.acknowledged: dict[str, tuple[Battery, str]] = {}
        self.unknown: set[str] = set()
        self._threads = [threading.Thread(target=self._write_on, args=(of,), daemon=True) for of in batteries]
        self._threads.append(threading.Thread(target=self._ask_readiness, daemon=True))

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def finish(self) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join(60)

    def begin_phase(self) -> Seen:
        """The answers from here on; those before are handed out."""
        with self._guard:
            before, self.seen = self.seen, Seen()
        return before

    def _write_on(self, batteries: list[Battery]) -> None:
        pending: dict[str, tuple[str, str]] = {}
        while not self._is_over.is_set():
            for battery in batteries:
                title, key = pending.setdefault(battery.path, (uuid.uuid4().hex, uuid.uuid4().hex))
                self.unknown.add(title)
                status, body = self._send("POST", f"{battery.path}/logbook", battery.token, _entry(title), key)
                if status == 201:
                    self.unknown.discard(title)
                    self.acknowledged[title] = (battery, json.loads(body)["id"])
                    del pending[battery.path]
                self._send("GET", f"{battery.path}/logbook?limit=5", battery.token)
            time.sleep(0.02)

    def _ask_readiness(self) -> None:
        while not self._is_over.is_set():
            status, body = self._send("GET", "/health/ready", self._operator_token or "", count=False)
            with self._guard, suppress(ValueError, KeyError):
                found = json.loads(body)
                self.seen.readiness[f"{status} {found['status']}"] += 1
                self.seen.details |= {one["detail"] for one in found["checks"] if one["name"] == "nodes"}
            time.sleep(0.25)

    def _send(
        self, method: str, path: str, token: str, body: Any = None, key: str | None = None, *, count: bool = True
    ) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=40)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            with self._guard:
                self.seen.statuses[type(error).__name__] += 1
                self.seen.wrong.append(f"{method}: {error!r}")
            return 0, b""
        finally:
            connection.close()
        with self._guard:
            if count:
                self.seen.statuses[str(answer.status)] += 1
                self.seen.without_retry_after += answer.status == 503 and answer.getheader("Retry-After") is None
                if answer.status not in (200, 201, 409, 503):
                    self.seen.wrong.append(f"{method} {path}: {answer.status} {text[:200]!r}")
        return answer.status, text


def _entry(title: str) -> dict[str, Any]:
    return {"title": title, "type": "note", "start": "2026-01-01T00:00:00Z", "description": "Under fire"}


def _make_batteries(harness: Harness) -> list[list[Battery]]:
    found = []
    for _ in range(ORGANISATIONS):
        organisation = harness.new_organisation("Nodes")
        key = organisation.admin.post(
            "/auth/api-keys", {"name": "bench", "permissions": ["Read:physical-assets", "Create:logbook"]}
        )
        body = {**ASSET, "organisationID": organisation.id}
        made = [organisation.admin.post("/physical-assets", body)["id"] for _ in range(BATTERIES)]
        found.append([Battery(f"/physical-assets/{one}", key["secret"]) for one in made])
    return found


def run(harness: Harness) -> None:
    nodes = find_local_nodes(harness.database_url)
    if not nodes:
        print("node_crash: the database has no node on this machine that could be killed and started again")
        return
    down_s, rounds = (QUICK_DOWN_S, QUICK_ROUNDS) if harness.options.quick else (DOWN_S, ROUNDS)
    callers = Callers(harness, _make_batteries(harness))
    callers.start()
    time.sleep(3)
    try:
        workers = [node for node in nodes if not node.is_coordinator]
        for number in range(rounds if workers else 0):
            _kill_and_start(harness, callers, workers[number % len(workers)], down_s)
        for node in nodes:
            if node.is_coordinator:
                _kill_and_start(harness, callers, node, down_s)
                _kill_quickly(harness, callers, node, QUICK_QUICKLY if harness.options.quick else QUICKLY)
    finally:
        callers.finish()
    _verify(harness, callers)


def _kill_and_start(harness: Harness, callers: Callers, node: Node, down_s: float) -> None:
    name = "the coordinator" if node.is_coordinator else f"the worker node {node.address}"
    before = callers.begin_phase()
    node.kill()
    time.sleep(down_s)
    down = callers.begin_phase()
    node.start()
    took_s = _await_recovery(callers)
    back = callers.begin_phase()
    time.sleep(3)
    after = callers.begin_phase()
    is_right = (
        not (before.wrong or down.wrong or back.wrong or after.wrong)
        and not down.without_retry_after
        and down.statuses["503"] > 0
        and after.statuses["503"] == 0
        and took_s is not None
    )
    if not node.is_coordinator:
        is_right &= down.statuses["200"] > 0 and down.readiness["200 DEGRADED"] > 0
        is_right &= not any(name.startswith("503") for name in down.readiness)
    harness.report(
        f"kill -9 of {name}",
        {
            "while it is dead": down.describe(),
            "while it comes back": back.describe(),
            "recovered_s": took_s,
            "afterwards": after.describe(),
        },
        target="503 for what is lost, the rest answers (worker node), all of it again afterwards",
        met=is_right,
    )


def _kill_quickly(harness: Harness, callers: Callers, node: Node, kills: int) -> None:
    callers.begin_phase()
    acknowledged = len(callers.acknowledged)
    for _ in range(kills):
        time.sleep(random.uniform(1, 2))
        node.kill()
        node.start()
    took_s = _await_recovery(callers)
    seen = callers.begin_phase()
    harness.report(
        "kill -9 of the coordinator, again and again",
        {"kills": kills, "acknowledged between": len(callers.acknowledged) - acknowledged, "recovered_s": took_s},
        target="all of it again afterwards",
        met=took_s is not None and not seen.wrong,
    )


def _await_recovery(callers: Callers) -> float | None:
    """Seconds until nothing is answered 503 any more and readiness has left what it said."""
    began = time.monotonic()
    while time.monotonic() - began < RECOVERY_S:
        callers.begin_phase()
        time.sleep(3)
        with callers._guard:
            seen = callers.seen
            if (
                seen.statuses["201"]
                and not seen.statuses["503"]
                and not any(one.startswith("503") or "do not answer" in one for one in (*seen.readiness, *seen.details))
            ):
                return round(time.monotonic() - began, 1)
    return None


def _verify(harness: Harness, callers: Callers) -> None:
    """Every acknowledged entry is there, none of them twice."""
    titles = Counter[str]()
    for battery in {id(battery): battery for battery, _ in callers.acknowledged.values()}.values():
        for entry in _read_entries(harness, battery):
            titles[entry["title"]] += 1
    lost = [title for title in callers.acknowledged if not titles[title]]
    doubled = [title for title in {*callers.acknowledged, *callers.unknown} if titles[title] > 1]
    figures = {"acknowledged": len(callers.acknowledged), "lost": lost[:10], "doubled": doubled[:10]}
    met = bool(callers.acknowledged) and not lost and not doubled
    harness.report("entries under kill -9 of nodes", figures, target="each acknowledged one is there once", met=met)


def _read_entries(harness: Harness, battery: Battery) -> list[Any]:
    port = urllib.parse.urlsplit(harness.address).port
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    found: list[Any] = []
    target = f"{battery.path}/logbook?limit=1000"
    while target:
        connection.request("GET", target, headers={"Authorization": f"Bearer {battery.token}"})
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status == 200, text
        found += json.loads(text)
        link = urllib.parse.urlsplit(answer.headers.get("Link", "").partition("<")[2].partition(">")[0])
        target = f"{link.path}?{link.query}" if link.path else ""
    connection.close()
    return found
