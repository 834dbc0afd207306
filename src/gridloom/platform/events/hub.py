"""From one listening connection to every open stream of this process: who waits is woken, what is read is read once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from uuid import UUID

import structlog
from prometheus_client import Gauge

from gridloom.platform.database.errors import DATABASE_ERRORS
from gridloom.platform.events import store
from gridloom.platform.events.model import SequencedEvent
from gridloom.platform.events.waking import Waker

if TYPE_CHECKING:
    from gridloom.platform.database.listener import Listener
    from gridloom.platform.database.pool import Pool

log = structlog.get_logger()

MAX_BATCH_SIZE = 200
READ_CACHE_TTL_S = 0.5
"""How long streams at the same position share one reading: no longer than a grant taken back may go unnoticed."""
PERMISSION_CACHE_DELAY_S = 1.0
"""How long after an announcement of changed rights every cache in this process has certainly heard of it."""


STREAMS = Gauge("gridloom_event_streams", "Open streams of events", multiprocess_mode="livesum")


class OrganisationFeed:
    """One organisation's order, as the open streams of this process follow it."""

    def __init__(self, pool: Pool, organisation_id: UUID) -> None:
        self.organisation_id = organisation_id
        self.streams: set[asyncio.Event] = set()
        """The condition that each stream waits for."""
        self.head = 0
        self._pool = pool
        self._readings: dict[int, tuple[float, asyncio.Task[list[SequencedEvent]]]] = {}

    async def read(self, after: int) -> list[SequencedEvent]:
        """The next events after a position. Streams at the same position share the query."""
        now = time.monotonic()
        self._readings = {
            place: (at, reading) for place, (at, reading) in self._readings.items() if now - at < READ_CACHE_TTL_S
        }
        known = self._readings.get(after)
        if known is None:
            reading = asyncio.create_task(
                store.read_events(self._pool, self.organisation_id, after, MAX_BATCH_SIZE), name="read events"
            )
            known = self._readings[after] = (now, reading)
        events = await asyncio.shield(known[1])
        if not events:
            self._readings.pop(after, None)
        return events


class EventHub:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._channels: dict[UUID, OrganisationFeed] = {}
        self._waker = Waker()
        self._chores: set[asyncio.Task[None]] = set()

    def attach(self, listener: Listener) -> None:
        listener.subscribe(store.CHANNEL, self._on_events)

    @asynccontextmanager
    async def follow(self, organisation_id: UUID) -> AsyncIterator[tuple[OrganisationFeed, asyncio.Event]]:
        """The organisation's order, and what is set when there may be something new."""
        channel = self._channels.setdefault(organisation_id, OrganisationFeed(self._pool, organisation_id))
        changed = asyncio.Event()
        channel.streams.add(changed)
        STREAMS.inc()
        try:
            heads = await store.last_sequences(self._pool, [organisation_id])
            channel.head = max(channel.head, heads.get(organisation_id, 0))
            yield channel, changed
        finally:
            channel.streams.discard(changed)
            STREAMS.dec()
            if not channel.streams:
                del self._channels[organisation_id]

    def rights_changed(self) -> None:
        """Have every stream reauthenticate its caller, once the cache of callers has been evicted."""
        asyncio.get_running_loop().call_later(PERMISSION_CACHE_DELAY_S, self._wake_all)

    def _wake_all(self) -> None:
        for channel in self._channels.values():
            self._wake_streams(channel)

    def _wake_streams(self, channel: OrganisationFeed) -> None:
        self._waker.wake(channel.organisation_id, channel.streams)

    def _on_events(self, payload: str | None) -> None:
        if payload is None or payload == "*":
            chore = asyncio.create_task(self._poll_all(), name="poll every order")
            self._chores.add(chore)
            chore.add_done_callback(self._chores.discard)
            return
        if not self._channels:  # no stream is open here
            return
        for entry in payload.split(" "):
            organisation_id, _, head = entry.partition(":")
            channel = self._channels.get(UUID(organisation_id))
            if channel is not None:
                channel.head = max(channel.head, int(head))
                self._wake_streams(channel)

    async def _poll_all(self) -> None:
        """After a pause in listening, or a notice too short to name everyone."""
        try:
            heads = await store.last_sequences(self._pool, list(self._channels))
        except DATABASE_ERRORS as error:
            log.warning("events.last_sequence_failed", error=repr(error))
            asyncio.get_running_loop().call_later(1.0, self._on_events, None)
            return
        for organisation_id, channel in self._channels.items():
            channel.head = max(channel.head, heads.get(organisation_id, 0))
            self._wake_streams(channel)
