"""Segments: what one request brought for one asset and market day, in one body.

A segment is written once and never changed. The one with the higher sequence wins where two hold the same signal and
time, and every segment wins over what is compacted, so a correction costs what a first write costs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gridloom.monitoring import codec
from gridloom.monitoring.codec import Times, Values
from gridloom.monitoring.model import Points, SignalSeries, day_numbers

_HEADER = struct.Struct("<BHI")
_OWN_TIMES, _SHARED_TIMES = 0, 1


@dataclass(frozen=True, slots=True)
class SegmentColumns:
    """Points by signal, then time, no two alike: signal `signal_ids[i]` owns the next `counts[i]` of the points."""

    signal_ids: NDArray[np.int64]
    counts: NDArray[np.int64]
    times: Times
    values: Values

    def __len__(self) -> int:
        return len(self.times)

    def series(self) -> Iterator[tuple[int, SignalSeries]]:
        """Each signal's points; where all have the same times, these are one array."""
        shared = _shared_times(self)
        end = 0
        for signal_id, count in zip(self.signal_ids.tolist(), self.counts.tolist(), strict=True):
            start, end = end, end + count
            times = self.times[start:end] if shared is None else shared
            yield signal_id, SignalSeries(times, self.values[start:end])


def sort_and_deduplicate(points: Points, signal_ids: NDArray[np.int64]) -> SegmentColumns:
    """The points in order, the last of equal signal and time kept; `signal_ids[code]` is the id of the code's name."""
    keys, times, values = signal_ids[points.codes], points.times, points.values
    if not _is_ordered(keys, times):
        # Senders write time by time; a stable sort by signal alone is then enough, and cheap on small integers.
        order = np.argsort(keys.astype(np.uint16), kind="stable")
        keys, times, values = keys[order], times[order], values[order]
        if not _is_ordered(keys, times):
            order = np.lexsort((times, keys))
            keys, times, values = keys[order], times[order], values[order]
            kept = np.ones(len(keys), dtype=bool)
            kept[:-1] = (keys[1:] != keys[:-1]) | (times[1:] != times[:-1])
            keys, times, values = keys[kept], times[kept], values[kept]
    return _make_columns(keys, times, values)


def by_day(columns: SegmentColumns) -> Iterator[tuple[int, SegmentColumns]]:
    """The columns of each market day they touch."""
    first, last = day_numbers(np.array([columns.times.min(), columns.times.max()])).tolist()
    if first == last:
        yield first, columns
        return
    keys = np.repeat(columns.signal_ids, columns.counts)
    days = day_numbers(columns.times)
    order = np.argsort(days - first, kind="stable")
    found, starts = np.unique(days[order], return_index=True)
    for day, chosen in zip(found.tolist(), np.split(order, starts[1:]), strict=True):
        yield day, _make_columns(keys[chosen], columns.times[chosen], columns.values[chosen])


def encode(columns: SegmentColumns) -> bytes:
    ids, counts, times = columns.signal_ids, columns.counts, columns.times
    shared = _shared_times(columns)
    flag = _OWN_TIMES if shared is None else _SHARED_TIMES
    head = _HEADER.pack(flag, len(ids), len(times)) + ids.astype("<u2").tobytes()
    if shared is None:
        return head + counts.astype("<u4").tobytes() + codec.encode(times, columns.values)
    return head + codec.encode(shared, columns.values)


def decode(body: bytes) -> SegmentColumns:
    flag, signals, total = _HEADER.unpack_from(body)
    ids = np.frombuffer(body, "<u2", signals, _HEADER.size).astype(np.int64)
    start = _HEADER.size + 2 * signals
    if flag == _SHARED_TIMES:
        times, values = codec.decode(memoryview(body)[start:])
        return SegmentColumns(ids, np.full(signals, total // signals), np.tile(times, signals), values)
    counts = np.frombuffer(body, "<u4", signals, start).astype(np.int64)
    times, values = codec.decode(memoryview(body)[start + 4 * signals :])
    return SegmentColumns(ids, counts, times, values)


def decode_times(body: bytes) -> Iterator[tuple[int, Times]]:
    """The signals of a body and their times, without their values; where all have the same, they are one array."""
    flag, signals, _ = _HEADER.unpack_from(body)
    ids = signal_ids(body)
    start = _HEADER.size + 2 * signals
    if flag == _SHARED_TIMES:
        shared = codec.decode_times(memoryview(body)[start:])
        yield from ((signal_id, shared) for signal_id in ids)
        return
    ends = np.cumsum(np.frombuffer(body, "<u4", signals, start), dtype=np.int64)
    yield from zip(ids, np.split(codec.decode_times(memoryview(body)[start + 4 * signals :]), ends[:-1]), strict=True)


def signal_ids(body: bytes) -> list[int]:
    """The signals of a body, without unpacking it."""
    _, signals, _ = _HEADER.unpack_from(body)
    ids: list[int] = np.frombuffer(body, "<u2", signals, _HEADER.size).tolist()
    return ids


def point_count(body: bytes) -> int:
    points: int = _HEADER.unpack_from(body)[2]
    return points


def join(parts: Iterable[SegmentColumns]) -> SegmentColumns:
    """Segments in the order of their sequence as one: the later wins."""
    pieces = list(parts)
    if len(pieces) == 1:
        return pieces[0]
    keys = np.concatenate([np.repeat(piece.signal_ids, piece.counts) for piece in pieces])
    times = np.concatenate([piece.times for piece in pieces])
    values = np.concatenate([piece.values for piece in pieces])
    return sort_and_deduplicate(Points((), keys, times, values), np.arange(int(keys.max(initial=0)) + 1))


def merge_times(layers: Sequence[Times]) -> tuple[Times, NDArray[np.intp] | None]:
    """The times of layers, from the oldest to the newest, as one array, and which points of all layers these are:
    the newest of each time. None where these are all points in the order of the layers."""
    times = np.concatenate(layers)
    if bool((times[1:] > times[:-1]).all()):
        return times, None
    order = np.argsort(times, kind="stable")
    times = times[order]
    is_newest = np.append(times[1:] != times[:-1], True)
    return times[is_newest], order[is_newest]


def first_times(bodies: Iterable[bytes], known: Mapping[int, int]) -> dict[int, int]:
    """Each signal's first time, in the bodies or known from elsewhere."""
    firsts = dict(known)
    for body in bodies:
        for signal_id, times in decode_times(body):
            firsts[signal_id] = min(int(times[0]), firsts.get(signal_id, int(times[0])))
    return firsts


def _make_columns(keys: NDArray[np.int64], times: Times, values: Values) -> SegmentColumns:
    changes = np.flatnonzero(keys[1:] != keys[:-1]) + 1
    starts = np.concatenate(([0], changes))
    return SegmentColumns(keys[starts], np.diff(np.append(starts, len(keys))), times, values)


def _is_ordered(keys: NDArray[np.int64], times: Times) -> bool:
    same = keys[1:] == keys[:-1]
    return bool(((keys[1:] > keys[:-1]) | (same & (times[1:] > times[:-1]))).all())


def _shared_times(columns: SegmentColumns) -> Times | None:
    """The times that all signals have in common, where they do."""
    signals, count = len(columns.counts), int(columns.counts[0])
    if signals * count != len(columns) or not bool((columns.counts == count).all()):
        return None
    grid = columns.times.reshape(signals, count)
    return grid[0] if bool((grid == grid[0]).all()) else None
