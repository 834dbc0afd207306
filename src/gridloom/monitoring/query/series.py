"""Series as they stand: blocks of compacted days with the segments laid over them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from datetime import timedelta

from gridloom.database.pool import Database
from gridloom.monitoring import blocks, segments, store
from gridloom.monitoring.codec import Times
from gridloom.monitoring.market_days import DAY_US, day_number, day_start, market_date, market_day_number
from gridloom.monitoring.model import EMPTY, SignalSeries
from gridloom.monitoring.offload import HEAVY_BYTES, HEAVY_SIGNALS, off_loop

POINT_BATCH_SIZE = 200_000
"""What a long read holds in memory at a time, about."""
_MAX_DAY_BATCH_SIZE = 366


def assemble(
    found: store.StoredBodies, wanted_ids: Collection[int] | None = None
) -> Iterator[tuple[int, SignalSeries]]:
    """The series of each wanted signal, all where it is None, by id; the values of blocks are decoded one signal at a
    time."""
    above: dict[int, list[SignalSeries]] = defaultdict(list)
    for segment in found.segments:
        for signal_id, series in segments.decode(segment.body).series():
            if wanted_ids is None or signal_id in wanted_ids:
                above[signal_id].append(series)
    below: dict[int, list[tuple[Times, store.StoredBlock, bytes]]] = defaultdict(list)
    for block in found.blocks:
        for signal_id, times, packed in blocks.unpack(block) if block.slices else ():
            below[signal_id].append((times, block, packed))
    for signal_id in sorted(above.keys() | below.keys()):
        below_it = below.get(signal_id, ())
        layers = [SignalSeries(times, blocks.decode_values(block, packed)) for times, block, packed in below_it]
        yield signal_id, segments.merge_last_wins([*layers, *above.pop(signal_id, ())])


def _assemble_between(
    found: store.StoredBodies, wanted_ids: Sequence[int], start_us: int, end_us: int
) -> dict[int, SignalSeries]:
    between = {
        signal_id: series.between(start_us, end_us) for signal_id, series in assemble(found, frozenset(wanted_ids))
    }
    return {signal_id: between.get(signal_id, EMPTY) for signal_id in wanted_ids}


async def read(
    db: Database, asset_key: int, wanted_ids: Sequence[int], start_us: int, end_us: int
) -> dict[int, SignalSeries]:
    """The points of [start, end) of each signal, in one statement."""
    first, last = day_number(start_us), day_number(end_us - 1)
    found = await store.read_bodies(db, asset_key, wanted_ids, market_date(first), market_date(last))
    is_heavy = found.packed_bytes > HEAVY_BYTES // 4 or len(wanted_ids) > HEAVY_SIGNALS
    return await off_loop(is_heavy, _assemble_between, found, wanted_ids, start_us, end_us)


async def read_in_steps(
    db: Database,
    asset_key: int,
    signal_id: int,
    start_us: int,
    end_us: int,
    *,
    before: timedelta = timedelta(),
    points: int | None = None,
) -> AsyncIterator[tuple[int, int, SignalSeries]]:
    """One signal by spans of whole market days, as many at a time as memory likes: each span and its series.

    before: also have the points of that long before each span, for values that hold on into it.
    points: how many the whole span has, about, where that is known.
    """
    before_us = before // timedelta(microseconds=1)
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
    day = await store.next_day(db, asset_key, signal_id, market_date(day_number(from_us)))
    return end_us if day is None else max(from_us, day_start(market_day_number(day)))


async def count_points(
    db: Database, asset_key: int, wanted_ids: Sequence[int], start_us: int, end_us: int
) -> tuple[int, dict[int, int]]:
    """How many points a span has at most: of all signals in segments, and of each wanted one elsewhere."""
    first, last = day_number(start_us), day_number(end_us - 1)
    return await store.points_between(db, asset_key, wanted_ids, market_date(first), market_date(last))


def in_batches(wanted_ids: Sequence[int], in_segments: int, compacted: Mapping[int, int]) -> list[list[int]]:
    """The signals in their order, in groups of which each can be read in one go; one that is too large stands alone.

    Thousands of signals with a few points each are then a few statements, not thousands.
    """
    groups: list[list[int]] = []
    room = 0
    # Segments hold all signals together: the more there is in them, the fewer the times they may be unpacked.
    at_once = max(POINT_BATCH_SIZE, 2 * in_segments)
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
