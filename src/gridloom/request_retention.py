"""What the edge no longer needs is removed now and then: answers kept for safe retries, past windows of rate limits."""

from __future__ import annotations

from datetime import timedelta

from gridloom.edge.idempotency import delete_expired
from gridloom.edge.shares import delete_full_buckets
from gridloom.jobs import JobRun, job


@job("edge.forget", every=timedelta(minutes=10))
async def delete_expired_requests(run: JobRun) -> None:
    await delete_expired(run.db)
    await delete_full_buckets(run.db)
