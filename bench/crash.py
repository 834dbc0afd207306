"""`python -m bench.crash [rounds]`: kill -9 of one of two workers under load, again and again.

Eight writers create organisations, each write with an Idempotency-Key of its own, and repeat a write whose answer did
not arrive. In the end every acknowledged write must be there once.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from subprocess import DEVNULL, Popen
from typing import Any

import psutil

from bench.harness import PASSWORD, USERNAME, Client, await_answer, free_port
from gridloom.database.processes import end_with_parent

WORKERS = 2
AT_WORK_S = 0.5


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
    doubled = [name for name, ids in found.items() if len(ids) > 1]
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


def main(rounds: int) -> int:
    with tempfile.TemporaryDirectory(prefix="gl-crash-", ignore_cleanup_errors=True) as directory:
        port = free_port()
        address = f"http://127.0.0.1:{port}"
        environment = {
            "GRIDLOOM_HOME": str(Path(directory) / "home"),
            "GRIDLOOM_PORT": str(port),
            "GRIDLOOM_WORKERS": str(WORKERS),
            "GRIDLOOM_BOOTSTRAP_USERNAME": USERNAME,
            "GRIDLOOM_BOOTSTRAP_PASSWORD": PASSWORD,
            "GRIDLOOM_SIMULATOR": "off",
            "GRIDLOOM_RATE_LIMIT": "1000000000",
            "GRIDLOOM_PUBLIC_RATE_LIMIT": "1000000000",
            "GRIDLOOM_LOG_LEVEL": "warning",
        }
        command = [sys.executable, "-m", "gridloom.cli", "serve"]
        end = partial(end_with_parent, os.getpid(), signal.SIGTERM)
        with Popen(command, env={**os.environ, **environment}, stdout=DEVNULL, preexec_fn=end) as service:
            try:
                await_answer(address, "/health/ready", service)
                return _run(address, port, service.pid, rounds)
            finally:
                service.send_signal(signal.SIGTERM)


def _workers_at_work(supervisor: int) -> list[psutil.Process]:
    """Both workers, once each has had a moment to start: killing one that never worked shows nothing."""
    while True:
        with suppress(psutil.NoSuchProcess):
            children = psutil.Process(supervisor).children()
            workers = [one for one in children if one.name() != "postgres" and one.status() != psutil.STATUS_ZOMBIE]
            if len(workers) == WORKERS and all(time.time() - one.create_time() > AT_WORK_S for one in workers):
                return workers
        time.sleep(0.02)


def _run(address: str, port: int, supervisor: int, rounds: int) -> int:
    def sign_in() -> str:
        token = Client(address).sign_in(USERNAME, PASSWORD).token
        assert token is not None
        return token

    writers = Writers(port, sign_in, count=8)
    writers.start()
    chance = random.Random()
    for number in range(1, rounds + 1):
        workers = _workers_at_work(supervisor)
        time.sleep(chance.uniform(0.0, 0.3))
        with suppress(psutil.NoSuchProcess):
            chance.choice(workers).kill()
        if number % 20 == 0:
            print(f"{number} rounds, {len(writers.outcome.acknowledged)} writes acknowledged", flush=True)
    outcome = writers.finish()
    report = verify(port, sign_in(), outcome)
    print(
        f"{rounds} kills; {len(outcome.acknowledged)} acknowledged ({outcome.repeated} of them repeated), "
        f"{len(outcome.broken)} requests cut off, {len(outcome.refused)} refused, "
        f"{len(report.lost)} lost, {len(report.doubled)} doubled"
    )
    return 1 if report.lost or report.doubled or outcome.refused else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
