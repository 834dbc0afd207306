"""RFC 3339 timestamps by the column: Arrow reads them; where it stumbles, each text gets its fault."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gridloom.monitoring.codec import Times
from gridloom.monitoring.model import TimeUnit

Faults = NDArray[np.uint8]

FINE: Final = 0
MALFORMED: Final = 1
WITHOUT_OFFSET: Final = 2

_US_PER_UNIT: Final = {TimeUnit.SECONDS: 1_000_000, TimeUnit.MILLISECONDS: 1000, TimeUnit.MICROSECONDS: 1}
_WHOLE: Final = r"^-?[0-8]?\d{1,18}$"
_DECIMAL: Final = r"^-?\d{1,19}(\.\d+)?([eE][+]?\d{1,2})?$"
_TIME: Final = pa.timestamp("us", tz="UTC")
_IN_UTC: Final = len("2026-01-01T00:00:00Z")
_WITH_OFFSET: Final = len("2026-01-01T00:00:00+00:00")
_YEAR_1_US: Final = -62_135_596_800_000_000
_LONGEST: Final = 35
_SLICE: Final = 16_384
"""Faults are few and lie together: only the slices that hold them are looked at closely."""

_DAY_AND_TIME: Final = (
    r"^\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|[12]\d))"
    r"[Tt ](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?"
)
_OFFSET: Final = r"(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$"


def from_arrow(texts: pa.Array) -> tuple[Times, Faults]:
    """Microseconds since 1970 of each text, and what is wrong with it; nulls are malformed.

    Digits beyond microseconds are cut off.
    """
    texts = texts.cast(pa.string())
    all_times = _cast_all(texts)
    if all_times is not None:
        return all_times, np.zeros(len(texts), dtype=np.uint8)
    times, faults = np.zeros(len(texts), dtype=np.int64), np.zeros(len(texts), dtype=np.uint8)
    for first in range(0, len(texts), _SLICE):
        some, rows = texts.slice(first, _SLICE), slice(first, first + _SLICE)
        some_times = _cast_all(some)
        if some_times is None:
            times[rows], faults[rows] = _cast_each(some)
        else:
            times[rows] = some_times
    return times, faults


def from_numbers(numbers: pa.Array, unit: TimeUnit) -> tuple[Times, Faults]:
    """Microseconds since 1970 of each number of `unit`; nulls are malformed, as is what is not finite.

    What would overflow is out of any range; the range check says so.
    """
    faults = np.zeros(len(numbers), dtype=np.uint8)
    if numbers.null_count:
        faults[numbers.is_null().to_numpy(zero_copy_only=False)] = MALFORMED
        numbers = numbers.fill_null(0)
    if pa.types.is_integer(numbers.type):
        if pa.types.is_uint64(numbers.type):
            numbers = pc.min_element_wise(numbers, pa.scalar(2**63 - 1, pa.uint64()))
        whole = numbers.cast(pa.int64()).to_numpy(zero_copy_only=False)
        if unit is TimeUnit.NANOSECONDS:
            return whole // 1000, faults
        factor = _US_PER_UNIT[unit]
        return np.clip(whole, -(2**62) // factor, 2**62 // factor) * factor, faults
    values = numbers.cast(pa.float64()).to_numpy(zero_copy_only=False)
    faults[~np.isfinite(values)] = MALFORMED
    per_unit = 0.001 if unit is TimeUnit.NANOSECONDS else _US_PER_UNIT[unit]
    scaled = np.clip(np.nan_to_num(values) * per_unit, -(2.0**62), 2.0**62)
    return np.rint(scaled).astype(np.int64), faults


def from_number_texts(texts: pa.Array, unit: TimeUnit) -> tuple[Times, Faults]:
    """The same of numbers that come as texts; whole ones keep every digit."""
    texts = texts.cast(pa.string())
    try:
        return from_numbers(texts.cast(pa.int64()), unit)
    except pa.ArrowInvalid:
        pass
    whole = _match_texts(texts, _WHOLE)
    times, faults = from_numbers(pc.if_else(pa.array(whole), texts, None).cast(pa.int64()), unit)
    decimal = ~whole & _match_texts(texts, _DECIMAL)
    times[decimal], faults[decimal] = from_numbers(texts.filter(pa.array(decimal)).cast(pa.float64()), unit)
    return times, faults


def _cast_all(texts: pa.StringArray) -> Times | None:
    """All of them, in one go; None if Arrow cannot read one, or might read more into one than it says."""
    if texts.null_count or not _are_complete(texts):
        return None
    try:
        times: Times = texts.cast(_TIME).cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return None
    return None if len(times) and int(times.min()) < _YEAR_1_US else times


def _are_complete(texts: pa.StringArray) -> bool:
    """Whether each has its seconds, and ends in Z or an offset of hours and minutes. Arrow takes less than that."""
    if not len(texts):
        return True
    _, offset_buffer, data_buffer = texts.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32, len(texts) + 1, 4 * texts.offset)
    lengths = np.diff(offsets)
    if int(lengths.min()) < _IN_UTC:
        return False
    data, ends = np.frombuffer(data_buffer, np.uint8), offsets[1:]
    in_utc = data[ends - 1] == ord("Z")
    if in_utc.all():
        return True
    sign, colon = data[ends - 6], data[ends - 3]
    with_offset = (lengths >= _WITH_OFFSET) & ((sign == ord("+")) | (sign == ord("-"))) & (colon == ord(":"))
    return bool((in_utc | with_offset).all())


def _cast_each(texts: pa.StringArray) -> tuple[Times, Faults]:
    """The good are read, the others get their faults."""
    times = np.zeros(len(texts), dtype=np.int64)
    faults = np.full(len(texts), MALFORMED, dtype=np.uint8)
    exists = _match_texts(texts, _DAY_AND_TIME) & _is_day_of_its_year(texts)
    faults[exists & _match_texts(texts, _DAY_AND_TIME + "$")] = WITHOUT_OFFSET
    good = exists & _match_texts(texts, _DAY_AND_TIME + _OFFSET)
    faults[good] = FINE
    readable = pc.utf8_upper(pc.replace_substring_regex(texts.filter(pa.array(good)), r"(\.\d{6})\d+", r"\1"))
    times[good] = readable.cast(_TIME).cast(pa.int64()).to_numpy()
    return times, faults


def _match_texts(texts: pa.StringArray, pattern: str) -> NDArray[np.bool_]:
    matched: NDArray[np.bool_] = (
        pc.match_substring_regex(texts, pattern).fill_null(False).to_numpy(zero_copy_only=False)
    )
    return matched


def _is_day_of_its_year(texts: pa.StringArray) -> NDArray[np.bool_]:
    """Whether a 29 February has its leap year, and the year is one; only of texts that look like a day and time."""
    looks = _match_texts(texts, r"^\d{4}-\d\d-\d\d")
    years = np.ones(len(texts), dtype=np.int64)
    years[looks] = pc.utf8_slice_codeunits(texts.filter(pa.array(looks)), 0, 4).cast(pa.int64()).to_numpy()
    is_leap_year = (years % 4 == 0) & ((years % 100 != 0) | (years % 400 == 0))
    exists: NDArray[np.bool_] = (years >= 1) & (is_leap_year | ~_match_texts(texts, r"^\d{4}-02-29"))
    return exists


def from_json(array: bytes | memoryview, *, is_fast: bool = False) -> tuple[Times, Faults] | None:
    """An array of equally long texts as the body has it; None where it is anything else, and if `is_fast` where
    anything is wrong with one of them."""
    texts = _split_array(array)
    if texts is None or not is_fast:
        return None if texts is None else from_arrow(texts)
    times = _cast_all(texts)
    return None if times is None else (times, np.zeros(len(times), dtype=np.uint8))


def _split_array(array: bytes | memoryview) -> pa.StringArray | None:
    raw = np.frombuffer(array, np.uint8)
    head = bytes(array[: _LONGEST + 8])
    closing = head.find(b'"', 2)
    if head[:2] != b'["' or closing < 0 or len(raw) < 4:
        return None
    length = closing - 2
    gap = 2 if head[closing + 1 : closing + 3] == b", " else 1
    stride = length + 2 + gap
    count, rest = divmod(len(raw) - 2 + gap, stride)
    if rest or raw[-1] != ord("]"):
        return None
    padded = np.empty(count * stride, np.uint8)
    padded[: len(raw) - 2] = raw[1:-1]
    padded[len(raw) - 2 :] = np.frombuffer(b", "[:gap], np.uint8)
    grid = padded.reshape(count, stride)
    quoted = (grid[:, 0] == ord('"')) & (grid[:, length + 1] == ord('"')) & (grid[:, length + 2] == ord(","))
    if not quoted.all() or (gap == 2 and not (grid[:, -1] == ord(" ")).all()):
        return None
    inner = np.ascontiguousarray(grid[:, 1 : length + 1])
    # A quote or an escape within would mean other boundaries than these, and Arrow's texts are UTF-8.
    if bool((inner == ord('"')).any()) or bool((inner == ord("\\")).any()) or bool((inner >= 0x80).any()):
        return None
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(length)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(inner))
