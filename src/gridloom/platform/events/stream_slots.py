"""Slots for open event streams: so many of an organisation on all replicas together, held by leases."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

import structlog

from gridloom.kernel.ids import uuid7
from gridloom.kernel.shares import Share, ShareExceeded
from gridloom.kernel.tasks import cancel_and_wait
from gridloom.platform.database.errors import DATABASE_ERRORS
from gridloom.platform.events import slot_store as store
from gridloom.platform.http import Request
from gridloom.platform.http.shares import ShareUse

if TYPE_CHECKING:
    from gridloom.platform.database.pool import Database, Pool

log = structlog.get_logger()

LEASE: Final = timedelta(seconds=60)
"""How long the streams of a process that died still count."""
RENEWAL_INTERVAL_S: Final = 20.0
REPORT_DELAY_S: Final = 0.1
"""Closed streams are reported together."""
FULL_RETRY_S: Final = 30


class StreamSlot:
    """One open stream, until it is released; at the latest when nothing refers to it any more."""

    __slots__ = ("_is_held", "_organisation_id", "_slots")

    def __init__(self, slots: StreamSlots, organisation_id: UUID) -> None:
        self._slots, self._organisation_id = slots, organisation_id
        self._is_held = True

    def __enter__(self) -> StreamSlot:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        if self._is_held:
            self._is_held = False
            self._slots.give_back(self._organisation_id)

    def __del__(self) -> None:
        self.release()


class StreamSlots:
    """The open streams of this worker process. It reports its counts; PostgreSQL adds them up under a lock."""

    def __init__(self, pool: Pool, max_streams: int) -> None:
        self._pool = pool
        self._max_streams = max_streams
        self._worker_id = uuid7()
        self._open: Counter[UUID] = Counter()
        self._taking: defaultdict[UUID, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._closed: dict[UUID, None] = {}
        self._has_closed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def take(self, request: Request) -> StreamSlot:
        """A slot for one more stream of the caller's organisation; 429 where it has none left on any replica."""
        organisation_id = request.caller.organisation_id
        if request.holder is not None:
            async with self._taking[organisation_id]:
                own = self._open[organisation_id] + 1
                if not await store.take_slot(
                    self._pool, organisation_id, self._worker_id, own, self._max_streams, LEASE
                ):
                    raise ShareExceeded(
                        Share.EVENT_STREAMS,
                        self._max_streams,
                        f"Your organisation has {self._max_streams} open streams; close one first.",
                        FULL_RETRY_S,
                    )
                self._open[organisation_id] += 1
                return StreamSlot(self, organisation_id)
        self._open[organisation_id] += 1
        return StreamSlot(self, organisation_id)

    def give_back(self, organisation_id: UUID) -> None:
        self._open[organisation_id] -= 1
        self._closed[organisation_id] = None
        self._has_closed.set()

    async def read_use(self, db: Database, organisation_id: UUID) -> ShareUse:
        return ShareUse(used=await store.count_streams(db, organisation_id), limit=self._max_streams)

    def start(self) -> None:
        self._task = asyncio.create_task(self._report_for_ever(), name="stream slots")

    async def stop(self) -> None:
        await cancel_and_wait(self._task)
        with suppress(*DATABASE_ERRORS):
            await store.delete_worker(self._pool, self._worker_id)

    async def _report_for_ever(self) -> None:
        loop = asyncio.get_running_loop()
        renewal_at = loop.time() + RENEWAL_INTERVAL_S
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(renewal_at):
                    await self._has_closed.wait()
                    await asyncio.sleep(REPORT_DELAY_S)
            self._has_closed.clear()
            is_renewal = loop.time() >= renewal_at
            changed, self._closed = list(self._open if is_renewal else self._closed), {}
            if is_renewal:
                renewal_at = loop.time() + RENEWAL_INTERVAL_S
            try:
                for organisation_id in changed:
                    await self._report_open(organisation_id)
            except DATABASE_ERRORS as error:
                log.warning("streams.report_failed", error=repr(error))
                await asyncio.sleep(1.0)
                self._closed.update(dict.fromkeys(changed))

    async def _report_open(self, organisation_id: UUID) -> None:
        async with self._taking[organisation_id]:
            streams = self._open[organisation_id]
            await store.put_streams(self._pool, organisation_id, self._worker_id, streams, LEASE)
            if not streams and not self._open[organisation_id]:
                del self._open[organisation_id]
        if organisation_id not in self._open and not self._taking[organisation_id].locked():
            del self._taking[organisation_id]
