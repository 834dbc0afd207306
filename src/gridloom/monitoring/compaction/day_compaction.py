"""Folding segments into day chunks: in one transaction, by any replica, without a writer or reader noticing.

Removing the segments and writing what replaces them commit together. Killed before, nothing has happened; after, all of
it. Writers only ever add segments, so the only wait is that of one compaction of an asset for another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from gridloom.database.pool import Database
from gridloom.kernel.dependency import Dependency
from gridloom.monitoring import codec, segments, store
from gridloom.monitoring.compaction.rules import (
    BUSY_POINTS,
    BUSY_SEGMENTS,
    CLOSED_FOR,
    COMPACTION_DELAY,
    Compact,
    Merge,
    plan,
)
from gridloom.monitoring.model import SignalSeries
from gridloom.monitoring.segments import SegmentColumns

RECORD_FOLDED_DAY: Dependency[Callable[[Database, int, date], Awaitable[None]]] = Dependency(
    "a record of what was measured"
)
"""From a battery's key and a market day whose telemetry has been folded, in the transaction that folds it."""


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """What one step moved."""

    segments: int
    points: int
    bytes: int


async def run_step(db: Database, pending: store.Pending) -> CompactionResult | None:
    """Do what the rules plan for one asset and day, in the transaction of `db`; None if there is nothing, or another
    replica is at it."""
    todo = plan(pending.sequences, pending.points, is_closed=pending.is_closed)
    if todo is None or not await store.try_fold_lock(db, pending.asset_key):
        return None
    match todo:
        case Merge(first_sequence, last_sequence):
            return await merge_segments(db, pending.asset_key, pending.day, first_sequence, last_sequence)
        case Compact(last_sequence):
            return await compact(db, pending.asset_key, pending.day, last_sequence)


async def compact(db: Database, asset_key: int, day: date, last_sequence: int) -> CompactionResult | None:
    """Lay the day's segments, up to a sequence, over its chunks."""
    taken = await store.take_segments(db, asset_key, day, 0, last_sequence)
    if not taken:
        return None
    hot = await asyncio.to_thread(_join_columns, taken)
    cold = await store.chunks_on(db, asset_key, hot.signal_ids.tolist(), day)
    chunks = await asyncio.to_thread(_make_chunks, hot, cold)
    await store.put_chunks(db, asset_key, day, chunks)
    await RECORD_FOLDED_DAY.get()(db, asset_key, day)
    return CompactionResult(len(taken), len(hot), sum(len(chunk.body) for chunk in chunks))


async def merge_segments(
    db: Database, asset_key: int, day: date, first_sequence: int, last_sequence: int
) -> CompactionResult | None:
    """Make one segment of several that follow each other; it takes the place of the last."""
    taken = await store.take_segments(db, asset_key, day, first_sequence, last_sequence)
    if not taken:
        return None
    columns = await asyncio.to_thread(_join_columns, taken)
    body = await asyncio.to_thread(segments.encode, columns)
    joined = store.NewSegment(asset_key, taken[-1].sequence, day, len(columns), body)
    await store.put_segment(db, joined, COMPACTION_DELAY)
    return CompactionResult(len(taken), len(columns), len(body))


async def pending_days(
    db: Database,
    *,
    settle: timedelta = COMPACTION_DELAY,
    closed_for: timedelta = CLOSED_FOR,
    most: int = 100,
    asset_key: int | None = None,
) -> list[store.Pending]:
    """What waits to be folded, of one asset or of all; the oldest first."""
    return await store.pending(db, settle, closed_for, BUSY_SEGMENTS, BUSY_POINTS, most, asset_key)


def _join_columns(taken: list[store.StoredSegment]) -> SegmentColumns:
    return segments.join(segments.decode(segment.body) for segment in taken)


def _make_chunks(hot: SegmentColumns, cold: dict[int, bytes]) -> list[store.NewChunk]:
    return [
        chunk_of(signal_id, segments.merge_last_wins((SignalSeries(*codec.decode(cold[signal_id])), series)))
        if signal_id in cold
        else chunk_of(signal_id, series)
        for signal_id, series in hot.series()
    ]


def chunk_of(signal_id: int, series: SignalSeries) -> store.NewChunk:
    times, values = series.times, series.values
    return store.NewChunk(
        signal_id=signal_id,
        points=len(times),
        first_us=int(times[0]),
        last_us=int(times[-1]),
        first_value=float(values[0]),
        last_value=float(values[-1]),
        lowest=float(values.min()),
        highest=float(values.max()),
        # Summed as a bucket sums, so that a day says the same from its summary and from its points.
        total=float(np.add.reduceat(values, [0])[0]),
        body=codec.encode(times, values, cold=True),
    )
