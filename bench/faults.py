"""What callers see while the database fails: `python -m bench.faults [name …] [--quick]`.

Starts a service of its own on 127.0.0.1, breaks its PostgreSQL in one way after the other under load, prints a table
(fault, bound, seen); the figures go to bench/results/faults.json.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import psutil

from bench.attack_harness import ASSET, Seen, log_of, print_table, write_table
from bench.harness import Client, Harness, Options, running

CALLERS = 8


class Traffic:
    """Reads and writes of one organisation, with their answers counted."""

    def __init__(self, harness: Harness, client: Client, organisation_id: str) -> None:
        self._port = int(harness.address.rsplit(":", 1)[1])
        self._client, self._organisation_id = client, organisation_id
        self._is_over = threading.Event()
        self.statuses: Counter[str] = Counter()
        self.without_retry_after = 0
        self.live_s: list[float] = []
        self.ready_s: list[float] = []
        self.ready: Counter[int] = Counter()
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(CALLERS)]
        self._threads.append(threading.Thread(target=self._look))

    def __enter__(self) -> Traffic:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _call(self, method: str, path: str, body: Any = None) -> tuple[int, bool]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        headers = {"Authorization": f"Bearer {self._client.token}", "Content-Type": "application/json"}
        if method == "POST":
            headers["Idempotency-Key"] = uuid4().hex
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status, answer.getheader("Retry-After") is not None
        finally:
            connection.close()

    def _ask(self, number: int) -> None:
        body = {**ASSET, "organisationID": self._organisation_id}
        while not self._is_over.is_set():
            for method, path, sent in (("POST", "/physical-assets", body), ("GET", "/physical-assets?limit=5", None)):
                try:
                    status, has_retry_after = self._call(method, path, sent)
                    self.statuses[str(status)] += 1
                    self.without_retry_after += status == 503 and not has_retry_after
                except (OSError, http.client.HTTPException) as error:
                    self.statuses[type(error).__name__] += 1
            time.sleep(0.01)

    def _look(self) -> None:
        while not self._is_over.is_set():
            for path, taken in (("/health/live", self.live_s), ("/health/ready", self.ready_s)):
                began = time.monotonic()
                with suppress(OSError, http.client.HTTPException):
                    status, _ = self._call("GET", path)
                    self.ready[status] += path == "/health/ready"
                taken.append(time.monotonic() - began)
            time.sleep(0.1)

    def judge(self, error: str) -> list[Seen]:
        bad = sum(count for status, count in self.statuses.items() if not status.isdigit() or status == "500")
        seen = f"{dict(self.statuses)}, {self.without_retry_after} without Retry-After"
        ready, live = max(self.ready_s, default=0.0), max(self.live_s, default=0.0)
        figures = {"statuses": dict(self.statuses), "readyMaxS": round(ready, 2), "liveMaxS": round(live, 2)}
        return [
            Seen(error, "no 500, no broken answer", seen, not bad and not self.without_retry_after, figures),
            Seen(f"{error}: health", "ready < 2.5 s", f"ready {ready:.2f} s, live {live:.2f} s", ready < 2.5, {}),
        ]


def _postmaster(harness: Harness) -> psutil.Process:
    children = psutil.Process(harness.product_pid).children()
    return next(child for child in children if "postgres" in child.name())


def _until_ready(harness: Harness, seconds: float = 60) -> float:
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        with suppress(Exception):
            harness.anonymous.get("/health/ready")
            return time.monotonic() - began
        time.sleep(0.1)
    raise RuntimeError("the service did not come back")


def terminated_backends(harness: Harness, traffic: Callable[[], Traffic]) -> list[Seen]:
    async def terminate() -> int:
        connection = await asyncpg.connect(harness.database_url)
        ended = 0
        for _ in range(10):
            ended += await connection.fetchval(
                """
                select count(pg_terminate_backend(pid)) from pg_stat_activity
                where pid <> pg_backend_pid() and backend_type = 'client backend'
                """
            )
            await asyncio.sleep(1)
        await connection.close()
        return ended

    with traffic() as seen:
        time.sleep(1)
        ended = asyncio.run(terminate())
    return seen.judge(f"pg_terminate_backend every second ({ended} backends)")


def killed_postmaster(harness: Harness, traffic: Callable[[], Traffic]) -> list[Seen]:
    with traffic() as seen:
        time.sleep(1)
        for _ in range(2):
            _postmaster(harness).kill()
            time.sleep(1)
            _until_ready(harness)
            time.sleep(1)
    return seen.judge("kill -9 of the postmaster, twice")


def hanging_database(harness: Harness, traffic: Callable[[], Traffic]) -> list[Seen]:
    processes = [_postmaster(harness), *_postmaster(harness).children()]
    with traffic() as seen:
        time.sleep(1)
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.suspend()
        time.sleep(6)
        for process in reversed(processes):
            with suppress(psutil.NoSuchProcess):
                process.resume()
        _until_ready(harness)
        time.sleep(1)
    return seen.judge("PostgreSQL stopped for six seconds")


def vanished_socket(harness: Harness, traffic: Callable[[], Traffic]) -> list[Seen]:
    directory = Path(harness.database_url.split("host=")[1].split("&")[0])
    with traffic() as seen:
        time.sleep(1)
        hidden = directory.with_name("hidden-run")
        directory.rename(hidden)
        asyncio.run(_end_backends(hidden))
        time.sleep(2)
        hidden.rename(directory)
        _until_ready(harness)
        time.sleep(1)
    return seen.judge("the socket vanished for two seconds")


async def _end_backends(directory: Path) -> None:
    connection = await asyncpg.connect(host=str(directory), user="gridloom", database="gridloom")
    await connection.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = $1",
        "client backend",
    )
    await connection.close()


def killed_worker(harness: Harness, traffic: Callable[[], Traffic]) -> list[Seen]:
    """Answers on their way break, which no server can help; the next request is served."""
    with traffic() as seen:
        time.sleep(1)
        worker = next(c for c in psutil.Process(harness.product_pid).children() if "postgres" not in c.name())
        worker.kill()
        time.sleep(3)
    judged = seen.judge("kill -9 of a worker")
    judged[0].bound = "no 500"
    judged[0].met = not seen.statuses["500"]
    return judged


def renewed_workers(harness: Harness, traffic: Callable[[], Traffic]) -> list[Seen]:
    """At SIGHUP worker after worker is replaced; a connection that an old one took last may break, no answer fails."""
    with traffic() as seen:
        time.sleep(1)
        os.kill(harness.product_pid, signal.SIGHUP)
        time.sleep(6)
    judged = seen.judge("SIGHUP under load")
    judged[0].bound = "no 500, nobody refused"
    judged[0].met = not seen.statuses["500"] and not seen.statuses["ConnectionRefusedError"]
    return judged


FAULTS = {
    "terminate": terminated_backends,
    "postmaster": killed_postmaster,
    "hang": hanging_database,
    "socket": vanished_socket,
    "worker": killed_worker,
    "renewal": renewed_workers,
}


def full_disk() -> list[Seen]:
    """A service whose home is on a small disk of its own, which only root can make."""
    place = Path(tempfile.mkdtemp(prefix="gridloom-small-disk-"))
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", str(place)], check=False)
    if made.returncode != 0:
        shutil.rmtree(place)
        return [Seen("a full disk", "reads go on", "not tried: no disk can be made here", met=True)]
    try:
        with running(
            "faults", Options(workers=2), has_ceiling=False, home=place / "home", log=log_of("full-disk")
        ) as harness:
            owner = harness.new_organisation("Owner")
            filling = place / "filling"
            with Traffic(harness, owner.admin, owner.id) as seen:
                time.sleep(1)
                with suppress(OSError), filling.open("wb") as file:
                    while True:
                        file.write(bytes(1 << 20))
                        file.flush()
                time.sleep(8)
                during = dict(seen.statuses)
                seen.ready.clear()
                time.sleep(3)
                ready = +seen.ready
                filling.unlink()
                _until_ready(harness)
                before = seen.statuses["201"]
                time.sleep(3)
            judged = seen.judge("a full disk, then room again")
            judged[0].seen += f"; while full {during}"
            judged[0].met = not seen.statuses["500"] and seen.statuses["201"] > before
            judged[0].bound = "no 500, writes go on afterwards"
            is_told = set(ready) == {503}
            return [*judged, Seen("a full disk: ready", "503 while writes are refused", f"{dict(ready)}", is_told)]
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)
        with suppress(OSError):
            place.rmdir()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(FAULTS)}, disk; all when left out")
    parser.add_argument("--quick", action="store_true", help="nothing is written")
    given = parser.parse_args()
    names = given.names or [*FAULTS, "disk"]
    found: list[Seen] = []
    if set(names) & set(FAULTS):
        with running("faults", Options(workers=2), has_ceiling=False, log=log_of("faults")) as harness:
            owner = harness.new_organisation("Owner")
            for name in (name for name in names if name in FAULTS):
                results = FAULTS[name](harness, lambda: Traffic(harness, owner.admin, owner.id))
                print_table(results)
                found += results
                _until_ready(harness)
    if "disk" in names:
        results = full_disk()
        print_table(results)
        found += results
    if not given.quick:
        write_table("faults", found)
    return 0 if all(one.met for one in found) else 1


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
