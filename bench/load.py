"""A load generator in a process of its own: keep-alive connections, one request at a time on each, nothing but sockets.

Started by the harness as `python -m bench.load`; a plan comes in on standard input as JSON, what was measured goes out.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import urlsplit

NUMBER_WIDTH = 12
NUMBER = "{{n}}" + "_" * (NUMBER_WIDTH - 5)  # as long as what replaces it, so that lengths stay right


@dataclass(frozen=True)
class Request:
    """One request; `NUMBER` in its path, headers or body becomes another number each time."""

    method: str
    path: str
    token: str | None = None
    json: Any = None
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def raw(self, host: str) -> bytes:
        body = self.body if self.body is not None else b"" if self.json is None else json.dumps(self.json).encode()
        headers = {"Host": host, **self.headers}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        if self.json is not None:
            headers.setdefault("Content-Type", "application/json")
        if body or self.method in ("POST", "PUT", "PATCH"):
            headers["Content-Length"] = str(len(body))
        lines = [f"{self.method} {self.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass(frozen=True)
class Plan:
    address: str
    requests: tuple[bytes, ...]
    connections: int = 32
    seconds: float = 5.0
    warm_up_s: float = 1.0  # pools fill, statements are prepared
    rate_s: float | None = None  # requests a second over all connections; as many as go when None


@dataclass(frozen=True)
class Measured:
    requests: int
    seconds: float
    statuses: dict[str, int]
    broken: int  # connections that ended in the middle of a request
    latencies_ms: dict[str, float]

    @property
    def rate_s(self) -> float:
        return self.requests / self.seconds

    @property
    def all_good(self) -> bool:
        return self.broken == 0 and all(status.startswith("2") for status in self.statuses)


class Connection(asyncio.Protocol):
    """One keep-alive connection that asks again as soon as it is answered."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.buffer = b""
        self.asked_at = 0.0
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.run.open.add(self)
        self.ask_soon()

    def ask_soon(self) -> None:
        pause = self.run.pause()
        if pause > 0:
            asyncio.get_running_loop().call_later(pause, self.ask)
        else:
            self.ask()

    def ask(self) -> None:
        if self.transport is None or self.run.is_over:
            if self.transport is not None:
                self.transport.close()
            return
        self.asked_at = time.perf_counter()
        self.transport.write(self.run.next_request())

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        length = _answer_length(self.buffer)
        if length is None or len(self.buffer) < length:
            return
        status = self.buffer[9:12].decode()
        is_last = b"\r\nconnection: close" in self.buffer[: self.buffer.find(b"\r\n\r\n")].lower()
        self.buffer = self.buffer[length:]
        self.run.record(status, self.asked_at)
        self.asked_at = 0.0
        if is_last and self.transport is not None:
            self.transport.close()
        else:
            self.ask_soon()

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self.run.open.discard(self)
        if self.asked_at:
            self.run.broken += 1
        if not self.run.is_over:
            self.run.reconnect()


class Run:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.numbers = count(time.time_ns() % 10**8 * 10_000)
        self.turn = 0
        self.latencies: list[float] = []
        self.statuses: Counter[str] = Counter()
        self.broken = 0
        self.open: set[Connection] = set()
        self.is_over = False
        self.started = 0.0
        self.paced = 0
        self.tasks: set[asyncio.Task[Any]] = set()
        parts = urlsplit(plan.address)
        self.host, self.port = parts.hostname or "127.0.0.1", parts.port or 80

    def next_request(self) -> bytes:
        request = self.plan.requests[self.turn]
        self.turn = (self.turn + 1) % len(self.plan.requests)
        if b"{{n}}" in request:
            request = request.replace(
                NUMBER.encode(), f"{next(self.numbers) % 10**NUMBER_WIDTH:0{NUMBER_WIDTH}d}".encode()
            )
        return request

    def pause(self) -> float:
        if self.plan.rate_s is None:
            return 0.0
        self.paced += 1
        return self.started + self.paced / self.plan.rate_s - time.perf_counter()

    def record(self, status: str, asked_at: float) -> None:
        now = time.perf_counter()
        if asked_at - self.started >= self.plan.warm_up_s and not self.is_over:
            self.latencies.append(now - asked_at)
            self.statuses[status] += 1

    def reconnect(self) -> None:
        task = asyncio.ensure_future(self.connect())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def connect(self) -> None:
        while not self.is_over:
            try:
                await asyncio.get_running_loop().create_connection(lambda: Connection(self), self.host, self.port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                return

    async def run(self) -> Measured:
        self.started = time.perf_counter()
        await asyncio.gather(*(self.connect() for _ in range(self.plan.connections)))
        await asyncio.sleep(self.plan.warm_up_s + self.plan.seconds)
        self.is_over = True
        seconds = time.perf_counter() - self.started - self.plan.warm_up_s
        for _ in range(100):
            if not any(connection.asked_at for connection in self.open):
                break
            await asyncio.sleep(0.05)
        for connection in list(self.open):
            connection.asked_at = 0.0
            if connection.transport is not None:
                connection.transport.abort()
        ordered = sorted(self.latencies)
        return Measured(
            requests=len(ordered),
            seconds=seconds,
            statuses=dict(self.statuses),
            broken=self.broken,
            latencies_ms={
                name: round(1000 * ordered[min(len(ordered) - 1, int(len(ordered) * share))], 3) if ordered else 0.0
                for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))
            },
        )


def _answer_length(buffer: bytes) -> int | None:
    """How long the answer at the start of the buffer is; None when that cannot be told yet."""
    head = buffer.find(b"\r\n\r\n")
    if head < 0:
        return None
    headers = buffer[:head].lower()
    at = headers.find(b"\r\ncontent-length:")
    if at >= 0:
        end = headers.find(b"\r\n", at + 2)
        return head + 4 + int(headers[at + 17 : end if end >= 0 else None])
    if b"\r\ntransfer-encoding: chunked" in headers:
        end = buffer.find(b"\r\n0\r\n\r\n", head + 2)
        return None if end < 0 else end + 7
    return head + 4


class Load:
    """A running load; `result` waits for its end."""

    def __init__(self, plan: Plan) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bench.load"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdin is not None
        written = dataclasses.asdict(plan) | {"requests": [request.decode("latin-1") for request in plan.requests]}
        self.process.stdin.write(json.dumps(written))
        self.process.stdin.close()
        self.process.stdin = None

    def result(self) -> Measured:
        out, _ = self.process.communicate()
        if self.process.returncode:
            raise RuntimeError("the load generator failed")
        return Measured(**json.loads(out))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def main() -> None:
    written = json.load(sys.stdin)
    written["requests"] = tuple(request.encode("latin-1") for request in written["requests"])
    measured = asyncio.run(Run(Plan(**written)).run())
    json.dump(dataclasses.asdict(measured), sys.stdout)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
