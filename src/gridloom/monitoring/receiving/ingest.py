"""Storing what a request brought: under the asset's lock, one segment per market day, durable at the commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gridloom.database.after_commit import after_commit
from gridloom.database.pool import Database
from gridloom.monitoring import segments, store
from gridloom.monitoring.dictionaries import Dictionaries
from gridloom.monitoring.market_days import date_of, day_numbers
from gridloom.monitoring.model import LATEST, MOST_SIGNALS, Points, Reason, Series
from gridloom.monitoring.offload import HEAVY_POINTS, off_loop
from gridloom.monitoring.reading.series import assemble
from gridloom.monitoring.segments import Columns

SERIES_DAYS_AT_ONCE: Final = 2000
"""How much of what is stored is looked at together, to find what is overwritten."""


@dataclass(slots=True)
class Stored:
    """What became of an asset's points; those beyond the limit of signals are refused."""

    written: int = 0
    overwritten: int = 0
    refused: int = 0
    newest_us: int = 0
    new_signals: list[str] = field(default_factory=list)


_dictionaries = Dictionaries()


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
        new_segments += await off_loop(len(columns) > HEAVY_POINTS, _make_segments, head, columns)
    if new_segments:
        await store.append(db, new_segments, latest)
    watched = [asset_key for asset_key, head in heads.items() if head.is_watched]
    if watched:
        await store.notify(db, watched)
    return outcomes


def _make_segments(head: store.Head, columns: Columns) -> list[store.NewSegment]:
    return [
        store.NewSegment(head.asset_key, head.sequence, date_of(day), len(part), segments.encode(part))
        for day, part in segments.by_day(columns)
    ]


async def _arrange_columns(db: Database, head: store.Head, batch: Points, outcome: Stored) -> Columns:
    ids = await _find_ids(db, head, batch, outcome)
    if (ids < 0).any():
        allowed = ids[batch.codes] >= 0
        outcome.refused = int(np.count_nonzero(~allowed))
        batch = Points(batch.names, batch.codes[allowed], batch.times[allowed], batch.values[allowed])
    if not len(batch):
        nothing = np.empty(0, dtype=np.int64)
        return Columns(nothing, nothing, nothing, np.empty(0))
    columns = await off_loop(len(batch) > HEAVY_POINTS, segments.arrange, batch, ids)
    # Repeated within the request: the last one counts, and has overwritten the others.
    outcome.overwritten = len(batch) - len(columns)
    return columns


async def _find_ids(db: Database, head: store.Head, batch: Points, outcome: Stored) -> NDArray[np.int64]:
    """The id of each of the batch's names, −1 for one too many; names that no point has stay unknown."""
    ids = _dictionaries.find((head.asset_key, head.born))
    if len(ids) != head.signal_count:
        ids = await store.signal_ids(db, head.asset_key)
        _remember_ids(db, head, ids)
    unknown = [name for name in batch.names if name not in ids]
    if unknown:
        used = np.zeros(len(batch.names), dtype=bool)
        used[batch.codes] = True
        unknown = [
            name for name, is_used in zip(batch.names, used.tolist(), strict=True) if is_used and name not in ids
        ]
    new = {name: len(ids) + place for place, name in enumerate(unknown) if len(ids) + place < MOST_SIGNALS}
    if new:
        await store.add_signals(db, head.asset_key, new)
        outcome.new_signals = list(new)
        ids = ids | new
        _remember_ids(db, head, ids)
    return np.array([ids.get(name, -1) for name in batch.names], dtype=np.int64)


def _remember_ids(db: Database, head: store.Head, ids: dict[str, int]) -> None:
    """Only what is committed: ids that were rolled back may become those of other names."""
    after_commit(db, lambda: _dictionaries.keep((head.asset_key, head.born), ids))


async def _count_overwritten(db: Database, head: store.Head, columns: Columns) -> int:
    """How many of the points are stored already. Whatever is newer than all that is known needs no look."""
    latest = np.frombuffer(head.latest, LATEST)
    late = {
        signal_id: series
        for signal_id, series in columns.series()
        if signal_id < len(latest) and series.times[0] <= latest["time"][signal_id]
    }
    if not late:
        return 0
    days = [date_of(day) for day in np.unique(day_numbers(columns.times)).tolist()]
    at_once = max(1, SERIES_DAYS_AT_ONCE // len(late))
    overwritten = 0
    for first in range(0, len(days), at_once):
        hot, cold = await store.bodies_on(db, head.asset_key, list(late), days[first : first + at_once])
        heavy = len(columns) > HEAVY_POINTS or len(hot) + len(cold) > SERIES_DAYS_AT_ONCE // 10
        overwritten += await off_loop(heavy, _count_common, hot, cold, late)
    return overwritten


def _count_common(
    hot: Sequence[store.StoredSegment], cold: Sequence[store.StoredChunk], late: Mapping[int, Series]
) -> int:
    """How many times of the new series the stored ones have too."""
    return sum(
        int(np.count_nonzero(np.isin(late[signal_id].times, stored.times, assume_unique=True)))
        for signal_id, stored in assemble(hot, cold, late).items()
    )


def _move_latest(head: store.Head, columns: Columns) -> tuple[bytes, int]:
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
