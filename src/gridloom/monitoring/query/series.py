"""Series as they are: blocks of compacted days with the segments laid over them."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from gridloom.market_calendar import market_date, market_day_number
from gridloom.monitoring import blocks, segments
from gridloom.monitoring.codec import PackedValues, TimeGrid, Times, Values, decode_grid, list_times
from gridloom.monitoring.model import DAY_US, EMPTY, SignalSeries, day_number, day_start, days_between
from gridloom.monitoring.offload import HEAVY_BYTES, HEAVY_SIGNALS, off_loop
from gridloom.monitoring.query.aggregation import Downsampling
from gridloom.monitoring.store import bodies
from gridloom.platform.database.pool import Database

POINT_BATCH_SIZE = 200_000
"""Points that a long read of one signal holds in memory at a time, about."""
MAX_GROUP_POINTS = 1_000_000
"""Of signals that are read by one statement; they are decoded one after the other."""
_MAX_DAY_BATCH_SIZE = 366
BUCKET_BATCH_SIZE = 16
"""Signals of which the buckets are made before the first is rendered: either work stays in the processor's cache."""


def assemble(
    found: bodies.StoredBodies,
    start_us: int,
    end_us: int,
    wanted_ids: Sequence[int] | None = None,
    way: Downsampling | None = None,
) -> Iterator[tuple[int, SignalSeries]]:
    """The points of [start, end) or their buckets, of each wanted signal in this order, or of each that has some.

    Values of blocks are decoded one signal at a time, and only those of the span. Signals that were sampled together
    have the same array of times: what depends on times alone is found once for all of them.
    """
    cuts: dict[int, tuple[TimeGrid, int, TimeGrid]] = {}

    def cut(times: TimeGrid) -> tuple[TimeGrid, int]:
        if id(times) not in cuts:
            first, end = (bisect_left(times, edge_us) for edge_us in (start_us, end_us))
            cuts[id(times)] = times[first:end], first, times  # the times themselves too, so that their id stays theirs
        return cuts[id(times)][:2]

    layers: dict[int, list[tuple[TimeGrid, Values | PackedValues]]] = defaultdict(list)
    for block in found.blocks:
        for signal_id, times, packed in blocks.unpack(block, decode_grid) if block.slices else ():
            within, first = cut(times)
            if len(within):
                layers[signal_id].append((within, PackedValues(packed, first, first + len(within))))
    chosen = None if wanted_ids is None else frozenset(wanted_ids)
    for segment in found.segments:
        if chosen is not None and chosen.isdisjoint(segments.signal_ids(segment.body)):
            continue
        for signal_id, series in segments.decode(segment.body).series():
            within, first = cut(series.times)
            if len(within) and (chosen is None or signal_id in chosen):
                layers[signal_id].append((within, series.values[first : first + len(within)]))
    orders: dict[tuple[int, ...], tuple[Times, NDArray[np.intp] | None]] = {}
    for signal_id in sorted(layers) if wanted_ids is None else wanted_ids:
        parts = layers.get(signal_id, ())
        summed = None if way is None or not parts else way.apply_packed(parts)
        if summed is not None or not parts:
            yield signal_id, summed or EMPTY
            continue
        key = tuple(id(times) for times, _ in parts)
        if key not in orders:
            arrays = [list_times(times) for times, _ in parts]
            orders[key] = segments.merge_times(arrays) if len(arrays) > 1 else (arrays[0], None)
        times, order = orders[key]
        decoded = [values.decode() if isinstance(values, PackedValues) else values for _, values in parts]
        values = decoded[0] if len(decoded) == 1 else np.concatenate(decoded)
        series = SignalSeries(times, values if order is None else values[order])
        yield signal_id, series if way is None else way.apply(series)


async def read(
    db: Database, asset_key: int, wanted_ids: Sequence[int], start_us: int, end_us: int
) -> dict[int, SignalSeries]:
    """The points of [start, end) of each signal, in one statement."""
    return {one: series async for one, series in read_each(db, asset_key, wanted_ids, start_us, end_us)}


async def read_each(
    db: Database, asset_key: int, wanted_ids: Sequence[int], start_us: int, end_us: int, way: Downsampling | None = None
) -> AsyncIterator[tuple[int, SignalSeries]]:
    """The same, or their buckets, one signal after the other in the order asked for."""
    found = await bodies.read_bodies(db, asset_key, wanted_ids, *days_between(start_us, end_us))
    assembled = assemble(found, start_us, end_us, wanted_ids, way)
    is_heavy = found.packed_bytes > len(wanted_ids) * (HEAVY_BYTES // 4) or len(wanted_ids) > HEAVY_SIGNALS
    is_heavy |= found.segment_bytes > HEAVY_BYTES // 4
    size = None if is_heavy else 1 if way is None else BUCKET_BATCH_SIZE
    while batch := await off_loop(is_heavy, list, islice(assembled, size)):
        for item in batch:
            yield item


async def read_in_steps(
    db: Database,
    asset_key: int,
    signal_id: int,
    start_us: int,
    end_us: int,
    *,
    before_us: int = 0,
    points: int | None = None,
) -> AsyncIterator[tuple[int, int, SignalSeries]]:
    """One signal by spans of whole market days, as many at a time as memory likes: each span and its series.

    before_us: also have the points of that long before each span, for values that hold on into it.
    points: how many the whole span has, about, where that is known.
    """
    days = 7 if points is None else _day_batch_size(int(points * DAY_US / (end_us - start_us)))
    while start_us < end_us:
        stop_us = min(end_us, day_start(day_number(start_us) + days))
        found = (await read(db, asset_key, (signal_id,), start_us - before_us, stop_us))[signal_id]
        yield start_us, stop_us, found
        spanned = max(1.0, (stop_us - start_us) / DAY_US)
        days = min(_day_batch_size(int(len(found) / spanned)), 4 * days)
        start_us = stop_us if len(found) else await next_day_with_points(db, asset_key, signal_id, stop_us, end_us)


async def next_day_with_points(db: Database, asset_key: int, signal_id: int, from_us: int, end_us: int) -> int:
    """Where the signal may speak again, so that years without points are not read day by day."""
    if from_us >= end_us:
        return end_us
    day = await bodies.next_day(db, asset_key, signal_id, market_date(day_number(from_us)))
    return end_us if day is None else max(from_us, day_start(market_day_number(day)))


def in_batches(wanted_ids: Sequence[int], in_segments: int, compacted: Mapping[int, int]) -> list[list[int]]:
    """The signals in their order, in groups of which each can be read in one go; one that is too large is read alone.

    Thousands of signals with a few points each are then a few statements, not thousands.
    """
    groups: list[list[int]] = []
    room = 0
    # Segments hold all signals together: the more there is in them, the fewer the times they may be unpacked.
    at_once = max(MAX_GROUP_POINTS, 2 * in_segments)
    for signal_id in wanted_ids:
        points = 1 + compacted.get(signal_id, 0)
        if not groups or points > room:
            groups.append([])
            room = at_once
        groups[-1].append(signal_id)
        room -= points
    return groups


def _day_batch_size(points_a_day: int) -> int:
    return max(1, min(_MAX_DAY_BATCH_SIZE, POINT_BATCH_SIZE // max(points_a_day, 1440)))
