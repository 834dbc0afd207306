"""Whole columns as PostgreSQL's binary COPY, made by numpy: an order of magnitude cheaper than row by row."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

HEADER: Final = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
TRAILER: Final = struct.pack(">h", -1)

INT4: Final = ">i4"
INT8: Final = ">i8"
FLOAT8: Final = ">f8"
TEXT: Final = "text"


def copy_bytes(columns: Sequence[tuple[str, Any]]) -> bytes:
    """Columns of one length, each with its form (INT4, INT8, FLOAT8, TEXT), as the bytes of a binary COPY."""
    fields = [_Text(cells) if form == TEXT else _Fixed(form, cells) for form, cells in columns]
    count = len(columns[0][1])
    sizes = sum((field.sizes for field in fields), np.full(count, 2, dtype=np.int64))
    ends = np.cumsum(sizes)
    buffer = np.zeros(int(ends[-1]), dtype=np.uint8)
    places = ends - sizes
    _put_cells(buffer, places, np.full(count, len(fields), dtype=">i2"))
    places = places + 2
    for field in fields:
        _put_cells(buffer, places, field.lengths.astype(">i4"))
        field.put(buffer, places + 4)
        places = places + field.sizes
    return b"".join((HEADER, buffer.tobytes(), TRAILER))


class _Fixed:
    def __init__(self, form: str, cells: Any) -> None:
        self.cells = np.asarray(cells).astype(form)
        self.lengths = np.full(len(self.cells), self.cells.itemsize, dtype=np.int64)
        self.sizes = self.lengths + 4

    def put(self, buffer: NDArray[np.uint8], places: NDArray[np.int64]) -> None:
        _put_cells(buffer, places, self.cells)


class _Text:
    def __init__(self, cells: Sequence[str]) -> None:
        encoded = [cell.encode() for cell in cells]
        self.content = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        self.lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
        self.sizes = self.lengths + 4

    def put(self, buffer: NDArray[np.uint8], places: NDArray[np.int64]) -> None:
        starts = np.cumsum(self.lengths) - self.lengths
        buffer[np.repeat(places - starts, self.lengths) + np.arange(len(self.content))] = self.content


def _put_cells(buffer: NDArray[np.uint8], places: NDArray[np.int64], cells: NDArray[Any]) -> None:
    width = cells.itemsize
    content = cells.view(np.uint8).reshape(len(cells), width)
    buffer[places[:, None] + np.arange(width)] = content
