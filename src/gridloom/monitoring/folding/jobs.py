"""The jobs of monitoring: finding days to fold, folding them, and forgetting what is too old."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Final

from gridloom.database.pool import Database
from gridloom.jobs import JobRun, enqueue, job
from gridloom.monitoring import metrics, store
from gridloom.monitoring.folding import day_folding

LOOK_EVERY: Final = timedelta(seconds=30)
DAYS_A_LOOK: Final = 2000
DAYS_AT_ONCE: Final = 64
SECONDS_A_RUN: Final = 20.0
FORGET_EVERY: Final = timedelta(hours=1)
CHUNKS_AT_ONCE: Final = 5000


class Retention:
    """How long telemetry is kept; None for ever."""

    keep: timedelta | None = None


@job("monitoring.look", every=LOOK_EVERY)
async def look_for_work(run: JobRun) -> None:
    """Hand every asset with something to fold to whichever replica is free."""
    waiting = await day_folding.pending(run.db, most=DAYS_A_LOOK)
    for asset_key in dict.fromkeys(day.asset_key for day in waiting):
        await enqueue(run.db, "monitoring.fold", key=str(asset_key), due=run.due, restart=False)
    segments, points = await store.backlog(run.db)
    metrics.BACKLOG_SEGMENTS.set(segments)
    metrics.BACKLOG_POINTS.set(points)


@job("monitoring.fold", bulk=True, limit=timedelta(minutes=5))
async def fold_asset(run: JobRun) -> None:
    """In bites: what is left over is found by the next look."""
    ends = time.monotonic() + SECONDS_A_RUN
    moved = True
    while moved and time.monotonic() < ends:
        waiting = await day_folding.pending(run.db, most=DAYS_AT_ONCE, asset_key=int(run.key))
        moved = False
        for day in waiting:
            moved = await _fold_day(run.db, day) or moved
            if time.monotonic() > ends:
                return


async def _fold_day(db: Database, day: store.Pending) -> bool:
    started = time.perf_counter()
    folded = await day_folding.step(db, day)
    if folded is None:
        return False
    metrics.FOLDED_POINTS.inc(folded.points)
    metrics.FOLDED_BYTES.inc(folded.bytes)
    metrics.FOLD_SECONDS.observe(time.perf_counter() - started)
    return True


@job("monitoring.forget", every=FORGET_EVERY, bulk=True)
async def forget_old_telemetry(run: JobRun) -> None:
    if Retention.keep is None:
        return
    for _ in range(20):
        dropped = await store.drop_chunks_before(run.db, Retention.keep, CHUNKS_AT_ONCE)
        metrics.DROPPED_CHUNKS.inc(dropped)
        if dropped < CHUNKS_AT_ONCE:
            return
