"""Long arrays of numbers on their way to PostgreSQL and back.

The driver looks at each number of a list by itself, which costs more than all else that is done with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import orjson
from numpy.typing import NDArray


def format_float8_array(numbers: NDArray[np.float64]) -> str:
    """Numbers as PostgreSQL writes an array, for `::float8[]` behind a parameter of text; exact."""
    if numbers.size == 1:
        return f"{{{numbers.item()!r}}}"
    return f"{{{orjson.dumps(np.ascontiguousarray(numbers), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].decode()}}}"


def format_int_array(numbers: Sequence[int]) -> str:
    """The same for `::int[]`."""
    return f"{{{','.join(map(str, numbers))}}}"


def decode_float8_arrays(packed: bytes | None, width: int) -> NDArray[np.float64]:
    """Rows of so many numbers each, from `string_agg(array_send(…), ''::bytea)` over arrays `float8[]`; exact."""
    arrays = np.frombuffer(packed or b"", _sent_array(width))
    return arrays["items"]["number"].astype(np.float64)


@cache
def _sent_array(width: int) -> np.dtype[np.void]:
    """How PostgreSQL sends an array of one dimension: dimensions, flags, type, length, lower bound; then each number
    behind its size in bytes."""
    return np.dtype([("head", ">i4", 5), ("items", [("size", ">i4"), ("number", ">f8")], width)])
