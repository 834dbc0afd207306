"""A reader of server-sent events that drives the service in this process, chunk by chunk."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from gridloom.platform.http.application import Application


@dataclass(frozen=True)
class Told:
    id: int | None
    type: str | None
    data: Any


class Reader:
    """`async with Reader(edge, token, "/events?types=…")`; `await reader.next()` gives what is told, skipping beats."""

    def __init__(
        self,
        edge: Application,
        token: str,
        target: str = "/events",
        last_event_id: int | str | None = None,
        accept: str = "text/event-stream",
    ) -> None:
        self.edge = edge
        parts = urlsplit(target)
        headers = [(b"authorization", f"Bearer {token}".encode()), (b"accept", accept.encode())]
        if last_event_id is not None:
            headers.append((b"last-event-id", str(last_event_id).encode()))
        self.scope = {
            "type": "http",
            "method": "GET",
            "path": parts.path,
            "query_string": parts.query.encode(),
            "headers": headers,
            "client": ("127.0.0.1", 1),
        }
        self.status = 0
        self.place: int | None = None
        self._body = b""
        self._heard: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._started = asyncio.Event()
        self._gone = asyncio.Event()

    async def __aenter__(self) -> Reader:
        self._task = asyncio.create_task(self.edge(self.scope, self._receive, self._send))
        await asyncio.wait_for(self._started.wait(), 120)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._gone.set()
        await asyncio.wait_for(self._task, 120)

    async def _receive(self) -> dict[str, Any]:
        if not self._started.is_set():
            await self._started.wait()
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._started.set()
            return
        self._heard.put_nowait(message["body"])
        if not message.get("more_body"):
            self._heard.put_nowait(None)

    async def frame(self, seconds: float = 20) -> str | None:
        """The next frame; None when the stream has ended."""
        while b"\n\n" not in self._body:
            chunk = await asyncio.wait_for(self._heard.get(), seconds)
            if chunk is None:
                return None
            self._body += chunk
        frame, _, self._body = self._body.partition(b"\n\n")
        return frame.decode()

    async def next(self, seconds: float = 60) -> Told | None:
        """The next event; None when the stream has ended. Heartbeats do not put the end of patience off."""
        async with asyncio.timeout(seconds):
            while (frame := await self.frame(seconds)) is not None:
                fields = dict(line.split(": ", 1) for line in frame.splitlines() if not line.startswith(":"))
                if "id" in fields:
                    self.place = int(fields["id"])
                if "data" in fields:
                    return Told(self.place, fields.get("event"), json.loads(fields["data"]))
        return None

    async def many(self, count: int) -> list[Told]:
        told = [await self.next() for _ in range(count)]
        assert None not in told
        return [one for one in told if one is not None]

    async def nothing(self, seconds: float = 0.3) -> bool:
        try:
            return await self.next(seconds) is None
        except TimeoutError:
            return True
