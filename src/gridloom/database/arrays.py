"""Long arrays of numbers on their way to PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import orjson
from numpy.typing import NDArray


def array_text(pieces: Sequence[NDArray[np.float64]]) -> str:
    """Numbers one after the other as PostgreSQL writes an array, for a parameter `::text::float8[]`; exact.

    The driver looks at each number of a list by itself, which costs more than all else that is done with it.
    """
    if not pieces:
        return "{}"
    numbers = np.concatenate(pieces) if len(pieces) > 1 else np.ascontiguousarray(pieces[0])
    return f"{{{orjson.dumps(numbers, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].decode()}}}"
