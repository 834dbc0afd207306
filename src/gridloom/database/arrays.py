"""Long arrays of numbers on their way to PostgreSQL and back.

The driver looks at each number of a list by itself, which costs more than all else that is done with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import orjson
from numpy.typing import NDArray


def array_text(pieces: Sequence[NDArray[np.float64]]) -> str:
    """Numbers one after the other as PostgreSQL writes an array, for a parameter `::text::float8[]`; exact."""
    if not pieces:
        return "{}"
    numbers = np.concatenate(pieces) if len(pieces) > 1 else np.ascontiguousarray(pieces[0])
    return f"{{{orjson.dumps(numbers, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].decode()}}}"


def number_rows(packed: bytes | None, width: int) -> NDArray[np.float64]:
    """Rows of so many numbers each, from `string_agg(array_send(…), ''::bytea)` over arrays `float8[]`; exact."""
    arrays = np.frombuffer(packed or b"", _sent_array(width))
    return arrays["items"]["number"].astype(np.float64)


@cache
def _sent_array(width: int) -> np.dtype[np.void]:
    """How PostgreSQL sends an array of one dimension: dimensions, flags, type, length, lower bound; then each number
    behind its size in bytes."""
    return np.dtype([("head", ">i4", 5), ("items", [("size", ">i4"), ("number", ">f8")], width)])
