"""Blocks: all signals of an asset over one or several market days of a month.

Times that signals share are stored once. The values of each signal are a slice of the body, and its days are summed up
beside it, so that one signal, or its days, is read without the rest.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridloom.market_calendar import market_day_number
from gridloom.monitoring import codec
from gridloom.monitoring.codec import Times
from gridloom.monitoring.model import SUMMARY, SignalSeries, day_starts
from gridloom.monitoring.store.bodies import StoredBlock
from gridloom.monitoring.store.compaction import PackedBlock

_TIMES_HEADER = struct.Struct("<HH")


def encode(first_day: date, last_day: date, found: Iterable[tuple[int, SignalSeries]]) -> PackedBlock:
    """The series of each signal, one at a time; none is empty."""
    ids, points, first_us, slices, summaries, grids_of = [], [], [], [], [], []
    grids: dict[bytes, int] = {}
    bounds = day_starts(np.arange(market_day_number(first_day), market_day_number(last_day) + 2))
    for signal_id, series in found:
        ids.append(signal_id)
        points.append(len(series))
        first_us.append(int(series.times[0]))
        slices.append(codec.encode_values(series.values))
        summaries.append(_summarise_days(series, bounds).tobytes())
        grids_of.append(grids.setdefault(series.times.tobytes(), len(grids)))
    packed = [codec.encode_times(np.frombuffer(grid, np.int64)) for grid in grids]
    header = _TIMES_HEADER.pack(len(ids), len(packed)) + np.array(grids_of, "<u2").tobytes()
    times = header + np.array([len(grid) for grid in packed], "<u4").tobytes() + b"".join(packed)
    starts = list(accumulate(map(len, slices), initial=0))
    return PackedBlock(first_day, last_day, ids, points, first_us, starts, times, b"".join(summaries), b"".join(slices))


def unpack(
    block: StoredBlock, decode: Callable[[memoryview], Any] = codec.decode_times
) -> Iterator[tuple[int, Any, bytes]]:
    """Each signal that was asked for, its times as they were decoded, and its packed values, empty where they were not
    asked for. Signals that share their times have the same object."""
    signals, grids = _TIMES_HEADER.unpack_from(block.times)
    grids_of = np.frombuffer(block.times, "<u2", signals, _TIMES_HEADER.size)
    start = _TIMES_HEADER.size + 2 * signals
    lengths = np.frombuffer(block.times, "<u4", grids, start).tolist()
    edges = list(accumulate(lengths, initial=start + 4 * grids))
    decoded: dict[int, Any] = {}
    for index, packed in zip(block.indices, block.slices or [b""] * len(block.indices), strict=True):
        grid = int(grids_of[index])
        if grid not in decoded:
            decoded[grid] = decode(memoryview(block.times)[edges[grid] : edges[grid + 1]])
        yield block.signal_ids[index], decoded[grid], packed


def _summarise_days(series: SignalSeries, bounds: Times) -> NDArray[np.void]:
    """A record for each day, all zero where it has no points."""
    edges = np.searchsorted(series.times, bounds)
    summaries = np.zeros(len(bounds) - 1, SUMMARY)
    summaries["points"] = np.diff(edges)
    held = np.flatnonzero(summaries["points"])
    starts, values = edges[held], series.values
    summaries["first"][held] = values[starts]
    summaries["last"][held] = values[edges[held + 1] - 1]
    summaries["lowest"][held] = np.minimum.reduceat(values, starts)
    summaries["highest"][held] = np.maximum.reduceat(values, starts)
    with np.errstate(over="ignore", invalid="ignore"):
        summaries["total"][held] = np.add.reduceat(values, starts)
    return summaries
