"""The jobs of monitoring: finding days to compact, compacting them, and deleting what has expired."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Final

from gridloom.monitoring import metrics
from gridloom.monitoring.compaction import day_compaction
from gridloom.monitoring.compaction_rules import UPGRADE_WINDOW
from gridloom.monitoring.store import compaction as compaction_store
from gridloom.platform.jobs import JobRun, enqueue, job

POLL_INTERVAL: Final = timedelta(seconds=30)
DAYS_A_LOOK: Final = 2000
DAY_BATCH_SIZE: Final = 64
SECONDS_A_RUN: Final = 20.0
RETENTION_INTERVAL: Final = timedelta(hours=1)
ASSET_BATCH_SIZE: Final = 500


class Retention:
    """How long telemetry is kept; None for ever."""

    keep: timedelta | None = None


@job("monitoring.schedule-compaction", every=POLL_INTERVAL)
async def enqueue_due(run: JobRun) -> None:
    """Hand every asset with something to compact to whichever replica is free."""
    if not await compaction_store.may_write_blocks(run.db, UPGRADE_WINDOW):
        return
    waiting = await compaction_store.read_pending(run.db, most=DAYS_A_LOOK)
    for asset_key in dict.fromkeys(day.asset_key for day in waiting):
        await enqueue(run.db, "monitoring.compact", key=str(asset_key), due=run.due, restart=False)
    segments, points = await compaction_store.backlog(run.db)
    metrics.BACKLOG_SEGMENTS.set(segments)
    metrics.BACKLOG_POINTS.set(points)


@job("monitoring.compact", bulk=True, limit=timedelta(minutes=5))
async def fold_asset(run: JobRun) -> None:
    """In small transactions; what is left over is found by the next look."""
    ends = time.monotonic() + SECONDS_A_RUN
    moved = True
    while moved and time.monotonic() < ends:
        waiting = await compaction_store.read_pending(run.db, most=DAY_BATCH_SIZE, asset_key=int(run.key))
        moved = False
        for day in waiting:
            started = time.perf_counter()
            folded = await day_compaction.run_step(run.db, day)
            if folded is not None:
                moved = True
                _count_folded(folded)
                metrics.FOLD_SECONDS.observe(time.perf_counter() - started)
            if time.monotonic() > ends:
                return
    for joined in await day_compaction.join_days(run.db, int(run.key)):
        _count_folded(joined)


def _count_folded(result: day_compaction.CompactionResult) -> None:
    metrics.FOLDED_POINTS.inc(result.points)
    metrics.FOLDED_BYTES.inc(result.bytes)


@job("monitoring.retention", every=RETENTION_INTERVAL, bulk=True)
async def delete_expired_telemetry(run: JobRun) -> None:
    if Retention.keep is None:
        return
    for _ in range(20):
        dropped = await compaction_store.drop_before(run.db, Retention.keep, ASSET_BATCH_SIZE)
        metrics.DROPPED_CHUNKS.inc(dropped)
        if not dropped:
            return
