"""The line between a gateway and its service, which can be lost."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress

from tests.ports import free_port

TIME_REQUESTS = (b"GET /sandbox/clock ", b"GET /health/live ")
"""Of a test's time machine, which goes on when the line is lost."""


class Line:
    """Forwards connections to the service; while it is lost, nothing gets through but the time."""

    def __init__(self, service_port: int) -> None:
        self.port, self._service_port = free_port(), service_port
        self.is_lost = False
        self.clock_reads = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._thread.start()
        serving = asyncio.start_server(self._serve, "127.0.0.1", self.port)
        asyncio.run_coroutine_threadsafe(serving, self._loop).result(10)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._close_all)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _close_all(self) -> None:
        for writer in self._writers:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with suppress(OSError):
            service_reader, service_writer = await asyncio.open_connection("127.0.0.1", self._service_port)
            await asyncio.gather(
                self._forward(reader, service_writer, is_request=True),
                self._forward(service_reader, writer, is_request=False),
            )
        writer.close()
        self._writers.discard(writer)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_request: bool) -> None:
        is_time = True
        with suppress(OSError):
            while data := await reader.read(65536):
                if is_request:
                    is_time = data.startswith(TIME_REQUESTS)
                    self.clock_reads += data.startswith(TIME_REQUESTS[0])
                if self.is_lost and not is_time:
                    break
                writer.write(data)
                await writer.drain()
        writer.close()
