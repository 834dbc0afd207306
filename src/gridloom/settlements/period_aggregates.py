"""A market day's measures as arrays, and the bytes in which a row keeps them.

A period source (trades, netting, activations) has one column a delivery period, 92, 96 or 100 of them; a block source
(FCR and aFRR capacity) has one a wall-clock block, six of them. A row is a measure.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gridloom.market_calendar import Ints, block_period_counts
from gridloom.settlements.measures import BLOCK_SOURCES, FactSource, measure_count

FloatArray: TypeAlias = NDArray[np.float64]

CODEC = pa.Codec("lz4_raw")
"""A tenth larger than zstd, but packed and unpacked more than twice as fast, and a report unpacks a thousand sheets."""


def encode_aggregates(source: FactSource, sheet: FloatArray) -> bytes | None:
    """None for a day without anything to say."""
    if not sheet.any():
        return None
    raw = np.ascontiguousarray(sheet, dtype="<f8").tobytes()
    return raw if source in BLOCK_SOURCES else CODEC.compress(raw, asbytes=True)


def readable_sheet(source: FactSource, body: bytes | None, width: int) -> FloatArray | None:
    """The same for a body that may be anything: None where it cannot be a sheet of that width."""
    try:
        return decode_sheets(source, [body], [width])
    except (pa.ArrowException, OSError, ValueError):
        return None


def decode_sheets(
    source: FactSource, bodies: Sequence[bytes | None], widths: Sequence[int], into: FloatArray | None = None
) -> FloatArray:
    """The sheets of consecutive days side by side; a day without one is 0. Days of one width are read as one array."""
    count = measure_count(source)
    result = np.empty((count, sum(widths))) if into is None else into
    first = index = 0
    for width, days in groupby(widths):
        last = first + len(list(days))
        size = 8 * count * width
        raw = b"".join(
            [bytes(size) if body is None else _unpack_raw(source, body, size) for body in bodies[first:last]]
        )
        sheets = np.frombuffer(raw, dtype="<f8").reshape(last - first, count, width)
        until = index + (last - first) * width
        result[:, index:until].reshape(count, last - first, width)[:] = sheets.transpose(1, 0, 2)
        first, index = last, until
    return result


def _unpack_raw(source: FactSource, body: bytes, size_bytes: int) -> bytes:
    return body if source in BLOCK_SOURCES else CODEC.decompress(body, size_bytes, asbytes=True)


def scatter(source: FactSource, records: bytes, column_count: int) -> FloatArray:
    """The sheet from what PostgreSQL has summed up: for each period or block its index and its measures."""
    count = measure_count(source)
    sheet = np.zeros((count, column_count))
    found = np.frombuffer(records, dtype=[("index", ">i4"), ("measures", ">f8", (count,))])
    sheet[:, found["index"]] = found["measures"].T
    return sheet


def spread_blocks(blocks: FloatArray, numbers: Ints) -> FloatArray:
    """Blocks of consecutive days over their periods, evenly: measures × (6 a day) to measures × periods."""
    counts = block_period_counts(numbers).ravel()
    return np.repeat(blocks / counts, counts, axis=1)


def day_sums(sheets: Sequence[FloatArray]) -> FloatArray:
    """One row a day, one column a measure."""
    return np.array([sheet.sum(axis=1) for sheet in sheets])
