"""`python -m bench.rolling_upgrade [RELEASE]`: an earlier release is replaced under load, one service after the other.

Two services of the earlier commit on one PostgreSQL, behind `deploy/proxy/nginx.conf`; clients of the SDK with its
usual retries write and read without a break. Then the present release migrates the database, and each service is ended
and started anew as the present release. Errors that a client sees are counted, and every acknowledged write is looked
for.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bench.harness import MEMBER_PASSWORD, PASSWORD, USERNAME, Client, await_answer, free_port, process
from gridloom.platform.database.server.embedded import EmbeddedPostgres
from gridloom_client import Client as SdkClient
from gridloom_client.errors import GridloomError

ROOT = Path(__file__).parents[1]
RELEASES = {"0.2.0": "c7fc343b"}
"""The commit that dates the release before."""
EARLIER = "0.2.0"
WRITERS, READERS = 2, 2
START = datetime(2026, 1, 1, tzinfo=UTC)
PARAMETERS = {
    "ratedChargePower": 10_000.0,
    "ratedDischargePower": 10_000.0,
    "energyCapacity": 20_000.0,
    "chargeEfficiency": 0.95,
    "dischargeEfficiency": 0.95,
}


@dataclass
class Load:
    """Clients that go on until they are stopped; what they sent, what was acknowledged, what they saw fail."""

    url: str
    username: str
    asset_id: str
    stopping: threading.Event = field(default_factory=threading.Event)
    counts: Counter[str] = field(default_factory=Counter)
    acknowledged: set[str] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)
    phase: str = "before"
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        for number in range(WRITERS + READERS):
            act = self._write if number < WRITERS else self._read
            thread = threading.Thread(target=self._repeat, args=(act, number), daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        self.stopping.set()
        for thread in self._threads:
            thread.join(60)

    def _repeat(self, act: object, number: int) -> None:
        assert callable(act)
        with SdkClient(self.url, username=self.username, password=MEMBER_PASSWORD, progress=False) as client:
            turn = 0
            while not self.stopping.is_set():
                turn += 1
                try:
                    act(client, f"{number}-{turn}")
                    self.counts[self.phase] += 1
                except (GridloomError, OSError) as error:
                    self.errors.append(f"{self.phase}: {type(error).__name__}: {error}"[:300])
                time.sleep(0.02)

    def _write(self, client: SdkClient, title: str) -> None:
        client.physical_assets.write_logbook(
            self.asset_id, title=title, type="MAINTENANCE", impact="NEUTRAL", start=START
        )
        self.acknowledged.add(title)

    def _read(self, client: SdkClient, _: str) -> None:
        client.physical_assets.get(self.asset_id)
        next(iter(client.physical_assets.logbook(self.asset_id, page_size=5)), None)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.rolling_upgrade", description=__doc__.splitlines()[0])
    parser.add_argument("release", nargs="?", default=EARLIER, help=f"or a commit; {EARLIER} when left out")
    parser.add_argument("--seconds", type=float, default=3.0, help="of load before, between and after the steps")
    given = parser.parse_args()
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gl-rolling-", dir="/tmp")))
        place.chmod(0o711)
        earlier = unpack_release(RELEASES.get(given.release, given.release), place / "earlier")
        postgres = EmbeddedPostgres(place / "database")
        stack.callback(postgres.stop)
        dsn = postgres.start()
        return upgrade(stack, place, dsn, earlier, given.seconds)


def unpack_release(commit: str, place: Path) -> Path:
    """The sources of a commit; they run with the packages of the present environment."""
    place.mkdir()
    packed = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(place)], input=packed, check=True)
    return place / "src"


def upgrade(stack: ExitStack, place: Path, dsn: str, earlier: Path, seconds: float) -> int:
    present = ROOT / "src"
    applied_before = run_migrations(earlier, dsn, place)
    ports = [free_port(), free_port()]
    services = [Service(place, dsn, port) for port in ports]
    for one in services:
        stack.callback(one.stop)
        one.start(earlier)
    url = stack.enter_context(proxy(place, ports))
    load = make_load(url)
    load.start()
    stack.callback(load.stop)
    time.sleep(seconds)
    load.phase = "while migrating"
    applied = run_migrations(present, dsn, place)
    time.sleep(seconds)
    for number, one in enumerate(services, 1):
        load.phase = f"while service {number} is replaced"
        one.stop()
        one.start(present)
        time.sleep(seconds)
    load.phase = "after"
    time.sleep(seconds)
    load.stop()
    with SdkClient(url, username=load.username, password=MEMBER_PASSWORD, progress=False) as client:
        stored = Counter(entry.title for entry in client.physical_assets.logbook(load.asset_id, page_size=1000))
    lost = [title for title in load.acknowledged if not stored[title]]
    doubled = [title for title, count in stored.items() if count > 1]
    result = {
        "migrations of the earlier release": applied_before,
        "migrations applied under load": applied,
        "requests": dict(load.counts),
        "acknowledged writes": len(load.acknowledged),
        "lost": len(lost),
        "doubled": len(doubled),
        "errors that a client saw": len(load.errors),
    }
    print(json.dumps(result, indent=2))
    for error in load.errors[:10]:
        print(error, file=sys.stderr)
    return 1 if load.errors or lost or doubled else 0


@dataclass
class Service:
    place: Path
    dsn: str
    port: int
    _stack: ExitStack | None = None

    def start(self, sources: Path) -> None:
        self._stack = ExitStack()
        environment = {**settings_of(sources, self.dsn, self.place), "GRIDLOOM_PORT": str(self.port)}
        command = [sys.executable, "-c", "from gridloom.entry import main; main()", "serve"]
        started = self._stack.enter_context(process(command, environment, self.place / f"service-{self.port}.log"))
        await_answer(f"http://127.0.0.1:{self.port}", "/health/ready", started)

    def stop(self) -> None:
        if self._stack is not None:
            self._stack.close()
            self._stack = None


def settings_of(sources: Path, dsn: str, place: Path) -> dict[str, str]:
    return {
        "PYTHONPATH": str(sources),
        "GRIDLOOM_ENVIRONMENT": "sandbox",
        "GRIDLOOM_DATABASE_URL": dsn,
        "GRIDLOOM_HOME": str(place / "home"),
        "GRIDLOOM_WORKERS": "1",
        "GRIDLOOM_BOOTSTRAP_USERNAME": USERNAME,
        "GRIDLOOM_BOOTSTRAP_PASSWORD": PASSWORD,
        "GRIDLOOM_SIMULATOR": "off",
        "GRIDLOOM_RATE_LIMIT": "1000000000",
        "GRIDLOOM_PUBLIC_RATE_LIMIT": "1000000000",
        "GRIDLOOM_LOG_LEVEL": "warning",
    }


def run_migrations(sources: Path, dsn: str, place: Path) -> int:
    """How many were applied."""
    environment = {**os.environ, **settings_of(sources, dsn, place)}
    command = [sys.executable, "-c", "from gridloom.entry import main; main()", "migrate"]
    done = subprocess.run(command, env=environment, cwd=place, check=True, capture_output=True, text=True)
    return done.stdout.count("applied ")


@contextmanager
def proxy(place: Path, ports: list[int]) -> Iterator[str]:
    """The example of `deploy/proxy`, without TLS."""
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx is None:
        raise RuntimeError("nginx is not installed (Debian has it).")
    front = free_port()
    site = (ROOT / "deploy" / "proxy" / "nginx.conf").read_text()
    for given, port in zip(("8001", "8002"), ports, strict=True):
        site = site.replace(f"127.0.0.1:{given}", f"127.0.0.1:{port}")
    site = site.replace("listen 443 ssl http2;", f"listen 127.0.0.1:{front};")
    site = site.replace("listen 80;", f"listen unix:{place}/plain.sock;")
    site = "\n".join(line for line in site.splitlines() if "ssl_" not in line)
    (place / "nginx.conf").write_text(
        f"pid {place}/nginx.pid; error_log {place}/nginx.log; daemon off; events {{}}\n"
        f"http {{ access_log off; client_body_temp_path {place}/b; proxy_temp_path {place}/p;\n"
        f"fastcgi_temp_path {place}/f; uwsgi_temp_path {place}/u; scgi_temp_path {place}/s;\n{site}\n}}"
    )
    with process([nginx, "-p", str(place), "-c", str(place / "nginx.conf")], {}) as started:
        await_answer(f"http://127.0.0.1:{front}", "/health/live", started)
        yield f"http://127.0.0.1:{front}"


def make_load(url: str) -> Load:
    """An owner with a battery, made through the earlier release."""
    operator = Client(url).sign_in(USERNAME, PASSWORD)
    organisation = operator.post("/organisations", {"name": "Rolling", "kind": "PARTICIPANT"})["id"]
    invitation = {"email": "rolling@example.com", "role": "ADMIN"}
    token = operator.post(f"/organisations/{organisation}/invitations", invitation)["token"]
    joining = {"token": token, "username": "rolling", "password": MEMBER_PASSWORD, "displayName": "Rolling"}
    Client(url).post("/auth/public/invitations/accept", joining)
    owner = Client(url).sign_in("rolling", MEMBER_PASSWORD)
    body = {"name": "Hall 1", "deliveryZone": "TenneT", "organisationID": organisation, "parameters": PARAMETERS}
    return Load(url, "rolling", owner.post("/physical-assets", body)["id"])


if __name__ == "__main__":
    sys.exit(main())
