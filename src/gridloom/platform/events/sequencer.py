"""The sequencer inside each worker process: gives committed events their positions, in commit order, without a gap."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import structlog
from prometheus_client import Counter

from gridloom.kernel.tasks import cancel_and_wait
from gridloom.platform.database.pool import is_distributed
from gridloom.platform.events import outbox, store

if TYPE_CHECKING:
    from gridloom.platform.database.pool import Pool

log = structlog.get_logger()

POLL_INTERVAL_S = 2.0
"""How long an event can wait whose process died between its commit and its sequencing."""
MAX_BATCH_SIZE = 500
BATCH_DELAY_S = 0.01
"""How long to wait for company: a batch costs one commit, whatever its size."""
DISTRIBUTED_BATCH_DELAY_S = 0.05
"""The same on a distributed database, where that commit is one in two phases on several nodes."""
BUSY_GATHER_S = 0.1
"""The same where events keep coming: they are many, and what each batch costs is the writers' time."""

SEQUENCED = Counter("gridloom_events_sequenced_total", "Events that this process sequenced")


class Sequencer:
    """Wakes after each commit in its own process that recorded an event; the database lets in one at a time."""

    def __init__(self, pool: Pool, *, poll_interval_s: float = POLL_INTERVAL_S) -> None:
        self._pool = pool
        self._poll_interval_s = poll_interval_s
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        outbox.subscribe(self._wake.set)
        self._task = asyncio.create_task(self._keep_sequencing(), name="event sequencer")

    async def stop(self) -> None:
        outbox.unsubscribe(self._wake.set)
        await cancel_and_wait(self._task)
        self._task = None

    def alive(self) -> bool:
        return self._task is not None and not self._task.done()

    async def _keep_sequencing(self) -> None:
        while True:
            woken = self._wake.is_set()
            self._wake.clear()
            try:
                if woken or not await store.outbox_is_empty(self._pool):
                    await self._assign_sequences()
            except Exception as error:  # noqa: BLE001  # it must outlive whatever happens to it
                log.warning("events.sequencing_failed", error=repr(error))
                await asyncio.sleep(1)
            delay_s = DISTRIBUTED_BATCH_DELAY_S if is_distributed(self._pool) else BATCH_DELAY_S
            gather_s = BUSY_GATHER_S if woken and self._wake.is_set() else delay_s
            with suppress(TimeoutError):
                async with asyncio.timeout(self._poll_interval_s):
                    await self._wake.wait()
                await asyncio.sleep(gather_s)

    async def _assign_sequences(self) -> None:
        taken = MAX_BATCH_SIZE
        while taken == MAX_BATCH_SIZE:
            taken = await store.sequence_events(self._pool, MAX_BATCH_SIZE)
            SEQUENCED.inc(taken)
