"""Storing what a request brought: under the asset's lock, one segment per market day, durable at the commit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field
from datetime import date
from itertools import compress
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gridloom.database.commit.after_commit import after_commit
from gridloom.database.pool import Database
from gridloom.monitoring import codec, segments, store
from gridloom.monitoring.codec import Times
from gridloom.monitoring.market_days import day_numbers, market_date
from gridloom.monitoring.model import LATEST, MAX_SIGNALS, Points, Reason
from gridloom.monitoring.offload import HEAVY_BYTES, HEAVY_POINTS, HEAVY_SIGNALS, off_loop
from gridloom.monitoring.segments import SegmentColumns
from gridloom.monitoring.signal_id_cache import SignalIdCache

SERIES_DAY_BATCH_SIZE: Final = 2000
"""How much of what is stored is looked at together, to find what is overwritten."""
MANY_BODIES: Final = 200


@dataclass(slots=True)
class Stored:
    """What became of an asset's points; those beyond the limit of signals are refused."""

    written: int = 0
    overwritten: int = 0
    refused: int = 0
    newest_us: int = 0
    new_signals: list[str] = field(default_factory=list)


_dictionaries = SignalIdCache()


async def ingest(db: Database, points: Mapping[int, Points]) -> dict[int, Stored]:
    """Write each asset's points, in the transaction of `db`."""
    wanted = {asset_key: batch for asset_key, batch in points.items() if len(batch)}
    if not wanted:
        return {}
    heads = await store.lock_heads(db, list(wanted))
    outcomes: dict[int, Stored] = {}
    new_segments: list[store.NewSegment] = []
    latest: dict[int, bytes] = {}
    for asset_key, batch in wanted.items():
        head = heads[asset_key]
        outcome = outcomes[asset_key] = Stored()
        columns = await _arrange_columns(db, head, batch, outcome)
        if not len(columns):
            continue
        outcome.overwritten += await _count_overwritten(db, head, columns)
        outcome.written = len(batch) - outcome.refused - outcome.overwritten
        latest[asset_key], outcome.newest_us = _move_latest(head, columns)
        new_segments += await off_loop(_is_heavy(columns, columns.signal_ids), _make_segments, head, columns)
    if new_segments:
        await store.append(db, new_segments, latest)
    watched = [asset_key for asset_key, head in heads.items() if head.is_watched]
    if watched:
        await store.notify(db, watched)
    return outcomes


def _is_heavy(points: Sized, signals: Sized) -> bool:
    return len(points) > HEAVY_POINTS or len(signals) > HEAVY_SIGNALS


def _make_segments(head: store.Head, columns: SegmentColumns) -> list[store.NewSegment]:
    return [
        store.NewSegment(head.asset_key, head.sequence, market_date(day), len(part), segments.encode(part))
        for day, part in segments.by_day(columns)
    ]


async def _arrange_columns(db: Database, head: store.Head, batch: Points, outcome: Stored) -> SegmentColumns:
    ids = await _find_ids(db, head, batch, outcome)
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
        batch = Points(batch.names, batch.codes[allowed], batch.times[allowed], batch.values[allowed])
    if not len(batch):
        nothing = np.empty(0, dtype=np.int64)
        return SegmentColumns(nothing, nothing, nothing, np.empty(0)), refused
    return segments.sort_and_deduplicate(batch, ids), refused


async def _find_ids(db: Database, head: store.Head, batch: Points, outcome: Stored) -> NDArray[np.int64]:
    """The id of each of the batch's names, −1 for one too many; names that no point has stay unknown."""
    known = _dictionaries.find((head.asset_key, head.born))
    if len(known) != head.signal_count:
        known = await store.signal_ids(db, head.asset_key)
        _cache_ids(db, head, known)
    ids, new = await off_loop(_is_heavy(batch, batch.names), _number_names, batch, known)
    if new:
        await store.add_signals(db, head.asset_key, new)
        outcome.new_signals = list(new)
        _cache_ids(db, head, known | new)
    return ids


def _number_names(batch: Points, known: Mapping[str, int]) -> tuple[NDArray[np.int64], dict[str, int]]:
    """The id of each of the batch's names, and the names among them that are new."""
    unknown = [name for name in batch.names if name not in known]
    if unknown:
        used = np.zeros(len(batch.names), dtype=bool)
        used[batch.codes] = True
        unknown = [
            name for name, is_used in zip(batch.names, used.tolist(), strict=True) if is_used and name not in known
        ]
    new = {name: len(known) + place for place, name in enumerate(unknown) if len(known) + place < MAX_SIGNALS}
    ids = [known[name] if name in known else new.get(name, -1) for name in batch.names]
    return np.array(ids, dtype=np.int64), new


def _cache_ids(db: Database, head: store.Head, ids: dict[str, int]) -> None:
    """Only what is committed: ids that were rolled back may become those of other names."""
    after_commit(db, lambda: _dictionaries.keep((head.asset_key, head.born), ids))


async def _count_overwritten(db: Database, head: store.Head, columns: SegmentColumns) -> int:
    """How many of the points are stored already. Whatever is newer than all that is known needs no look."""
    late, days = await off_loop(_is_heavy(columns, columns.signal_ids), _find_late, head, columns)
    if not late:
        return 0
    at_once = max(1, SERIES_DAY_BATCH_SIZE // len(late))
    overwritten = 0
    for first in range(0, len(days), at_once):
        hot, cold = await store.bodies_on(db, head.asset_key, list(late), days[first : first + at_once])
        packed_bytes = sum(len(segment.body) for segment in hot) + sum(len(chunk.body) for chunk in cold)
        heavy = _is_heavy(columns, late) or packed_bytes > HEAVY_BYTES or len(hot) + len(cold) > MANY_BODIES
        overwritten += await off_loop(heavy, _count_common, hot, cold, late)
    return overwritten


def _find_late(head: store.Head, columns: SegmentColumns) -> tuple[dict[int, Times], list[date]]:
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
    return dict(compress(columns.times_by_signal(), is_late.tolist())), [market_date(day) for day in days]


def _count_common(
    hot: Sequence[store.StoredSegment], cold: Sequence[store.StoredChunk], late: Mapping[int, Times]
) -> int:
    """How many times of the new series the stored ones have too."""
    stored: dict[int, list[Times]] = defaultdict(list)
    for chunk in cold:
        stored[chunk.signal_id].append(codec.decode_times(chunk.body))
    for segment in hot:
        for signal_id, times in segments.decode_times(segment.body):
            if signal_id in late:
                stored[signal_id].append(times)
    # Signals that are sampled together share their times, here and there: each such group is looked at once.
    counts: dict[tuple[int, ...], int] = {}
    total = 0
    for signal_id, layers in stored.items():
        group = (id(late[signal_id]), *map(id, layers))
        if group not in counts:
            counts[group] = _count_among(late[signal_id], layers)
        total += counts[group]
    return total


def _count_among(times: Times, layers: Sequence[Times]) -> int:
    """How many of the times are in any of the layers; each is in order, and has no time twice."""
    are_there = np.zeros(len(times), dtype=bool)
    for layer in layers:
        if len(layer):
            places = np.searchsorted(layer, times)
            places[places == len(layer)] = 0
            are_there |= layer[places] == times
    return int(np.count_nonzero(are_there))


def _move_latest(head: store.Head, columns: SegmentColumns) -> tuple[bytes, int]:
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


REFUSED_HERE = Reason.TOO_MANY_SIGNALS
"""The one reason that only the store knows."""
