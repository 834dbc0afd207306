"""RFC 3339 timestamps by the column: digits are read by matrix, not one text at a time."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gridloom.monitoring.codec import Times
from gridloom.monitoring.market_days import DAY_US
from gridloom.monitoring.model import MINUTE_US, SECOND_US

Faults = NDArray[np.uint8]
Bytes = NDArray[np.uint8]

FINE: Final = 0
MALFORMED: Final = 1
WITHOUT_OFFSET: Final = 2

_DIGITS = np.array([0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18])
_SEPARATORS = ((4, ord("-")), (7, ord("-")), (13, ord(":")), (16, ord(":")))
_DAYS_IN_MONTH = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 99, 99, 99, 99, 99, 99, 99])

_WHOLE_SECONDS = 19
_LONGEST = 35


def from_arrow(texts: pa.Array) -> tuple[Times, Faults]:
    """A column of text; nulls are malformed."""
    texts = texts.cast(pa.string())
    _, offset_buffer, data_buffer = texts.buffers()
    offsets = (
        np.frombuffer(offset_buffer, np.int32, len(texts) + 1, 4 * texts.offset) if len(texts) else np.zeros(1, int)
    )
    data = np.frombuffer(data_buffer, np.uint8) if data_buffer is not None else np.empty(0, np.uint8)
    times, faults = parse(data, offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64))
    if texts.null_count:
        faults[~texts.is_valid().to_numpy(zero_copy_only=False)] = MALFORMED
    return times, faults


def from_json(array: bytes | memoryview) -> tuple[Times, Faults] | None:
    """An array of equally long texts as it stands in the body; None where it is anything else."""
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
    # A quote or an escape within would mean other boundaries than these.
    inner = grid[:, 1 : length + 1]
    if bool((inner == ord('"')).any()) or bool((inner == ord("\\")).any()):
        return None
    starts = np.arange(count, dtype=np.int64) * stride + 1
    return parse(padded, starts, np.full(count, length, dtype=np.int64))


def parse(data: Bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> tuple[Times, Faults]:
    """Microseconds since 1970 of each text, and what is wrong with it; digits beyond microseconds are cut off."""
    times = np.zeros(len(starts), dtype=np.int64)
    faults = np.full(len(starts), MALFORMED, dtype=np.uint8)
    if not len(starts):
        return times, faults
    ends = np.maximum(starts + lengths - 1, 0)
    zulu = _either(data[ends], "Z", "z") if len(data) else np.zeros(len(starts), dtype=bool)
    shapes = np.where((lengths < _WHOLE_SECONDS) | (lengths > _LONGEST), 0, 2 * lengths + zulu)
    for shape in np.unique(shapes).tolist():
        if not shape:
            continue
        rows: slice | NDArray[np.intp] = (
            slice(None) if len(shapes) == np.count_nonzero(shapes == shape) else np.flatnonzero(shapes == shape)
        )
        length, is_zulu = divmod(shape, 2)
        times[rows], faults[rows] = _parse_shape(_matrix(data, starts[rows], length), bool(is_zulu))
    return times, faults


def _matrix(data: Bytes, starts: NDArray[np.int64], length: int) -> Bytes:
    first, count = int(starts[0]), len(starts)
    step = int(starts[1] - first) if count > 1 else length
    end = first + (count - 1) * step + length
    if step >= length and end <= len(data) and bool((np.diff(starts) == step).all()):
        return np.lib.stride_tricks.as_strided(data[first:], (count, length), (step, 1), writeable=False)
    gathered: Bytes = data[starts[:, None] + np.arange(length)]
    return gathered


def _parse_shape(texts: Bytes, zulu: bool) -> tuple[Times, Faults]:
    """Texts of one length that all end in Z, or none does."""
    length = texts.shape[1]
    if zulu:
        return _parse_local(texts[:, :-1])
    with_offset = np.zeros(len(texts), dtype=bool)
    if length >= _WHOLE_SECONDS + 6:
        with_offset = _either(texts[:, -6], "+", "-") & (texts[:, -3] == ord(":"))
    if with_offset.all():
        times, faults = _parse_local(texts[:, :-6])
        offsets, sane = _offsets(texts[:, -6:])
        faults[~sane] = MALFORMED
        return times - offsets, faults
    times, faults = _parse_local(texts)
    faults[faults == FINE] = WITHOUT_OFFSET
    if with_offset.any():
        times[with_offset], faults[with_offset] = _parse_shape(texts[with_offset], zulu=False)
    return times, faults


def _either(column: Bytes, one: str, other: str) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (column == ord(one)) | (column == ord(other))
    return found


def _offsets(texts: Bytes) -> tuple[Times, NDArray[np.bool_]]:
    digits = texts[:, [1, 2, 4, 5]] - np.uint8(48)
    hours = digits[:, 0].astype(np.int64) * 10 + digits[:, 1]
    minutes = digits[:, 2].astype(np.int64) * 10 + digits[:, 3]
    sign = np.where(texts[:, 0] == ord("-"), -1, 1)
    return sign * (hours * 60 + minutes) * MINUTE_US, (digits <= 9).all(axis=1) & (hours < 24) & (minutes < 60)


def _parse_local(texts: Bytes) -> tuple[Times, Faults]:
    digits = np.ascontiguousarray(texts[:, _DIGITS].T) - np.uint8(48)
    fine = (digits <= 9).all(axis=0) & (_either(texts[:, 10], "T", "t") | (texts[:, 10] == ord(" ")))
    for column, separator in _SEPARATORS:
        fine &= texts[:, column] == separator
    # Not as a product of matrices: that would wake threads for a sum of two digits.
    pairs = digits[0::2] * np.uint8(10) + digits[1::2]
    century, year_of_century, month, day, hour, minute, second = pairs.astype(np.int64)
    year = century * 100 + year_of_century
    month = np.minimum(month, 13)
    leap = (month == 2) & (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    fine &= (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= _DAYS_IN_MONTH[month] + leap)
    fine &= (hour < 24) & (minute < 60) & (second < 60)
    seconds = (hour * 60 + minute) * 60 + second
    fraction = np.zeros(len(texts), dtype=np.int64)
    if texts.shape[1] > _WHOLE_SECONDS:
        decimals = texts[:, _WHOLE_SECONDS + 1 :] - np.uint8(48)
        fine &= (
            (texts[:, _WHOLE_SECONDS] == ord(".")) & (decimals <= 9).all(axis=1) & (decimals.shape[1] in range(1, 10))
        )
        for place in range(min(decimals.shape[1], 6)):
            fraction += decimals[:, place].astype(np.int64) * 10 ** (5 - place)
    times = _days_since_1970(year, month, day) * DAY_US + seconds * SECOND_US + fraction
    return times, np.where(fine, FINE, MALFORMED).astype(np.uint8)


def _days_since_1970(year: Times, month: Times, day: Times) -> Times:
    """Counted from March, so that the leap day is the last of its year."""
    year = year - (month <= 2)
    era, year_of_era = np.divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    days: Times = era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468
    return days
