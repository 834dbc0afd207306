"""Compacting segments into blocks: in one transaction, by any replica, without a writer or reader noticing.

Removing what was stored and writing what replaces it commit together. Killed before, nothing has happened; after, all
of it. One transaction compacts an asset at a time; writers need not wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import date

from gridloom.kernel.dependency import Dependency
from gridloom.market_calendar import market_day_number
from gridloom.monitoring import blocks, compaction_rules, segments
from gridloom.monitoring.model import day_start
from gridloom.monitoring.query.series import assemble
from gridloom.monitoring.store import bodies, heads
from gridloom.monitoring.store import compaction as compaction_store
from gridloom.platform.database.pool import Database

RECORD_FOLDED_DAY: Dependency[Callable[[Database, int, date], Awaitable[None]]] = Dependency(
    "a record of what was measured"
)
"""From a battery's key and a market day whose telemetry has been compacted, in the transaction that does so."""


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """Points and bytes that one step moved."""

    points: int
    bytes: int


async def run_step(db: Database, pending: compaction_store.Pending) -> CompactionResult | None:
    """Do what the rules plan for one asset and day, in the transaction of `db`; None if there is nothing, or another
    replica is at it."""
    todo = compaction_rules.plan(pending.sequences, pending.points, is_closed=pending.is_closed)
    if todo is None or not await compaction_store.try_fold_lock(db, pending.asset_key):
        return None
    match todo:
        case compaction_rules.Merge(first_sequence, last_sequence):
            return await merge_segments(db, pending.asset_key, pending.day, first_sequence, last_sequence)
        case compaction_rules.Compact(last_sequence):
            return await compact(db, pending.asset_key, pending.day, last_sequence)


async def compact(db: Database, asset_key: int, day: date, last_sequence: int) -> CompactionResult | None:
    """Make one block of the day's segments, up to a sequence, and of what they lie over."""
    result = await rewrite_days(db, asset_key, day, day, last_sequence)
    if result is not None:
        await RECORD_FOLDED_DAY.get()(db, asset_key, day)
    return result


async def join_days(db: Database, asset_key: int) -> list[CompactionResult]:
    """Make one block of the days of a month, wherever enough of them are still apart."""
    if not await compaction_store.try_fold_lock(db, asset_key):
        return []
    spans = await compaction_store.joinable_spans(db, asset_key)
    results = [await rewrite_days(db, asset_key, first_day, last_day) for first_day, last_day in spans]
    return [result for result in results if result is not None]


async def rewrite_days(
    db: Database, asset_key: int, first_day: date, last_day: date, last_sequence: int = -1
) -> CompactionResult | None:
    """One block of all that some days hold; of segments those up to a sequence."""
    wanted_ids = list((await heads.signal_ids(db, asset_key)).values())
    found = await bodies.read_bodies(db, asset_key, wanted_ids, first_day, last_day)
    found.segments = [segment for segment in found.segments if segment.sequence <= last_sequence]
    if not (found.segments or (last_sequence < 0 and found.blocks)):
        return None
    block = await asyncio.to_thread(_make_block, found, first_day, last_day)
    await compaction_store.put_block(db, asset_key, block, last_sequence)
    return CompactionResult(sum(block.points), len(block.body))


def _make_block(found: bodies.StoredBodies, first_day: date, last_day: date) -> compaction_store.PackedBlock:
    start_us = day_start(market_day_number(first_day))
    end_us = day_start(market_day_number(last_day) + 1)
    return blocks.encode(first_day, last_day, assemble(found, start_us, end_us))


async def merge_segments(
    db: Database, asset_key: int, day: date, first_sequence: int, last_sequence: int
) -> CompactionResult | None:
    """Make one segment of several that follow each other; it takes the place of the last."""
    taken = await compaction_store.take_segments(db, asset_key, day, first_sequence, last_sequence)
    if not taken:
        return None
    points, body = await asyncio.to_thread(_join_bodies, taken)
    joined = heads.NewSegment(asset_key, taken[-1].sequence, day, points, body)
    await compaction_store.put_segment(db, joined)
    return CompactionResult(points, len(body))


def _join_bodies(taken: list[bodies.StoredSegment]) -> tuple[int, bytes]:
    columns = segments.join(segments.decode(segment.body) for segment in taken)
    return len(columns), segments.encode(columns)
