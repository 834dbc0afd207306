"""Series as they stand: the chunks of closed days with the segments laid over them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Sequence
from datetime import timedelta

from gridloom.database.pool import Database
from gridloom.monitoring import codec, segments, store
from gridloom.monitoring.market_days import DAY_US, date_of, day_number, day_start, number_of
from gridloom.monitoring.model import EMPTY, Series
from gridloom.monitoring.offload import HEAVY_BYTES, HEAVY_SIGNALS, off_loop

POINTS_AT_ONCE = 200_000
"""What a long read holds in memory at a time, about."""
_MOST_DAYS_AT_ONCE = 366


def assemble(
    hot: Sequence[store.StoredSegment], cold: Sequence[store.StoredChunk], wanted_ids: Collection[int]
) -> dict[int, Series]:
    """The series of each wanted signal; `cold` in the order of days, `hot` in that of their sequence."""
    layers: dict[int, list[Series]] = defaultdict(list)
    for chunk in cold:
        layers[chunk.signal_id].append(Series(*codec.decode(chunk.body)))
    for segment in hot:
        for signal_id, series in segments.decode(segment.body).series():
            if signal_id in wanted_ids:
                layers[signal_id].append(series)
    return {signal_id: segments.overlay(found) for signal_id, found in layers.items()}


def _assemble_between(
    hot: Sequence[store.StoredSegment],
    cold: Sequence[store.StoredChunk],
    wanted_ids: Sequence[int],
    start_us: int,
    end_us: int,
) -> dict[int, Series]:
    series = assemble(hot, cold, set(wanted_ids))
    return {signal_id: series.get(signal_id, EMPTY).between(start_us, end_us) for signal_id in wanted_ids}


async def read(
    db: Database, asset_key: int, wanted_ids: Sequence[int], start_us: int, end_us: int
) -> dict[int, Series]:
    """The points of [start, end) of each signal, in one statement."""
    first, last = day_number(start_us), day_number(end_us - 1)
    hot, cold = await store.bodies_between(db, asset_key, wanted_ids, date_of(first), date_of(last))
    packed_bytes = sum(len(segment.body) for segment in hot) + sum(len(chunk.body) for chunk in cold)
    is_heavy = packed_bytes > HEAVY_BYTES // 4 or len(wanted_ids) > HEAVY_SIGNALS
    return await off_loop(is_heavy, _assemble_between, hot, cold, wanted_ids, start_us, end_us)


async def read_in_steps(
    db: Database, asset_key: int, signal_id: int, start_us: int, end_us: int, *, before: timedelta = timedelta()
) -> AsyncIterator[tuple[int, int, Series]]:
    """One signal by spans of whole market days, as many at a time as memory likes: each span and its series.

    before: also have the points of that long before each span, for values that hold on into it.
    """
    before_us = before // timedelta(microseconds=1)
    typical = await store.typical_points_a_day(db, asset_key, signal_id)
    # Where nothing was folded yet, nobody knows how dense it is.
    days = _days_at_once(typical) if typical else 7
    while start_us < end_us:
        first_day = day_number(start_us)
        stop_us = min(end_us, day_start(first_day + days))
        found = (await read(db, asset_key, (signal_id,), start_us - before_us, stop_us))[signal_id]
        yield start_us, stop_us, found
        spanned = max(1.0, (stop_us - start_us) / DAY_US)
        days = min(_days_at_once(max(typical, int(len(found) / spanned))), 4 * days)
        start_us = stop_us if len(found) else await after_silence(db, asset_key, signal_id, stop_us, end_us)


async def after_silence(db: Database, asset_key: int, signal_id: int, from_us: int, end_us: int) -> int:
    """Where the signal may speak again, so that nobody walks through years without points day by day."""
    if from_us >= end_us:
        return end_us
    day = await store.next_day(db, asset_key, signal_id, date_of(day_number(from_us)))
    return end_us if day is None else max(from_us, day_start(number_of(day)))


async def in_groups(
    db: Database, asset_key: int, wanted_ids: Sequence[int], start_us: int, end_us: int
) -> list[list[int]]:
    """The signals in their order, in groups of which each can be read in one go; one that is too large stands alone.

    Thousands of signals with a few points each are then a few statements, not thousands.
    """
    if not wanted_ids:
        return []
    first, last = day_number(start_us), day_number(end_us - 1)
    hot, cold = await store.points_between(db, asset_key, wanted_ids, date_of(first), date_of(last))
    groups: list[list[int]] = []
    room = 0
    # Segments hold all signals together: the more there is in them, the fewer the times they may be unpacked.
    at_once = max(POINTS_AT_ONCE, 2 * hot)
    for signal_id in wanted_ids:
        points = 1 + cold.get(signal_id, 0)
        if not groups or points > room:
            groups.append([])
            room = at_once
        groups[-1].append(signal_id)
        room -= points
    return groups


def _days_at_once(points_a_day: int) -> int:
    return max(1, min(_MOST_DAYS_AT_ONCE, POINTS_AT_ONCE // max(points_a_day, 1440)))
