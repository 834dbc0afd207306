"""The log of deliveries is kept for a while and then forgotten."""

from __future__ import annotations

from datetime import timedelta

from gridloom.jobs import JobRun, job
from gridloom.webhooks import delivery_store

RETENTION = timedelta(days=30)
BATCH_SIZE = 2000


@job("webhooks.forget-deliveries", every=timedelta(hours=1), bulk=True)
async def delete_expired_deliveries(run: JobRun) -> None:
    for _ in range(20):
        if await delivery_store.delete_deliveries_before(run.db, RETENTION, BATCH_SIZE) < BATCH_SIZE:
            return
