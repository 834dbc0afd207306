"""Events are kept for a while and then forgotten."""

from __future__ import annotations

from datetime import timedelta

from gridloom.events import place_store, store
from gridloom.jobs import JobRun, job

RETENTION = timedelta(days=30)
BATCH_SIZE = 5000


@job("events.forget", every=timedelta(hours=1), bulk=True)
async def delete_expired_events(run: JobRun) -> None:
    """In short bites: what is left over is taken by the next run."""
    await place_store.delete_expired(run.db)
    for _ in range(20):
        if await store.delete_events_before(run.db, RETENTION, BATCH_SIZE) < BATCH_SIZE:
            return
