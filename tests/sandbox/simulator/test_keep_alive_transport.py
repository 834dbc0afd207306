"""Requests of the simulator over connections that stay open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx2
import pytest

from gridloom.sandbox.simulator.keep_alive_transport import KeepAliveTransport

pytestmark = pytest.mark.pure

Answer = Callable[[bytes, asyncio.StreamWriter], Awaitable[bool]]
"""Answers one request; False ends the connection."""


class Service:
    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.connections = 0
        self.requests: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        goes_on = True
        while goes_on:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                break
            length = next(
                (line[15:] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b"0"
            )
            self.requests.append(head + await reader.readexactly(int(length)))
            goes_on = await self._answer(self.requests[-1], writer)
        writer.close()


@asynccontextmanager
async def _client_of(answer: Answer, timeout_s: float = 30.0) -> AsyncIterator[tuple[httpx2.AsyncClient, Service]]:
    service = Service(answer)
    server = await asyncio.start_server(service.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        transport = KeepAliveTransport("127.0.0.1", port)
        async with httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", transport=transport, timeout=timeout_s
        ) as client:
            yield client, service
    finally:
        server.close()


async def _say_hello(_: bytes, writer: asyncio.StreamWriter) -> bool:
    writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: "7"\r\n\r\nhello')
    return True


class TestKeepAliveTransport:
    async def test_uses_a_connection_again(self):
        async with _client_of(_say_hello) as (client, service):
            for _ in range(3):
                await client.get("/")
            await asyncio.gather(client.get("/"), client.get("/"))
        assert (len(service.requests), service.connections) == (5, 2)

    async def test_reads_chunks_and_answers_without_a_body(self):
        async def answer(request: bytes, writer: asyncio.StreamWriter) -> bool:
            if request.startswith(b"PUT"):
                writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            else:
                writer.write(
                    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"
                )
            return True

        async with _client_of(answer) as (client, service):
            assert (await client.get("/")).text == "abcde"
            assert (await client.put("/")).content == b""
            assert (await client.get("/")).text == "abcde"
        assert service.connections == 1

    async def test_opens_another_connection_where_the_service_closed_one(self):
        async def answer(request: bytes, writer: asyncio.StreamWriter) -> bool:
            await _say_hello(request, writer)
            await writer.drain()
            return False

        async with _client_of(answer) as (client, service):
            for wanted in (1, 2):
                assert (await client.get("/")).text == "hello"
                assert service.connections == wanted
                while not client._transport._idle[0].reader.at_eof():  # type: ignore[attr-defined]
                    await asyncio.sleep(0)

    async def test_leaves_a_connection_alone_that_the_service_is_about_to_close(self):
        async def answer(_: bytes, writer: asyncio.StreamWriter) -> bool:
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello")
            return True

        async with _client_of(answer) as (client, service):
            for wanted in (1, 2):
                assert (await client.get("/")).text == "hello"
                assert service.connections == wanted

    async def test_reports_a_lost_connection_as_the_client_does(self):
        async def hang_up(_: bytes, writer: asyncio.StreamWriter) -> bool:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel")
            return False

        async with _client_of(hang_up) as (client, _):
            with pytest.raises(httpx2.ReadError):
                await client.get("/")

    async def test_does_not_wait_for_ever(self):
        async def stay_silent(_: bytes, __: asyncio.StreamWriter) -> bool:
            return True

        async with _client_of(stay_silent, timeout_s=0.01) as (client, _):
            with pytest.raises(httpx2.ReadTimeout):
                await client.get("/")

    async def test_tells_that_no_service_is_there(self):
        async with _client_of(_say_hello) as (client, _):
            port = client.base_url.port
        async with httpx2.AsyncClient(transport=KeepAliveTransport("127.0.0.1", port or 0)) as client:
            with pytest.raises(httpx2.ConnectError):
                await client.get(f"http://127.0.0.1:{port}/")
