"""HTTP/1.1 over connections that stay open, for a client of one service on the same machine.

The simulator sends some 150 small requests for each simulated day, one step after the other. With the general client
below the SDK two thirds of its processor time went into pooling, cancellation scopes and parsing.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import httpx2

MAX_HEAD_BYTES = 64 * 1024
BODILESS = (204, 304)


class Connection(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class KeepAliveTransport(httpx2.AsyncBaseTransport):
    """As many connections as there are requests at a time; a request takes the one that was used last."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._idle: list[Connection] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        message = _write_request(request, await request.aread())
        connection = self._pop_idle() or await self._open_connection()
        is_reusable = False
        try:
            async with asyncio.timeout(request.extensions["timeout"]["read"]):
                connection.writer.write(message)
                await connection.writer.drain()
                response, is_reusable = await _read_response(connection.reader)
        except TimeoutError as fault:
            raise httpx2.ReadTimeout("no answer in time", request=request) from fault
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as fault:
            raise httpx2.ReadError(str(fault), request=request) from fault
        finally:
            if is_reusable:
                self._idle.append(connection)
            else:
                connection.writer.close()
        return response

    async def aclose(self) -> None:
        while self._idle:
            self._idle.pop().writer.close()

    def _pop_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.reader.at_eof():
                return connection
            connection.writer.close()  # the service has closed it meanwhile
        return None

    async def _open_connection(self) -> Connection:
        try:
            return Connection(*await asyncio.open_connection(self._host, self._port, limit=MAX_HEAD_BYTES))
        except OSError as fault:
            raise httpx2.ConnectError(str(fault)) from fault


def _write_request(request: httpx2.Request, body: bytes) -> bytes:
    lines = [b"%s %s HTTP/1.1" % (request.method.encode(), request.url.raw_path)]
    # Nothing is compressed on its way to a process of the same machine.
    lines += [b"%s: %s" % (name, value) for name, value in request.headers.raw if name.lower() != b"accept-encoding"]
    return b"\r\n".join([*lines, b"", body])


async def _read_response(reader: asyncio.StreamReader) -> tuple[httpx2.Response, bool]:
    """The response, and whether the connection can be used again."""
    status_line, *lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[:-2]
    status = int(status_line.split(b" ", 2)[1])
    headers = [(name, value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
    known = {name.lower(): value.lower() for name, value in headers}
    body = b""
    if status not in BODILESS:
        is_chunked = known.get(b"transfer-encoding") == b"chunked"
        body = await (_read_chunks(reader) if is_chunked else reader.readexactly(int(known[b"content-length"])))
    return httpx2.Response(status, headers=headers, content=body), known.get(b"connection") != b"close"


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    parts = []
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # trailers
    return b"".join(parts)
