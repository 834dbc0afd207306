"""Server-sent events over plain sockets: as many readers as asked for, in one event loop."""

from __future__ import annotations

import asyncio
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass

Heard = Callable[[int, str, float], None]
"""Called with the event's place, its data and when it came (`time.perf_counter`)."""


class RequestRejected(Exception):
    """The service answered something else than a stream."""


@dataclass
class Follower:
    """One open stream; `place` is where it would go on."""

    address: str
    token: str
    heard: Heard
    place: int | None = None
    is_open: bool = False

    async def follow(self) -> None:
        """Read until the connection ends."""
        parts = urllib.parse.urlsplit(self.address)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        try:
            resume = "" if self.place is None else f"Last-Event-ID: {self.place}\r\n"
            writer.write(
                f"GET /events HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {self.token}\r\n"
                f"Accept: text/event-stream\r\n{resume}\r\n".encode()
            )
            status = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1]
            if status != b"200":
                raise RequestRejected(status.decode())
            await self._read(reader)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            self.is_open = False
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        text = b""
        while True:
            size = int((await reader.readline()).strip() or b"0", 16)
            if size == 0:
                return
            text += (await reader.readexactly(size + 2))[:-2]
            came = time.perf_counter()
            *frames, text = text.split(b"\n\n")
            for frame in frames:
                self._take(frame.decode(), came)

    def _take(self, frame: str, came: float) -> None:
        self.is_open = True
        fields = dict(line.split(": ", 1) for line in frame.split("\n") if ": " in line)
        if "id" in fields:
            self.place = int(fields["id"])
        if "data" in fields and self.place is not None:
            self.heard(self.place, fields["data"], came)
