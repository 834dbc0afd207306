"""The service as people run it: `gridloom serve` in processes of its own, on a home and a port of its own."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from tests.ports import free_port

USERNAME, PASSWORD = "journey-operator", "a long journey password 7"


def wait_until(condition: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


class Service:
    def __init__(self, home: Path, port: int, **environment: str) -> None:
        self.home, self.port = home, port
        self.log = home.parent / f"{home.name}-{port}.log"
        self.environment = {
            **os.environ,
            "GRIDLOOM_HOME": str(home),
            "GRIDLOOM_PORT": str(port),
            "GRIDLOOM_WORKERS": "2",
            "GRIDLOOM_SIMULATOR": "off",
            "GRIDLOOM_BOOTSTRAP_USERNAME": USERNAME,
            "GRIDLOOM_BOOTSTRAP_PASSWORD": PASSWORD,
            "GRIDLOOM_RATE_LIMIT": "1000000000",
            "GRIDLOOM_PUBLIC_RATE_LIMIT": "1000000000",
            "GRIDLOOM_LOG_LEVEL": "warning",
            **environment,
        }
        self.process: subprocess.Popen[bytes] | None = None

    def launch(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "gridloom.commands.cli", "serve"], env=self.environment, stdout=out, stderr=out
            )
        return self.process

    def start(self) -> float:
        """Start and wait until it is ready; the seconds that took."""
        began = time.monotonic()
        process = self.launch()
        wait_until(lambda: self.is_ready() or process.poll() is not None)
        assert process.poll() is None, self.log.read_text()
        return time.monotonic() - began

    def is_ready(self) -> bool:
        try:
            return self.call("GET", "/health/ready")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    @property
    def supervisor(self) -> psutil.Process:
        assert self.process is not None
        return psutil.Process(self.process.pid)

    def tree(self) -> list[psutil.Process]:
        return [self.supervisor, *self.supervisor.children(recursive=True)]

    def workers(self) -> list[psutil.Process]:
        return [child for child in self.supervisor.children() if is_alive(child) and name_of(child) != "postgres"]

    def postgres(self) -> psutil.Process:
        return next(child for child in self.supervisor.children() if name_of(child) == "postgres")

    def stop(self, sign: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(sign)
        return self.process.wait(60)

    def kill_everything(self) -> None:
        tree = self.tree()
        for process in tree:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        assert self.process is not None
        self.process.wait()
        wait_until(lambda: not any(is_alive(process) for process in tree))

    def call(
        self, method: str, path: str, body: Any = None, token: str | None = None, **headers: str
    ) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        if body is not None:
            sent["Content-Type"] = "application/json"
        try:
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        return answer.status, json.loads(text) if text else None

    def operator_token(self) -> str:
        status, answer = self.call("POST", "/auth/public/authenticate", {"username": USERNAME, "password": PASSWORD})
        assert status == 200, answer
        token: str = answer["access_token"]
        return token


def is_alive(process: psutil.Process) -> bool:
    """A zombie that waits for its adopting parent is dead."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def name_of(process: psutil.Process) -> str:
    try:
        return str(process.name())
    except psutil.NoSuchProcess:
        return ""


@contextmanager
def a_service(**environment: str) -> Iterator[Service]:
    with tempfile.TemporaryDirectory(prefix="gl-", ignore_cleanup_errors=True) as directory:
        service = Service(Path(directory) / "home", free_port(), **environment)
        try:
            yield service
        finally:
            if service.process is not None and service.process.poll() is None:
                service.kill_everything()
