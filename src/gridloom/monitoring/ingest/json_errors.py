"""What both forms of JSON share: reading, and saying what is wrong and where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from gridloom.kernel.problem import BadRequest, FieldError
from gridloom.monitoring.codec import Times, Values
from gridloom.monitoring.ingest import timestamps
from gridloom.monitoring.ingest.columns import FINE, Faults, error
from gridloom.monitoring.model import Reason

_anything = msgspec.json.Decoder()


def unreadable(error: Exception) -> BadRequest:
    return BadRequest(f"The body is not valid JSON: {error}.")


def read(body: bytes) -> Any:
    try:
        return _anything.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise unreadable(error) from None


def read_lines(body: bytes) -> Iterator[Any]:
    """Line by line, so that a search for the first error reads no further."""
    start = 0
    while start < len(body):
        end = body.find(b"\n", start)
        end = len(body) if end < 0 else end
        line = body[start:end].strip()
        start = end + 1
        if not line:
            continue
        try:
            yield _anything.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise unreadable(error) from None


def mapping(value: Any, pointer: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadRequest("The body does not have the shape of points.", [FieldError(pointer, "is not an object")])
    return value


def check_keys(found: dict[str, Any], needed: set[str], allowed: set[str], pointer: str) -> None:
    missing = [FieldError(f"{pointer}/{key}", "is missing") for key in sorted(needed - found.keys())]
    unknown = [FieldError(f"{pointer}/{escaped(key)}", "is not known here") for key in sorted(found.keys() - allowed)]
    if missing or unknown:
        raise BadRequest("The body does not have the shape of points.", [*missing, *unknown])


def loose_times(texts: list[Any]) -> tuple[Times, Faults]:
    return timestamps.from_arrow(pa.array([text if isinstance(text, str) else None for text in texts], pa.string()))


_NUMBERS = frozenset({int, float})


def loose_numbers(numbers: list[Any]) -> tuple[Values, Faults]:
    good = np.fromiter(map(_NUMBERS.__contains__, map(type, numbers)), dtype=bool, count=len(numbers))
    faults = np.where(good, FINE, error(Reason.INVALID_VALUE)).astype(np.uint8)
    kept = (
        numbers if good.all() else [number if is_good else 0.0 for number, is_good in zip(numbers, good, strict=True)]
    )
    try:
        return np.array(kept, dtype=np.float64), faults
    except OverflowError:
        pass  # a whole number beyond all doubles; the slow way finds it
    values = np.zeros(len(kept), dtype=np.float64)
    for position, number in enumerate(kept):
        try:
            values[position] = number
        except OverflowError:
            faults[position] = error(Reason.VALUE_NOT_FINITE)
    return values, faults


def escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
