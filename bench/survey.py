"""`python -m bench.survey [database address]`: drives every operation once, and prints what came of it.

The service is started on the database that is named (an empty one, or a sandbox that may get a few organisations more
and is emptied at the end), or on one of its own. The same scenes run on a plain PostgreSQL, on a primary with a standby
(GRIDLOOM_READ_DATABASE_URL) and on a distributed one; so what fails on one of them alone is the database's doing.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.harness import PASSWORD, USERNAME, await_answer, free_port, process
from bench.survey_scenes import SCENES
from gridloom.app import ROOMS, SANDBOX_ROOMS
from gridloom.edge import Operation, operations_of

TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class Line:
    operation: str
    status: int
    took_ms: float
    said: str


@dataclass
class Survey:
    """Who calls, what is known of the world so far, and what has come of each call."""

    address: str
    operations: Mapping[str, Operation]
    ids: dict[str, Any] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)

    def call(
        self,
        operation_id: str,
        body: Any = None,
        *,
        by: str | None = "operator",
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        until: bytes | None = None,
        expect: int | None = None,
        **ids: Any,
    ) -> Any:
        """Call an operation with the ids that are known, and note what came; `until` reads a stream so far."""
        operation = self.operations[operation_id]
        path = operation.path.format_map({**self.ids, **ids})
        if query:
            path += "?" + urllib.parse.urlencode(query)
        begun = time.perf_counter()
        try:
            status, text, sent = self._send(operation.method, path, body, by, dict(headers or {}), until)
        except (OSError, http.client.HTTPException) as error:
            status, text, sent = 0, repr(error).encode(), {}
        took_ms = 1000 * (time.perf_counter() - begun)
        is_good = 200 <= status < 400 if expect is None else status == expect
        self.lines.append(Line(operation_id, status, took_ms, "" if is_good else text.decode(errors="replace")[:400]))
        self.ids["ETag"] = sent.get("ETag", "")
        self.ids["Cookie"] = sent.get("Set-Cookie", "").partition(";")[0]
        try:
            return json.loads(text) if is_good and text else {}
        except ValueError:
            return {}

    def _send(
        self, method: str, path: str, body: Any, by: str | None, headers: dict[str, str], until: bytes | None
    ) -> tuple[int, bytes, dict[str, str]]:
        parts = urllib.parse.urlsplit(self.address)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=TIMEOUT_S)
        if by is not None and by in self.tokens:
            headers["Authorization"] = f"Bearer {self.tokens[by]}"
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            headers.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path, content, headers)
            answer = connection.getresponse()
            text = answer.read() if until is None or answer.status >= 400 else _read_until(answer, until)
            return (
                answer.status,
                text,
                {name.title() if name != "etag" else "ETag": v for name, v in answer.getheaders()},
            )
        finally:
            connection.close()

    def wait_for(self, operation_id: str, wanted: Any, seconds: float = 30, **how: Any) -> Any:
        """Call until `wanted(answer)`: each call is a line of its own only if it fails."""
        deadline = time.monotonic() + seconds
        while True:
            answer = self.call(operation_id, **how)
            if wanted(answer) or self.lines[-1].said or time.monotonic() > deadline:
                return answer
            self.lines.pop()
            time.sleep(0.2)


def _read_until(answer: http.client.HTTPResponse, wanted: bytes) -> bytes:
    read = b""
    while wanted not in read:
        piece = answer.read1(65536)
        if not piece:
            break
        read += piece
    return b""


def survey(address: str) -> list[Line]:
    operations = {operation.operation_id: operation for operation in operations_of(*ROOMS, *SANDBOX_ROOMS)}
    world = Survey(address, operations)
    for scene in SCENES:
        try:
            scene(world)
        except (KeyError, IndexError, TypeError) as error:  # what an earlier call should have brought is not there
            world.lines.append(Line(f"({scene.__name__})", 0, 0.0, f"went no further: {error!r}"))
    driven = {line.operation for line in world.lines}
    missing = [Line(name, 0, 0.0, "was not driven") for name in operations if name not in driven]
    return world.lines + missing


def report(lines: list[Line]) -> int:
    width = max(len(line.operation) for line in lines)
    for line in lines:
        print(f"{line.operation:{width}}  {line.status or '---'}  {line.took_ms:8.1f} ms  {line.said}".rstrip())
    failed = [line for line in lines if line.said]
    driven = len({line.operation for line in lines if line.status})
    print(f"\n{driven} operations, {len(lines)} calls, {len(failed)} not as they should be")
    return 1 if failed else 0


def main() -> int:
    database = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("GRIDLOOM_DATABASE_URL") or None
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="gl-survey-", ignore_cleanup_errors=True))
        port = free_port()
        environment = {
            "GRIDLOOM_ENVIRONMENT": "sandbox",
            "GRIDLOOM_PORT": str(port),
            "GRIDLOOM_WORKERS": "1",
            "GRIDLOOM_BOOTSTRAP_USERNAME": USERNAME,
            "GRIDLOOM_BOOTSTRAP_PASSWORD": PASSWORD,
            "GRIDLOOM_SIMULATOR": "off",
            "GRIDLOOM_LOG_LEVEL": "warning",
            "GRIDLOOM_HOME": str(Path(directory) / "home"),
            "GRIDLOOM_METRICS_TOKEN": "survey",
        }
        if database:
            environment["GRIDLOOM_DATABASE_URL"] = database
        product = stack.enter_context(process([sys.executable, "-m", "gridloom.cli", "serve"], environment))
        address = f"http://127.0.0.1:{port}"
        await_answer(address, "/health/ready", product)
        return report(survey(address))


if __name__ == "__main__":
    sys.exit(main())
