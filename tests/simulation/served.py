"""The service as it is deployed: a supervisor with two workers, over HTTP, on the database of a life."""

from __future__ import annotations

import asyncio
import http.client
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import psutil
from tests.ports import free_port
from tests.simulation.calls import Answer

MAX_START_S = 60.0
TIMEOUT_S = 30.0
AWAY = Answer(503, {}, b"")


class ServedProcesses:
    """Started when it is first needed, and ended with the life."""

    def __init__(self, url: str) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="gridloom-life-")
        self._port = free_port()
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GRIDLOOM_")},
            "GRIDLOOM_HOME": self._home.name,
            "GRIDLOOM_PORT": str(self._port),
            "GRIDLOOM_DATABASE_URL": url,
            "GRIDLOOM_ENVIRONMENT": "sandbox",
            "GRIDLOOM_SIMULATOR": "off",
            "GRIDLOOM_WORKERS": "2",
        }
        command = [str(Path(sys.executable).with_name("gridloom")), "serve"]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet, cwd=self._home.name)

    async def await_ready(self) -> None:
        deadline = time.monotonic() + MAX_START_S
        while (await self.call("GET", "/health/ready", {}, b"")).status != 200:
            is_starting = time.monotonic() < deadline and self._process.poll() is None
            assert is_starting, "the service did not start"
            await asyncio.sleep(0.2)

    async def call(self, method: str, target: str, headers: Mapping[str, str], content: bytes) -> Answer:
        """A connection that breaks off counts as an answer that the service is away."""
        return await asyncio.to_thread(self._call_blocking, method, target, dict(headers), content)

    def _call_blocking(self, method: str, target: str, headers: dict[str, str], content: bytes) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=TIMEOUT_S)
        try:
            connection.request(method, target, content, headers)
            said = connection.getresponse()
            return Answer(said.status, {name.lower(): value for name, value in said.getheaders()}, said.read())
        except (OSError, http.client.HTTPException):
            return AWAY
        finally:
            connection.close()

    def kill_worker(self) -> None:
        workers = psutil.Process(self._process.pid).children()
        if workers:
            workers[0].kill()

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._home.cleanup()
