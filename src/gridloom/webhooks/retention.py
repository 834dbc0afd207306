"""The log of deliveries is kept for a while and then forgotten."""

from __future__ import annotations

from datetime import timedelta

from gridloom.jobs import JobRun, job
from gridloom.webhooks import delivery_store

KEPT_FOR = timedelta(days=30)
AT_ONCE = 2000


@job("webhooks.forget-deliveries", every=timedelta(hours=1), bulk=True)
async def forget_old_deliveries(run: JobRun) -> None:
    for _ in range(20):
        if await delivery_store.forget_deliveries(run.db, KEPT_FOR, AT_ONCE) < AT_ONCE:
            return
