"""`kill -9` of one of two workers under load, again and again.

Eight writers create organisations, each write with an Idempotency-Key of its own, and repeat a write whose answer did
not arrive. In the end every acknowledged write must be there once.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
import urllib.parse
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psutil

from bench.harness import Harness

KILLS, QUICK_KILLS = 200, 5
WORKERS = 2
ENVIRONMENT = {"GRIDLOOM_WORKERS": str(WORKERS)}
AT_WORK_S = 0.5
EXPECTED_ERRORS = ("worker.exited", "job.crashed")
"""What a log says of processes that were killed."""


@dataclass
class Outcome:
    acknowledged: dict[str, str] = field(default_factory=dict)  # name → id
    unknown: set[str] = field(default_factory=set)  # asked, never answered
    refused: list[str] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)  # name → how its connection ended in the middle of a request
    repeated: int = 0


@dataclass(frozen=True)
class Report:
    lost: list[str]
    doubled: list[str]
    found: int


class Writers:
    """Threads that write as fast as they are answered."""

    def __init__(self, port: int, sign_in: Callable[[], str], count: int, *, retries: bool = True) -> None:
        self.port, self.sign_in, self.retries = port, sign_in, retries
        self.token = sign_in()
        self.is_over = threading.Event()
        self.outcome = Outcome()
        self.guard = threading.Lock()
        self.threads = [threading.Thread(target=self._write_on, daemon=True) for _ in range(count)]

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def finish(self, after: threading.Thread | None = None) -> Outcome:
        if after is not None:
            after.join()
        self.is_over.set()
        for thread in self.threads:
            thread.join(60)
        return self.outcome

    def _write_on(self) -> None:
        connection = self._connection()
        while not self.is_over.is_set():
            name, key = f"crash {uuid.uuid4().hex}", uuid.uuid4().hex
            with self.guard:
                self.outcome.unknown.add(name)
            while not self._write(connection, name, key):
                connection.close()
                if not self.retries:
                    return
                time.sleep(0.02)
                connection = self._connection()

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def _write(self, connection: http.client.HTTPConnection, name: str, key: str) -> bool:
        """Whether the write was answered."""
        try:
            if connection.sock is None:
                connection.connect()
        except OSError:
            return False
        sent = False
        try:
            connection.request(
                "POST",
                "/organisations",
                json.dumps({"name": name, "kind": "PARTICIPANT"}),
                {
                    "Authorization": f"Bearer {self.token}",
                    "Content-Type": "application/json",
                    "Idempotency-Key": key,
                },
            )
            sent = True
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            with self.guard:
                self.outcome.broken[name] = type(error).__name__ + (" after sending" if sent else " while sending")
            return False
        return self._note(name, answer, body)

    def _note(self, name: str, answer: http.client.HTTPResponse, body: bytes) -> bool:
        with self.guard:
            if answer.status == 201:
                self.outcome.unknown.discard(name)
                self.outcome.acknowledged[name] = json.loads(body)["id"]
                self.outcome.repeated += answer.headers.get("Idempotency-Replayed") == "true"
                return True
            if answer.status == 401:  # a long run outlives its token
                self.token = self.sign_in()
                return False
            if answer.status in (409, 503):  # the first attempt is still running; the database is just coming back
                return False
            self.outcome.refused.append(f"{answer.status} {body[:300]!r}")
            return True


def verify(port: int, token: str, outcome: Outcome) -> Report:
    """Compare what was acknowledged with what is there."""
    found: dict[str, list[str]] = {}
    for organisation in _all_organisations(port, token):
        found.setdefault(organisation["name"], []).append(organisation["id"])
    lost = [name for name, id in outcome.acknowledged.items() if id not in found.get(name, [])]
    asked = outcome.acknowledged.keys() | outcome.unknown  # who else is there may share names
    doubled = [name for name in asked if len(found.get(name, ())) > 1]
    return Report(lost, doubled, len(found))


def _all_organisations(port: int, token: str) -> list[dict[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    found: list[dict[str, Any]] = []
    path: str | None = "/organisations?limit=1000"
    while path is not None:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        body = answer.read()
        if answer.status == 503:  # a worker that is just starting
            time.sleep(0.1)
            continue
        assert answer.status == 200, body
        found += json.loads(body)
        link = answer.headers.get("Link", "")
        path = link.partition("<")[2].partition(">")[0] or None
        if path is not None and "://" in path:
            path = "/" + path.split("/", 3)[3]
    connection.close()
    return found


def _workers_at_work(supervisor: int) -> list[psutil.Process]:
    """Both workers, once each has had a moment to start: killing one that never worked shows nothing."""
    while True:
        with suppress(psutil.NoSuchProcess):
            children = psutil.Process(supervisor).children()
            workers = [one for one in children if one.name() != "postgres" and one.status() != psutil.STATUS_ZOMBIE]
            if len(workers) == WORKERS and all(time.time() - one.create_time() > AT_WORK_S for one in workers):
                return workers
        time.sleep(0.02)


def run(harness: Harness) -> None:
    def sign_in() -> str:
        token = harness.operator.token
        assert token is not None
        return token

    port = urllib.parse.urlsplit(harness.address).port
    assert port is not None
    kills = QUICK_KILLS if harness.options.quick else KILLS
    writers = Writers(port, sign_in, count=8)
    writers.start()
    chance = random.Random()
    for _ in range(kills):
        workers = _workers_at_work(harness.product_pid)
        time.sleep(chance.uniform(0.0, 0.3))
        with suppress(psutil.NoSuchProcess):
            chance.choice(workers).kill()
    outcome = writers.finish()
    report = verify(port, sign_in(), outcome)
    figures = {
        "kills": kills,
        "acknowledged": len(outcome.acknowledged),
        "of them repeated": outcome.repeated,
        "requests cut off": len(outcome.broken),
        "refused": outcome.refused[:10],
        "lost": report.lost[:10],
        "doubled": report.doubled[:10],
    }
    met = bool(outcome.acknowledged) and not (report.lost or report.doubled or outcome.refused)
    harness.report("writes under kill -9 of workers", figures, target="each acknowledged one is there once", met=met)
