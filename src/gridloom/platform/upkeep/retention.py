"""Deletes expired rows: stored responses, windows of rate limits, events, deliveries of webhooks, past sessions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from gridloom.platform.database.pool import Database
from gridloom.platform.events import slot_store
from gridloom.platform.events.store import delete_events_before
from gridloom.platform.http.idempotency import delete_expired
from gridloom.platform.http.shares import delete_full_buckets
from gridloom.platform.identity.store import retention as identity_store
from gridloom.platform.jobs import JobRun, job
from gridloom.platform.webhooks.delivery_store import delete_deliveries_before

RETENTION: Final = timedelta(days=30)
BATCH_SIZE: Final = 2000
MAX_BATCHES: Final = 50
"""A run deletes this many batches; the next one takes what is left."""


@job("edge.retention", every=timedelta(minutes=10))
async def delete_expired_requests(run: JobRun) -> None:
    await delete_expired(run.db)
    await delete_full_buckets(run.db)


@job("events.retention", every=timedelta(hours=1), bulk=True)
async def delete_expired_events(run: JobRun) -> None:
    await slot_store.delete_expired(run.db)
    await _delete_in_batches(run.db, delete_events_before)


@job("webhooks.retention", every=timedelta(hours=1), bulk=True)
async def delete_expired_deliveries(run: JobRun) -> None:
    await _delete_in_batches(run.db, delete_deliveries_before)


@job("identity.retention", every=timedelta(hours=1), bulk=True)
async def delete_expired_sign_ins(run: JobRun) -> None:
    await identity_store.delete_expired(run.db)


async def _delete_in_batches(db: Database, delete: Callable[[Database, timedelta, int], Awaitable[int]]) -> None:
    for _ in range(MAX_BATCHES):
        if await delete(db, RETENTION, BATCH_SIZE) < BATCH_SIZE:
            return
