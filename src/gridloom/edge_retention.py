"""What the edge no longer needs is removed now and then: answers kept for safe retries, past windows of rate limits."""

from __future__ import annotations

from datetime import timedelta

from gridloom.edge.guarding.rate_limit import forget_past_windows
from gridloom.edge.idempotency import forget_expired
from gridloom.jobs import JobRun, job


@job("edge.forget", every=timedelta(minutes=10))
async def forget_past_requests(run: JobRun) -> None:
    await forget_expired(run.db)
    await forget_past_windows(run.db)
