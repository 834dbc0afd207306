"""Where bids queue in each process: those of one auction that come together are placed together, in their order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from gridloom.auctions.bid_store import PendingBid, PlacementResult, place_bids
from gridloom.platform.database.pool import Pool
from gridloom.platform.http.application import Application
from gridloom.platform.http.idempotency import IdempotencyKey
from gridloom.settings import Settings

MAX_BATCH_SIZE = 200

_Waiting = list[tuple[PendingBid, asyncio.Future[PlacementResult]]]


class BidBatcher:
    """One statement an auction at a time, with all bids that have queued since the last one.

    So a rush on one auction takes one connection of the pool instead of all of them, and many bids share one commit.
    The auction's lock still gives every bid its position, whichever process it comes from.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._queues: dict[UUID, _Waiting] = {}
        """The auctions for which a statement is under way, with the bids that wait for the next one."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def place(self, offer: PendingBid) -> PlacementResult:
        queue = self._queues.get(offer.auction_id)
        if queue is not None:
            answer: asyncio.Future[PlacementResult] = asyncio.get_running_loop().create_future()
            queue.append((offer, answer))
            return await answer
        self._queues[offer.auction_id] = []
        try:
            [placed] = await place_bids(self._pool, [offer])
            return placed
        finally:
            self._start_next_batch(offer.auction_id)

    def _start_next_batch(self, auction_id: UUID) -> None:
        if not self._queues[auction_id]:
            del self._queues[auction_id]
            return
        task = asyncio.create_task(self._place_queued(auction_id), name="bid batch")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _place_queued(self, auction_id: UUID) -> None:
        batch, self._queues[auction_id] = split_batch(self._queues[auction_id])
        try:
            outcomes = await place_bids(self._pool, [offer for offer, _ in batch])
            for (_, answer), placed in zip(batch, outcomes, strict=True):
                if not answer.done():
                    answer.set_result(placed)
        except BaseException as error:
            for _, answer in batch:
                if not answer.done():
                    answer.set_exception(error)
            if not isinstance(error, Exception):
                raise
        finally:
            self._start_next_batch(auction_id)


def split_batch(queue: _Waiting) -> tuple[_Waiting, _Waiting]:
    """Who goes together, and who waits on: a statement sees nothing of what it keeps itself, so of two attempts under
    one Idempotency-Key the second has to come after the first."""
    batch: _Waiting = []
    waiting: _Waiting = []
    keys: set[IdempotencyKey] = set()
    for queued in queue:
        key = queued[0].key
        if len(batch) == MAX_BATCH_SIZE or key in keys:
            waiting.append(queued)
            continue
        batch.append(queued)
        if key is not None:
            keys.add(key)
    return batch, waiting


@asynccontextmanager
async def bid_batcher_lifespan(edge: Application, settings: Settings) -> AsyncIterator[None]:
    edge.resources.add(BidBatcher(edge.pool))
    yield
