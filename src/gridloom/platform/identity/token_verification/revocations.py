"""Every worker is notified within a second of what ends a caller's rights, or stops using its cache."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import structlog

from gridloom.kernel.tasks import cancel_and_wait
from gridloom.platform.database.errors import DATABASE_ERRORS
from gridloom.platform.identity.store.revocations import CHANNEL

HEARTBEAT_S: Final = 0.4
CACHE_VALID_S: Final = 0.9
"""How long after the last question that was answered the cache may still be believed."""
HEARTBEAT_TIMEOUT_S: Final = 5.0
"""A late answer ends the trust but not the connection: a stalled moment should not empty the cache."""
FIRST_PAUSE_S: Final = 0.05
LAST_PAUSE_S: Final = 2.0

log = structlog.get_logger(__name__)


class RevocationListener:
    """One connection per worker that hears the announcements and proves, twice a second, that it still can."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Any]],
        *,
        heard: Callable[[str], None],
        gap: Callable[[], None],
    ) -> None:
        """`heard` gets each announced subject; `gap` is called when announcements may have been missed."""
        self._connect = connect
        self._heard = heard
        self._gap = gap
        self.trusted_until = 0.0
        self._task: asyncio.Task[None] | None = None

    @property
    def is_current(self) -> bool:
        """Whether everything announced more than a second ago has certainly been heard."""
        return time.monotonic() < self.trusted_until

    def start(self) -> None:
        self._task = asyncio.create_task(self._listen_for_ever(), name="revocations")

    async def stop(self) -> None:
        await cancel_and_wait(self._task)
        self._task = None

    async def _listen_for_ever(self) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                connection = await self._connect()
                try:
                    pause_s = FIRST_PAUSE_S
                    await self._listen_on(connection)
                finally:
                    self.trusted_until = 0.0
                    self._gap()
                    connection.terminate()
            except DATABASE_ERRORS as error:
                log.warning("revocations.disconnected", error=repr(error))
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LAST_PAUSE_S)

    async def _listen_on(self, connection: Any) -> None:
        await connection.add_listener(CHANNEL, self._on_notification)
        # Cached tokens may have been revoked while this process did not listen.
        self._gap()
        while True:
            # An answer to this question comes behind every announcement that was committed before it was asked.
            asked_at = time.monotonic()
            await connection.execute("select 1", timeout=HEARTBEAT_TIMEOUT_S)
            self.trusted_until = asked_at + CACHE_VALID_S
            await asyncio.sleep(HEARTBEAT_S)

    def _on_notification(self, _connection: Any, _pid: int, _channel: str, subject: object) -> None:
        self._heard(str(subject))
