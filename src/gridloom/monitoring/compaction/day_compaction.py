"""Compacting segments into blocks: in one transaction, by any replica, without a writer or reader noticing.

Removing what was stored and writing what replaces it commit together. Killed before, nothing has happened; after, all
of it. One transaction compacts an asset at a time; writers need not wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import date, timedelta

from gridloom.database.pool import Database
from gridloom.kernel.dependency import Dependency
from gridloom.monitoring import blocks, segments, store
from gridloom.monitoring.compaction.rules import (
    BUSY_POINTS,
    BUSY_SEGMENTS,
    CLOSED_FOR,
    COMPACTION_DELAY,
    MAX_JOINED_POINTS,
    MAX_JOINED_SIGNAL_POINTS,
    MIN_JOINED_DAYS,
    Compact,
    Merge,
    plan,
)
from gridloom.monitoring.market_days import day_start, market_day_number
from gridloom.monitoring.query.series import assemble

RECORD_FOLDED_DAY: Dependency[Callable[[Database, int, date], Awaitable[None]]] = Dependency(
    "a record of what was measured"
)
"""From a battery's key and a market day whose telemetry has been compacted, in the transaction that does so."""


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
    """Make one block of the day's segments, up to a sequence, and of what they lie over."""
    result = await rewrite_days(db, asset_key, day, day, last_sequence)
    if result is not None:
        await RECORD_FOLDED_DAY.get()(db, asset_key, day)
    return result


async def join_days(db: Database, asset_key: int) -> list[CompactionResult]:
    """Make one block of the days of a month, wherever enough of them are still apart."""
    if not await store.try_fold_lock(db, asset_key):
        return []
    spans = await store.joinable_spans(db, asset_key, MIN_JOINED_DAYS, MAX_JOINED_SIGNAL_POINTS, MAX_JOINED_POINTS)
    results = [await rewrite_days(db, asset_key, first_day, last_day, None) for first_day, last_day in spans]
    return [result for result in results if result is not None]


async def rewrite_days(
    db: Database, asset_key: int, first_day: date, last_day: date, last_sequence: int | None
) -> CompactionResult | None:
    """One block of all that some days hold; of segments those up to a sequence, none where it is None."""
    wanted_ids = list((await store.signal_ids(db, asset_key)).values())
    found = await store.read_bodies(db, asset_key, wanted_ids, first_day, last_day)
    last_sequence = last_sequence if last_sequence is not None else -1
    found.segments = [segment for segment in found.segments if segment.sequence <= last_sequence]
    if not (found.segments or (last_sequence < 0 and found.blocks)):
        return None
    block = await asyncio.to_thread(_make_block, found, first_day, last_day)
    await store.put_block(db, asset_key, block, last_sequence)
    return CompactionResult(len(found.segments), sum(block.points), len(block.body))


def _make_block(found: store.StoredBodies, first_day: date, last_day: date) -> store.PackedBlock:
    start_us = day_start(market_day_number(first_day))
    end_us = day_start(market_day_number(last_day) + 1)
    within = ((signal_id, series.between(start_us, end_us)) for signal_id, series in assemble(found))
    return blocks.encode(first_day, last_day, ((signal_id, series) for signal_id, series in within if len(series)))


async def merge_segments(
    db: Database, asset_key: int, day: date, first_sequence: int, last_sequence: int
) -> CompactionResult | None:
    """Make one segment of several that follow each other; it takes the place of the last."""
    taken = await store.take_segments(db, asset_key, day, first_sequence, last_sequence)
    if not taken:
        return None
    points, body = await asyncio.to_thread(_join_bodies, taken)
    joined = store.NewSegment(asset_key, taken[-1].sequence, day, points, body)
    await store.put_segment(db, joined, COMPACTION_DELAY)
    return CompactionResult(len(taken), points, len(body))


async def pending_days(
    db: Database,
    *,
    settle: timedelta = COMPACTION_DELAY,
    closed_for: timedelta = CLOSED_FOR,
    most: int = 100,
    asset_key: int | None = None,
) -> list[store.Pending]:
    """What waits to be compacted, of one asset or of all; the oldest first."""
    return await store.pending(db, settle, closed_for, BUSY_SEGMENTS, BUSY_POINTS, most, asset_key)


def _join_bodies(taken: list[store.StoredSegment]) -> tuple[int, bytes]:
    columns = segments.join(segments.decode(segment.body) for segment in taken)
    return len(columns), segments.encode(columns)
