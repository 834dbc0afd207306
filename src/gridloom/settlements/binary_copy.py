"""Whole columns as PostgreSQL's binary COPY, put together by numpy and Arrow and never row by row."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

HEADER: Final = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
TRAILER: Final = struct.pack(">h", -1)

INT2: Final = ">i2"
INT4: Final = ">i4"
INT8: Final = ">i8"
FLOAT8: Final = ">f8"
TEXT: Final = "text"


def copy_bytes(columns: Sequence[tuple[str, Any]]) -> bytes:
    """Columns of one length, each with its form (INT4, INT8, FLOAT8, or TEXT for an Arrow array), as a binary COPY."""
    count = len(columns[0][1])
    parts: list[pa.Array] = []
    strip: list[tuple[str, Any]] = [(INT2, len(columns))]
    for form, cells in columns:
        if form == TEXT:
            strip.append((INT4, pc.binary_length(cells).to_numpy()))
            parts += [_pack_strip(strip, count), cells.cast(pa.binary())]
            strip = []
        else:
            strip += [(INT4, np.dtype(form).itemsize), (form, cells)]
    if strip:
        parts.append(_pack_strip(strip, count))
    rows = pc.binary_join_element_wise(*parts, b"")
    _, offsets, content = rows.buffers()
    end = int(np.frombuffer(offsets, dtype=np.int32)[count])
    return b"".join((HEADER, memoryview(content)[:end], TRAILER))


def _pack_strip(fields: Sequence[tuple[str, Any]], count: int) -> pa.Array:
    """The bytes between two texts of a row, as wide in every row: for each field one cell a row, or one for all."""
    packed = np.empty(count, dtype=[(f"f{n}", form) for n, (form, _) in enumerate(fields)])
    for n, (_, cells) in enumerate(fields):
        packed[f"f{n}"] = cells
    wide = pa.binary(packed.itemsize)
    return pa.Array.from_buffers(wide, count, [None, pa.py_buffer(packed.view(np.uint8))]).cast(pa.binary())
