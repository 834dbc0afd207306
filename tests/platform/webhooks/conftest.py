"""A receiver of webhooks on this machine, and a service with a database of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

Answering = Callable[["Received"], bytes]

OK = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"


def answer(status: int, body: bytes = b"", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass(frozen=True)
class Received:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """Takes calls, keeps them, and answers as it is told."""

    url: str = ""
    calls: list[Received] = field(default_factory=list)
    answering: Answering = lambda _call: OK
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def wait(self, count: int, seconds: float = 20) -> list[Received]:
        async with asyncio.timeout(seconds), self.arrived:
            await self.arrived.wait_for(lambda: len(self.calls) >= count)
        return self.calls

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {line.split(": ", 1)[0].lower(): line.split(": ", 1)[1] for line in head[1:] if line}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            call = Received(head[0].split(" ")[1], headers, body)
            self.calls.append(call)
            writer.write(self.answering(call))
            await writer.drain()
            async with self.arrived:
                self.arrived.notify_all()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    server = await asyncio.start_server(receiver.handle, "127.0.0.1", 0)
    receiver.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
    try:
        yield receiver
    finally:
        server.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as one:
        yield one
