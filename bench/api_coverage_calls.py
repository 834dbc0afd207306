"""The calls of the API coverage run: who calls, which ids are known, and the result of each call."""

from __future__ import annotations

import http.client
import json
import time
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gridloom.platform.http import Operation

TIMEOUT_S = 180
"""Generous: a move of the clock answers when all that fell due on the way has happened."""


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
        is_text = isinstance(body, str)
        content = None if body is None else (body if is_text else json.dumps(body)).encode()
        if content is not None:
            headers.setdefault("Content-Type", "text/plain" if is_text else "application/json")
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
