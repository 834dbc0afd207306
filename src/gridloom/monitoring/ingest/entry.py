"""The node of a distributed database through which telemetry is written, where it is another than the coordinator.

What telemetry writes lies on one shard of one worker, and every node can send it there, so the coordinator need not.
Three things stay with the coordinator: safe retries, notifying streams, and the lock of compactions.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import asyncpg

from gridloom.monitoring.ingest.ingest import Stored, append_received, store_received
from gridloom.monitoring.model import Received
from gridloom.monitoring.store import heads
from gridloom.platform.database.commit import transaction
from gridloom.platform.database.pool import Pool, create_pool, prepare_connection
from gridloom.platform.http import Request


class TelemetryEntry:
    """The pool of that node; None where telemetry goes the way of all other requests."""

    def __init__(self, pool: Pool | None = None) -> None:
        self.pool = pool

    def choose_pool(self, request: Request) -> Pool:
        """Where to read what decides on a request that writes telemetry."""
        return self.pool if self.pool is not None and request.retry is None else request.pool

    async def store(
        self, request: Request, received: Received, keys: Mapping[UUID | None, int], now_us: int
    ) -> dict[UUID | None, Stored]:
        """Store what was received, committed when it returns, or in the request's transaction where there is one."""
        pool = self.choose_pool(request)
        stored = await append_received(pool, received, keys, now_us) if request.retry is None else None
        if stored is None:
            if self.pool is None or request.retry is not None:
                return await store_received(await request.begin(), received, keys, now_us)
            async with transaction(self.pool) as db:
                stored = await store_received(db, received, keys, now_us, is_coordinator=False)
        watched = {
            keys[asset_id]: one.watched_until for asset_id, one in stored.items() if one.watched_until is not None
        }
        if watched:
            await heads.notify(request.pool, watched)
        return stored


async def open_entry(coordinator: Pool, url: str | None, size: int) -> TelemetryEntry:
    """Connections are made when they are needed: the node need not be there yet."""
    if url is None:
        return TelemetryEntry()

    async def prepare(connection: asyncpg.Connection[asyncpg.Record]) -> None:
        await prepare_connection(connection)
        if await heads.read_operator_id(connection) != await heads.read_operator_id(coordinator):
            raise ConnectionRefusedError("GRIDLOOM_TELEMETRY_DATABASE_URL names a node of another database.")

    pool = await create_pool(url, size=size, min_size=0, prepare=prepare)
    pool.is_distributed = True  # type: ignore[attr-defined]
    return TelemetryEntry(pool)
