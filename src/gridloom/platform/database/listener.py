"""The one connection per process that listens: notifications of any channel, fanned out in memory."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress

import asyncpg
import structlog

from gridloom.kernel.tasks import cancel_and_wait
from gridloom.platform.database.errors import DATABASE_ERRORS

log = structlog.get_logger()

NotificationHandler = Callable[[str | None], None]
"""Called with a notification's payload, or with None when the connection is new and something may have been missed."""

MIN_BACKOFF_S = 0.1
MAX_BACKOFF_S = 1.0
PROBE_EVERY_S = 20.0


class Listener:
    """Keeps one listening connection alive and passes notifications to its subscribers.

    PostgreSQL stores no notification for a client that is not connected. So after each (re)connect every subscriber is
    called with None and reads the tables again; between two such calls no notification is missed.
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._subscribers: dict[str, list[NotificationHandler]] = defaultdict(list)
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None
        self._task: asyncio.Task[None] | None = None
        self._lost = asyncio.Event()
        self.connected = asyncio.Event()

    def subscribe(self, channel: str, heard: NotificationHandler) -> None:
        """To be called before `start`: the set of channels is part of the program, not of its state."""
        assert self._task is None, "subscribe before the listener starts"
        self._subscribers[channel].append(heard)

    async def start(self) -> None:
        self._task = asyncio.create_task(self._keep_listening(), name="listener")

    async def stop(self) -> None:
        await cancel_and_wait(self._task)
        self._task = None
        await self._close_connection()

    async def _keep_listening(self) -> None:
        pause_s = MIN_BACKOFF_S
        while True:
            try:
                await self._open_connection()
                pause_s = MIN_BACKOFF_S
                await self._probe_connection()
            except Exception as error:  # noqa: BLE001  # it must outlive whatever happens to it
                log.warning("listener.disconnected", error=repr(error), retry_in_s=pause_s)
            await self._close_connection()
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, MAX_BACKOFF_S)

    async def _open_connection(self) -> None:
        self._lost.clear()
        connection = await asyncpg.connect(
            self._dsn, timeout=10, server_settings={"application_name": "gridloom listener"}
        )
        self._connection = connection
        connection.add_termination_listener(lambda _: self._lost.set())
        for channel in self._subscribers:
            await connection.add_listener(channel, self._on_notification)
        self.connected.set()
        for subscribers in self._subscribers.values():
            for heard in subscribers:
                heard(None)

    async def _probe_connection(self) -> None:
        """A peer that vanished without a word shows only when it is asked."""
        assert self._connection is not None
        while not self._lost.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(PROBE_EVERY_S):
                    await self._lost.wait()
                return
            await self._connection.execute("select 1", timeout=5)

    async def _close_connection(self) -> None:
        self.connected.clear()
        if self._connection is not None:
            with suppress(*DATABASE_ERRORS):
                await self._connection.close(timeout=2)
            self._connection = None

    def _on_notification(self, _connection: object, _pid: int, channel: str, payload: object) -> None:
        for heard in self._subscribers[channel]:
            heard(str(payload))
