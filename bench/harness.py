"""Runs the product and its ceiling side by side on one database, and keeps what was measured."""

from __future__ import annotations

import http.client
import json
import os
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from bench.load import NUMBER, Load, Measured, Plan, Request
from gridloom.platform.database.server.embedded import dsn_of_running
from gridloom.platform.database.server.processes import end_with_parent

RESULTS = Path(__file__).parent / "results"
USERNAME, PASSWORD = "bench-operator", "a long bench password 7"
MEMBER_PASSWORD = "another long bench password 7"


class Client:
    """Plain calls to the product, for setting the scene; never timed."""

    def __init__(self, address: str, token: str | None = None) -> None:
        self.address = address
        self.token = token

    def call(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        parts = urllib.parse.urlsplit(self.address)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
        sent = dict(headers or {})
        if self.token is not None:
            sent["Authorization"] = f"Bearer {self.token}"
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        if content is not None:
            sent.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path, content, sent)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: {answer.status} {text.decode(errors='replace')[:2000]}")
        return json.loads(text) if text else None

    def get(self, path: str) -> Any:
        return self.call("GET", path)

    def post(self, path: str, body: Any = None) -> Any:
        return self.call("POST", path, body)

    def put(self, path: str, body: Any = None) -> Any:
        return self.call("PUT", path, body)

    def sign_in(self, username: str, password: str) -> Client:
        answer = self.post("/auth/public/authenticate", {"username": username, "password": password})
        return Client(self.address, answer["access_token"])


@dataclass(frozen=True)
class Organisation:
    id: str
    admin: Client


@dataclass(frozen=True)
class Options:
    seconds: float = 4.0  # of each round
    rounds: int = 3
    connections: int = 32
    workers: int = 1
    quick: bool = False


@dataclass
class Result:
    """One line of the report; `met` says whether the target was reached."""

    bench: str
    name: str
    figures: dict[str, Any]
    target: str | None = None
    met: bool | None = None


@dataclass
class Harness:
    bench: str
    address: str
    ceiling_address: str | None
    database_url: str
    options: Options
    product_pid: int
    ceiling_pid: int | None
    results: list[Result] = field(default_factory=list)

    @property
    def anonymous(self) -> Client:
        return Client(self.address)

    @property
    def operator(self) -> Client:
        """Signed in anew, so that a long bench never meets an expired token."""
        return self.anonymous.sign_in(USERNAME, PASSWORD)

    def new_organisation(self, name: str = "Bench") -> Organisation:
        """A participant's organisation with an ADMIN who is signed in."""
        operator = self.operator
        unique = f"{name}-{time.time_ns()}"
        created = operator.post("/organisations", {"name": unique, "kind": "PARTICIPANT"})
        invited = operator.post(
            f"/organisations/{created['id']}/invitations", {"email": f"{unique}@example.com".lower(), "role": "ADMIN"}
        )
        self.anonymous.post(
            "/auth/public/invitations/accept",
            {
                "token": invited["token"],
                "username": unique.lower(),
                "password": MEMBER_PASSWORD,
                "displayName": unique,
            },
        )
        return Organisation(created["id"], self.anonymous.sign_in(unique.lower(), MEMBER_PASSWORD))

    def load(self, *requests: Request, to: str | None = None, **plan: Any) -> Load:
        """Start a load on the product (or on the address given); it runs until its seconds are over."""
        address = to or self.address
        host = urllib.parse.urlsplit(address).netloc
        settings = {"connections": self.options.connections, "seconds": self.options.seconds} | plan
        return Load(Plan(address, tuple(request.raw(host) for request in requests), **settings))

    def compare(
        self,
        name: str,
        product: Request | Sequence[Request],
        ceiling: Request | Sequence[Request],
        *,
        at_least: float | None = 0.5,
        with_itself: bool = False,
        **plan: Any,
    ) -> Result:
        """Alternate rounds of product and ceiling under the same load, and report both and their ratio.

        `with_itself`: the ceiling is what the product does with other requests.
        """
        address, pid = (self.address, self.product_pid) if with_itself else (self.ceiling_address, self.ceiling_pid)
        assert address is not None, f"bench.{self.bench} declares no CEILING"
        products, ceilings, ratios = [], [], []
        for _ in range(self.options.rounds):
            ceilings.append(self._round(ceiling, address, pid, plan))
            products.append(self._round(product, self.address, self.product_pid, plan))
            ratios.append(products[-1]["rate_s"] / max(ceilings[-1]["rate_s"], 1e-9))
        ratio = median(ratios)
        figures = {
            "product": _middle(products),
            "ceiling": _middle(ceilings),
            "ratio": round(ratio, 3),
            "ratios": [round(one, 3) for one in ratios],
        }
        return self.report(
            name, figures, target=_at_least(at_least), met=None if at_least is None else ratio >= at_least
        )

    def report(
        self, name: str, figures: dict[str, Any], *, target: str | None = None, met: bool | None = None
    ) -> Result:
        """Keep a result and print its line."""
        result = Result(self.bench, name, figures, target, met)
        self.results.append(result)
        print(describe(result), flush=True)
        return result

    def _round(
        self, requests: Request | Sequence[Request], address: str, pid: int | None, plan: dict[str, Any]
    ) -> dict[str, Any]:
        several = (requests,) if isinstance(requests, Request) else tuple(requests)
        before = cpu_seconds(pid)
        measured = self.load(*several, to=address, **plan).result()
        used = cpu_seconds(pid) - before
        check(measured, f"{self.bench} on {address}")
        return {
            "rate_s": round(measured.rate_s, 1),
            "p50_ms": measured.latencies_ms["p50"],
            "p99_ms": measured.latencies_ms["p99"],
            "cpu_us": round(1e6 * used / max(measured.requests, 1), 1),
            "requests": measured.requests,
        }


def check(measured: Measured, where: str) -> None:
    if not measured.requests or not measured.all_good:
        raise RuntimeError(f"{where}: {measured.statuses or 'no answer'}, {measured.broken} broken connections")


def cpu_seconds(pid: int | None) -> float:
    """What the workers of a server have used so far (not its PostgreSQL)."""
    if pid is None:
        return 0.0
    used = 0.0
    for child in psutil.Process(pid).children():
        if child.name() != "postgres":
            times = child.cpu_times()
            used += times.user + times.system
    return used


def _middle(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The round with the median rate."""
    return sorted(rounds, key=lambda one: one["rate_s"])[len(rounds) // 2]


def _at_least(ratio: float | None) -> str | None:
    return None if ratio is None else f"ratio >= {ratio}"


def describe(result: Result) -> str:
    parts = []
    for name, value in result.figures.items():
        if isinstance(value, dict) and "rate_s" in value:
            value = (
                f"{value['rate_s']:,.0f}/s p50 {value['p50_ms']} ms p99 {value['p99_ms']} ms cpu {value['cpu_us']} µs"
            )
        parts.append(f"{name}: {value}")
    verdict = "" if result.met is None else f"  [{'met' if result.met else 'MISSED'}: {result.target}]"
    return f"{result.bench}: {result.name}\n    " + "\n    ".join(parts) + verdict


@contextmanager
def running(
    bench: str,
    options: Options,
    *,
    has_ceiling: bool,
    home: Path | None = None,
    environment: Mapping[str, str] | None = None,
    log: Path | None = None,
    database: str | None = None,
) -> Iterator[Harness]:
    """The product on a new home, and the ceiling on the same database, each in processes of their own.

    log: where the product writes what it has to say, if not here. database: the address of one, if not the home's.
    """
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="gl-bench-", ignore_cleanup_errors=True))
        home = home or Path(directory) / "home"
        port, ceiling_port = free_port(), free_port()
        address = f"http://127.0.0.1:{port}"
        product = stack.enter_context(
            process(
                [sys.executable, "-m", "gridloom.commands.cli", "serve"],
                {
                    "GRIDLOOM_ENVIRONMENT": "sandbox",
                    "GRIDLOOM_HOME": str(home),
                    "GRIDLOOM_DATABASE_URL": database or "",
                    "GRIDLOOM_PORT": str(port),
                    "GRIDLOOM_WORKERS": str(options.workers),
                    "GRIDLOOM_BOOTSTRAP_USERNAME": USERNAME,
                    "GRIDLOOM_BOOTSTRAP_PASSWORD": PASSWORD,
                    "GRIDLOOM_SIMULATOR": "off",
                    "GRIDLOOM_RATE_LIMIT": "1000000000",
                    "GRIDLOOM_PUBLIC_RATE_LIMIT": "1000000000",
                    "GRIDLOOM_LOG_LEVEL": "warning",
                    **(environment or {}),
                },
                log,
            )
        )
        await_answer(address, "/health/ready", product)
        url, ceiling = database or dsn_of_running(home), None
        if has_ceiling:
            ceiling = stack.enter_context(
                process(
                    [sys.executable, "-m", "bench.ceiling", f"bench.{bench}"],
                    {
                        "BENCH_DATABASE_URL": url,
                        "BENCH_PORT": str(ceiling_port),
                        "BENCH_WORKERS": str(options.workers),
                        "BENCH_POOL_SIZE": "10",
                    },
                )
            )
            await_answer(f"http://127.0.0.1:{ceiling_port}", None, ceiling)
        yield Harness(
            bench,
            address,
            f"http://127.0.0.1:{ceiling_port}" if ceiling else None,
            url,
            options,
            product.pid,
            ceiling.pid if ceiling else None,
        )


@contextmanager
def process(
    command: list[str], environment: dict[str, str], log: Path | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    end = partial(end_with_parent, os.getpid(), signal.SIGTERM)  # a killed bench leaves nothing behind
    environment = {**os.environ, **environment}
    with log.open("ab") if log is not None else nullcontext() as said:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=said, preexec_fn=end)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def await_answer(address: str, path: str | None, process: subprocess.Popen[bytes], seconds: float = 60) -> None:
    """Until the path answers 200, or, without a path, until a process listens."""
    parts = urllib.parse.urlsplit(address)
    deadline = time.monotonic() + seconds
    while True:
        if process.poll() is not None:
            raise RuntimeError(f"the server for {address} ended with {process.returncode}")
        try:
            if path is None:
                socket.create_connection((parts.hostname or "", parts.port or 0), timeout=1).close()
            else:
                Client(address).get(path)
        except (OSError, RuntimeError, http.client.HTTPException):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def write_results(
    results: list[Result], options: Options, versions: Mapping[str, Any] | None = None, prefix: str = ""
) -> list[Path]:
    """One file a bench: what was measured, when, of which commit and on which machine; on which versions of another
    database than the bench's own."""
    RESULTS.mkdir(exist_ok=True)
    written = []
    for bench in sorted({result.bench for result in results}):
        path = RESULTS / f"{prefix}{bench}.json"
        content = {
            "bench": bench,
            "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": _commit(),
            "machine": describe_machine(),
            **({} if versions is None else {"database": dict(versions)}),
            "options": asdict(options),
            "results": [asdict(result) for result in results if result.bench == bench],
        }
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
        written.append(path)
    return written


def describe_machine() -> dict[str, Any]:
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": psutil.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "python": platform.python_version(),
        "load_average": [round(one, 2) for one in os.getloadavg()],
    }


def _processor() -> str:
    """By the name that `lscpu` has for it: on arm64 the system itself has only numbers."""
    try:
        shown = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in shown.splitlines() if line.startswith("Model name")]
    return names[0] if names else platform.machine()


def _commit() -> str | None:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


__all__ = ["NUMBER", "Client", "Harness", "Options", "Organisation", "Request", "Result", "check", "running"]
