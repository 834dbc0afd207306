"""Storing what a request brought: under the asset's lock, one segment per market day, durable at the commit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial
from itertools import compress
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from gridloom.market_calendar import market_date
from gridloom.monitoring import blocks, metrics, segments
from gridloom.monitoring.codec import Times
from gridloom.monitoring.compaction.day_compaction import merge_segments
from gridloom.monitoring.compaction_rules import Merge, plan
from gridloom.monitoring.model import LATEST, MAX_SIGNALS, SECOND_US, Points, Reason, Received, day_numbers
from gridloom.monitoring.offload import HEAVY_BYTES, HEAVY_POINTS, HEAVY_SIGNALS, off_loop
from gridloom.monitoring.segments import SegmentColumns
from gridloom.monitoring.store import bodies, heads
from gridloom.monitoring.store import compaction as compaction_store
from gridloom.platform.database.commit import after_commit
from gridloom.platform.database.pool import Database

MANY_BODIES: Final = 200


@dataclass(slots=True)
class Stored:
    """The outcome of an asset's points; those beyond the limit of signals are refused."""

    written: int = 0
    overwritten: int = 0
    refused: int = 0
    newest_us: int = 0
    watched_until: datetime | None = None
    """Until when streams follow the asset; they still have to be notified."""


_id_cache = heads.SignalIdCache()
_head_cache = heads.HeadCache()


async def store_received(
    db: Database,
    received: Received,
    keys: Mapping[UUID | None, int],
    now_us: int,
    *,
    is_coordinator: bool = True,
) -> dict[UUID | None, Stored]:
    """Store what was received, each asset under its key, in the transaction of `db`; counts what is refused here.

    is_coordinator: False where `db` is another node of a distributed database. Then no stream is notified, and segments
    are left to compaction, for both listen and lock on the coordinator.
    """
    # A full quota may leave nothing of an asset.
    points_of = {asset_id: points for asset_id, points in received.points.items() if len(points)}
    by_key = await ingest(db, {keys[one]: points for one, points in points_of.items()}, is_coordinator=is_coordinator)
    stored = {asset_id: by_key[keys[asset_id]] for asset_id in points_of}
    _count_points(received, stored, now_us)
    return stored


async def append_received(
    db: Database, received: Received, keys: Mapping[UUID | None, int], now_us: int
) -> dict[UUID | None, Stored] | None:
    """The same without a transaction, by one statement, for points of one asset that are newer than all that is known,
    of known signals and on one day; None, and nothing written, for any other. Streams still have to be notified."""
    if len(received.points) != 1:
        return None
    [(asset_id, batch)] = received.points.items()
    outcome = await _append_next(db, keys[asset_id], batch)
    stored = None if outcome is None else {asset_id: outcome}
    if stored is not None:
        _count_points(received, stored, now_us)
    return stored


def _count_points(received: Received, stored: Mapping[UUID | None, Stored], now_us: int) -> None:
    received.refusals.add(Reason.TOO_MANY_SIGNALS, sum(one.refused for one in stored.values()), [])
    metrics.POINTS.labels("written").inc(sum(one.written for one in stored.values()))
    metrics.POINTS.labels("overwritten").inc(sum(one.overwritten for one in stored.values()))
    metrics.POINTS.labels("refused").inc(received.refusals.total)
    for one in stored.values():
        metrics.LAG.observe(max(0, now_us - one.newest_us) / SECOND_US)


async def _append_next(db: Database, asset_key: int, batch: Points) -> Stored | None:
    head = _head_cache.find(asset_key)
    if head is None or _is_heavy(batch, batch.names):
        return None
    known = _id_cache.find((asset_key, head.born))
    if len(known) != head.signal_count or not known.keys() >= set(batch.names):
        return None
    columns, _ = _arrange_allowed(batch, np.array([known[name] for name in batch.names], dtype=np.int64))
    late, _ = _find_late(head, columns)
    new_segments = [] if late else _make_segments(replace(head, sequence=head.sequence + 1), columns)
    if len(new_segments) != 1:
        return None
    latest, newest_us = _move_latest(head, columns)
    moved = await heads.append_next(db, head, new_segments[0], latest)
    if moved is None:
        _head_cache.drop(asset_key)
        return None
    _head_cache.put(moved)
    return Stored(len(columns), len(batch) - len(columns), 0, newest_us, moved.watched_until)


async def ingest(db: Database, points: Mapping[int, Points], *, is_coordinator: bool = True) -> dict[int, Stored]:
    """Write each asset's points, in the transaction of `db`."""
    wanted = {asset_key: batch for asset_key, batch in points.items() if len(batch)}
    if not wanted:
        return {}
    locked = await heads.lock_heads(db, list(wanted))
    outcomes: dict[int, Stored] = {}
    new_segments: list[heads.NewSegment] = []
    latest: dict[int, bytes] = {}
    for asset_key, batch in wanted.items():
        head = locked[asset_key]
        outcome = outcomes[asset_key] = Stored(watched_until=head.watched_until)
        columns = await _arrange_columns(db, head, batch, outcome)
        if not len(columns):
            continue
        overlap = await _find_overlap(db, head, columns)
        outcome.overwritten += overlap.points
        outcome.written = len(batch) - outcome.refused - outcome.overwritten
        latest[asset_key], outcome.newest_us = _move_latest(head, columns)
        if columns.signal_ids.max() < head.signal_count:  # else there are new ones, which the head does not count yet
            after_commit(db, partial(_head_cache.put, replace(head, latest=latest[asset_key])))
        new_segments += await off_loop(_is_heavy(columns, columns.signal_ids), _make_segments, head, columns)
        if is_coordinator:
            await _thin_out(db, asset_key, overlap)
    if new_segments:
        await heads.append(db, new_segments, latest)
    watched = {key: head.watched_until for key, head in locked.items() if head.watched_until is not None}
    if watched and is_coordinator:
        await heads.notify(db, watched)
    return outcomes


def _is_heavy(points: Sized, signals: Sized) -> bool:
    return len(points) > HEAVY_POINTS or len(signals) > HEAVY_SIGNALS


def _make_segments(head: heads.Head, columns: SegmentColumns) -> list[heads.NewSegment]:
    return [
        heads.NewSegment(head.asset_key, head.sequence, market_date(day), len(part), segments.encode(part))
        for day, part in segments.by_day(columns)
    ]


async def _arrange_columns(db: Database, head: heads.Head, batch: Points, outcome: Stored) -> SegmentColumns:
    ids = await _find_ids(db, head, batch)
    columns, outcome.refused = await off_loop(_is_heavy(batch, batch.names), _arrange_allowed, batch, ids)
    # Repeated within the request: the last one counts, and has overwritten the others.
    outcome.overwritten = len(batch) - outcome.refused - len(columns)
    return columns


def _arrange_allowed(batch: Points, ids: NDArray[np.int64]) -> tuple[SegmentColumns, int]:
    """The points whose signal has an id, in order, and how many have none."""
    refused = 0
    if (ids < 0).any():
        allowed = ids[batch.codes] >= 0
        refused = int(np.count_nonzero(~allowed))
        batch = batch.select(allowed)
    if not len(batch):
        nothing = np.empty(0, dtype=np.int64)
        return SegmentColumns(nothing, nothing, nothing, np.empty(0)), refused
    return segments.sort_and_deduplicate(batch, ids), refused


async def _find_ids(db: Database, head: heads.Head, batch: Points) -> NDArray[np.int64]:
    """The id of each of the batch's names, −1 for one too many; names that no point has stay unknown."""
    known = _id_cache.find((head.asset_key, head.born))
    if len(known) != head.signal_count:
        known = await heads.signal_ids(db, head.asset_key)
        _cache_ids(db, head, known)
    ids, new = await off_loop(_is_heavy(batch, batch.names), _number_names, batch, known)
    if new:
        await heads.add_signals(db, head.asset_key, new)
        _cache_ids(db, head, known | new)
    return ids


def _number_names(batch: Points, known: Mapping[str, int]) -> tuple[NDArray[np.int64], dict[str, int]]:
    """The id of each of the batch's names, and the names among them that are new."""
    unknown: list[str] = []
    if not known.keys() >= set(batch.names):
        used = (batch.names[code] for code in np.flatnonzero(np.bincount(batch.codes)).tolist())
        unknown = [name for name in used if name not in known]
    new = dict(zip(unknown, range(len(known), MAX_SIGNALS), strict=False))
    ids = [known[name] if name in known else new.get(name, -1) for name in batch.names]
    return np.array(ids, dtype=np.int64), new


def _cache_ids(db: Database, head: heads.Head, ids: dict[str, int]) -> None:
    """Only what is committed: ids that were rolled back may become those of other names."""
    after_commit(db, lambda: _id_cache.put((head.asset_key, head.born), ids))


@dataclass(slots=True)
class Overlap:
    """Points of a request that are stored already, and the segments of its days."""

    points: int = 0
    covered: list[bodies.StoredSegment] = field(default_factory=list)
    """Segments that have no point which the request does not overwrite."""
    others: list[bodies.StoredSegment] = field(default_factory=list)


async def _find_overlap(db: Database, head: heads.Head, columns: SegmentColumns) -> Overlap:
    """Whatever is newer than all that is known needs no look."""
    overlap = Overlap()
    late, days = await off_loop(_is_heavy(columns, columns.signal_ids), _find_late, head, columns)
    if not late:
        return overlap
    part = bodies.BlockPart.TIMES
    found = await bodies.read_bodies(db, head.asset_key, list(late), days[0], days[-1], part, only=days)
    heavy = _is_heavy(columns, late) or found.packed_bytes > HEAVY_BYTES
    await off_loop(heavy or len(found.segments) + len(found.blocks) > MANY_BODIES, _add_overlap, overlap, found, late)
    return overlap


async def _thin_out(db: Database, asset_key: int, overlap: Overlap) -> None:
    """Keep the segments of a day few, however often it is overwritten: delete those that are covered, and merge the
    others where they are many. Not while a compaction does as much."""
    by_day: dict[date, list[bodies.StoredSegment]] = defaultdict(list)
    for segment in overlap.others:
        by_day[segment.day].append(segment)
    plans = {
        day: plan([one.sequence for one in some], [segments.point_count(one.body) for one in some], is_closed=False)
        for day, some in by_day.items()
    }
    merges = {day: todo for day, todo in plans.items() if isinstance(todo, Merge)}
    if not (overlap.covered or merges) or not await compaction_store.try_fold_lock(db, asset_key):
        return
    if overlap.covered:
        await heads.delete_segments(db, asset_key, [(segment.day, segment.sequence) for segment in overlap.covered])
    for day, todo in merges.items():
        await merge_segments(db, asset_key, day, todo.first_sequence, todo.last_sequence)


def _find_late(head: heads.Head, columns: SegmentColumns) -> tuple[dict[int, Times], list[date]]:
    """The times of the series that begin no later than the last point known of their signal, and the days to look at
    for them."""
    latest = np.frombuffer(head.latest, LATEST)["time"]
    starts = np.cumsum(columns.counts) - columns.counts
    is_known = columns.signal_ids < len(latest)
    is_late = np.zeros(len(is_known), dtype=bool)
    is_late[is_known] = columns.times[starts[is_known]] <= latest[columns.signal_ids[is_known]]
    if not is_late.any():
        return {}, []
    days = np.unique(day_numbers(columns.times)).tolist()
    times = ((signal_id, series.times) for signal_id, series in columns.series())
    return dict(compress(times, is_late.tolist())), [market_date(day) for day in days]


def _add_overlap(overlap: Overlap, found: bodies.StoredBodies, late: Mapping[int, Times]) -> None:
    """How many times of the new series the stored ones have too, and which segments have no others."""
    stored: dict[int, list[Times]] = defaultdict(list)
    for block in found.blocks:
        for signal_id, times, _ in blocks.unpack(block):
            stored[signal_id].append(times)
    counts: dict[tuple[int, ...], int] = {}

    def count(times: Times, layers: Sequence[Times]) -> int:
        """Signals that are sampled together share their times, here and there: each such group is looked at once."""
        group = (id(times), *map(id, layers))
        if group not in counts:
            counts[group] = _count_among(times, layers)
        return counts[group]

    decoded = [list(segments.decode_times(segment.body)) for segment in found.segments]
    for segment, series in zip(found.segments, decoded, strict=True):
        is_covered = True
        for signal_id, times in series:
            if signal_id in late:
                stored[signal_id].append(times)
            is_covered = is_covered and signal_id in late and count(times, (late[signal_id],)) == len(times)
        (overlap.covered if is_covered else overlap.others).append(segment)
    overlap.points += sum(count(late[signal_id], layers) for signal_id, layers in stored.items())


def _count_among(times: Times, layers: Sequence[Times]) -> int:
    """How many of the times are in any of the layers; each is in order, and has no time twice."""
    are_there = np.zeros(len(times), dtype=bool)
    for layer in layers:
        if len(layer):
            indices = np.searchsorted(layer, times)
            indices[indices == len(layer)] = 0
            are_there |= layer[indices] == times
    return int(np.count_nonzero(are_there))


def _move_latest(head: heads.Head, columns: SegmentColumns) -> tuple[bytes, int]:
    """The head's latest points with those of the columns, and the newest time among the latter."""
    ends = np.cumsum(columns.counts) - 1
    ids, times, values = columns.signal_ids, columns.times[ends], columns.values[ends]
    known = np.frombuffer(head.latest, LATEST)
    latest = np.zeros(max(len(known), int(ids.max()) + 1), dtype=LATEST)
    latest[: len(known)] = known
    newer = times >= latest["time"][ids]
    latest["time"][ids[newer]] = times[newer]
    latest["value"][ids[newer]] = values[newer]
    return latest.tobytes(), int(times.max())
