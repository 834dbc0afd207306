"""One attempt at one claimed job: its effects and its end in the same transaction."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog
from prometheus_client import Counter, Histogram

from gridloom.kernel.copying import copy_fields
from gridloom.platform.database.commit import discard_callbacks
from gridloom.platform.jobs import store
from gridloom.platform.jobs.declare import KINDS, JobRun
from gridloom.platform.jobs.rules import MAX_CRASHES, pause_after, pause_after_death
from gridloom.platform.tracing import describe_job, trace_job

RUNS = Counter("gridloom_job_runs_total", "Attempts to run a job, by what came of them", ["kind", "outcome"])
DURATION = Histogram("gridloom_job_duration_seconds", "How long an attempt took", ["kind"])
LAG = Histogram(
    "gridloom_job_lag_seconds",
    "How long after its due time a job began",
    ["kind"],
    buckets=(0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 15, 60, 300, 3600),
)


if TYPE_CHECKING:
    import asyncpg
    from asyncpg.pool import PoolConnectionProxy

    from gridloom.platform.database.pool import Pool

log = structlog.get_logger()

MAX_ERROR = 2000
NOTING = timedelta(seconds=10)
"""Extra time beyond the handler's own limit, so that a run that took too long can still be noted."""
DIED = "the process that ran it was killed, or lost the database."
GIVING_UP_S = 2.0


class Cancelled(Exception):  # not an error: what the run did is undone because the job was cancelled
    """The job was cancelled while it ran."""


async def mark_started(pool: Pool, db: PoolConnectionProxy[asyncpg.Record], claimed: store.ClaimedJob) -> bool:
    """Have it on record, before any of its work, that a claimed job is being run; False if it is not to be run now.

    The record takes a second connection for a moment, since the transaction of the claim, `db`, must stay open.
    """
    if claimed.begun_at is None:
        async with _clear_if_cancelled(pool, claimed):
            return await store.record_started(pool, claimed)
    crashes = claimed.crashes + 1
    pause = pause_after_death(crashes, random.uniform(-1, 1))  # noqa: S311
    detail = f"The run that began at {claimed.begun_at:%Y-%m-%d %H:%M:%S} UTC ended without a trace: {DIED}"
    dead = await store.record_crash(db, claimed, detail, pause, MAX_CRASHES)
    log.error("job.crashed", kind=claimed.kind, key=claimed.key, crashes=crashes, dead=dead)
    RUNS.labels(claimed.kind, "dead" if dead else "died").inc()
    return False


async def run_claimed(
    pool: Pool,
    db: PoolConnectionProxy[asyncpg.Record],
    claimed: store.ClaimedJob,
    *,
    is_walk: bool = False,
) -> None:
    """Run the handler in a savepoint of the transaction that claimed the job.

    If it fails, its effects are undone and the failure is noted while the job is still ours, so no other runner can
    step in between. If the process dies, the transaction dies with it, and the next claim finds that it was begun.
    """
    LAG.labels(claimed.kind).observe(claimed.lag_s)
    began = time.perf_counter()
    run = copy_fields(JobRun, claimed, db=db, attempt=claimed.attempts + 1)
    with trace_job(claimed.kind, run.attempt):
        outcome = await _run_handler(pool, db, claimed, run, is_walk=is_walk)
        describe_job(outcome)
    RUNS.labels(claimed.kind, outcome).inc()
    DURATION.labels(claimed.kind).observe(time.perf_counter() - began)


async def _run_handler(
    pool: Pool, db: PoolConnectionProxy[asyncpg.Record], claimed: store.ClaimedJob, run: JobRun, *, is_walk: bool
) -> str:
    """How it ended: done, cancelled or failed."""
    kind = KINDS[claimed.kind]
    try:
        async with _clear_if_cancelled(pool, claimed):
            await store.limit_transaction(db, kind.limit + NOTING, is_walk=is_walk)
            async with asyncio.timeout(kind.limit.total_seconds()), db.transaction():
                await kind.handler(run)
                if not await store.finish(db, claimed):
                    raise Cancelled
    except Cancelled:
        discard_callbacks(db)
        return "cancelled"
    except Exception as error:  # whatever a handler raises is a failed attempt
        if db.is_closed():
            raise
        discard_callbacks(db)
        pause = pause_after(claimed.attempts + 1, random.uniform(-1, 1))  # noqa: S311
        detail = f"{type(error).__name__}: {error}".replace("\x00", "")[:MAX_ERROR]
        await store.fail(db, claimed, detail, pause)
        log.error("job.failed", kind=claimed.kind, key=claimed.key, attempt=run.attempt, exc_info=error)
        return "failed"
    return "done"


@asynccontextmanager
async def _clear_if_cancelled(pool: Pool, claimed: store.ClaimedJob) -> AsyncIterator[None]:
    """A run that is undone because its runner stops, or because the caller of a walk has gone, is not one that died."""
    try:
        yield
    except asyncio.CancelledError:
        with suppress(Exception):  # at worst it counts as one that died
            async with asyncio.timeout(GIVING_UP_S):
                await store.clear_started(pool, claimed)
        raise
