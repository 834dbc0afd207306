"""Series of numbers as few bytes and back, bit for bit.

Times that keep a step are that step; others are their differences. Values that are decimals of a few places are whole
numbers and their differences; the rest are doubles XOR-ed with the one before. What remains is cut into planes of equal
significance (all lowest bytes first), where the repetition that zstd looks for lies side by side.
"""

from __future__ import annotations

import struct
import threading
from typing import Any, Final

import numpy as np
import zstandard
from numpy.typing import NDArray

Times = NDArray[np.int64]
"""Microseconds since 1970 in UTC."""
Values = NDArray[np.float64]

HOT_LEVEL: Final = 1
COLD_LEVEL: Final = 3

_STEP, _DELTAS = 0, 1
_DECIMALS_DELTA, _DECIMALS_OFFSET, _XOR = 0, 1, 2
_TIMES = struct.Struct("<BBIqq")
_VALUES = struct.Struct("<BBBIqI")
_EXACT_INTEGERS = 2.0**53
_POWERS_OF_TEN = tuple(10.0**exponent for exponent in range(10))
_SAMPLE = 64
# Below this a frame of zstd costs more than it saves.
_WORTH_COMPRESSING = 64
# A body never unpacks to more than this, whatever it claims.
_MAX_BODY = 1 << 30

_PLAIN, _ZSTD = b"\x00", b"\x01"


class _Contexts(threading.local):
    """Compression contexts are costly to make and serve one thread at a time."""

    def __init__(self) -> None:
        self.hot = zstandard.ZstdCompressor(level=HOT_LEVEL)
        self.cold = zstandard.ZstdCompressor(level=COLD_LEVEL)
        self.decompressor = zstandard.ZstdDecompressor()


_contexts = _Contexts()


def encode(times: Times, values: Values, *, cold: bool) -> bytes:
    """Both columns in one body. They may differ in length where several series share their times."""
    body = _encode_times(times) + _encode_values(values, thorough=cold)
    if len(body) < _WORTH_COMPRESSING:
        return _PLAIN + body
    compressor = _contexts.cold if cold else _contexts.hot
    return _ZSTD + compressor.compress(body)


def decode(body: bytes | memoryview) -> tuple[Times, Values]:
    unpacked = _unpack_body(body)
    times, end = _decode_times(unpacked)
    return times, _decode_values(unpacked, end)


def decode_times(body: bytes | memoryview) -> Times:
    """The times alone."""
    return _decode_times(_unpack_body(body))[0]


def _unpack_body(body: bytes | memoryview) -> bytes | memoryview:
    unpacked: bytes | memoryview = memoryview(body)[1:]
    if body[:1] == _ZSTD:
        unpacked = _contexts.decompressor.decompress(unpacked, max_output_size=_MAX_BODY)
    return unpacked


def _encode_times(times: Times) -> bytes:
    count = len(times)
    if count == 0:
        return _TIMES.pack(_STEP, 0, 0, 0, 0)
    first = int(times[0])
    deltas = np.diff(times)
    step = int(deltas[0]) if count > 1 else 0
    if bool((deltas == step).all()):
        return _TIMES.pack(_STEP, 0, count, first, step)
    divisor = int(np.gcd.reduce(deltas))
    width, planes = _split_planes(_encode_zigzag(deltas // divisor))
    return _TIMES.pack(_DELTAS, width, count, first, divisor) + planes


def _decode_times(body: bytes | memoryview) -> tuple[Times, int]:
    mode, width, count, first, step = _TIMES.unpack_from(body)
    end = _TIMES.size
    if mode == _STEP:
        return _lay_steps(first, step, count), end
    times = np.empty(count, dtype=np.int64)
    times[0] = 0
    np.cumsum(_signed_from_planes(body, end, count - 1, width), dtype=np.int64, out=times[1:])
    times *= step
    times += first
    return times, end + (count - 1) * width


def _lay_steps(first: int, step: int, count: int) -> Times:
    if step == 0:
        return np.full(count, first, dtype=np.int64)
    return np.arange(first, first + step * count, step, dtype=np.int64)


def _encode_values(values: Values, *, thorough: bool) -> bytes:
    """`thorough` also tries whole numbers without differences, which suits a signal that is mostly noise."""
    count = len(values)
    exponent = _decimal_places(values)
    if exponent is None:
        return _encode_doubles(values)
    scale = _POWERS_OF_TEN[exponent]
    with np.errstate(over="ignore"):
        scaled = np.rint(values * scale)
    scaled[~(np.abs(scaled) < _EXACT_INTEGERS)] = 0.0
    whole = scaled.astype(np.int64)
    odd = np.flatnonzero((whole / scale).view(np.int64) != values.view(np.int64))
    if len(odd) > count // 32 + 1:
        return _encode_doubles(values)
    patches = odd.astype("<u4").tobytes() + values[odd].astype("<f8").tobytes()
    first = int(whole[0])
    deltas = np.diff(whole)
    mode = _DECIMALS_DELTA
    width, planes = _split_planes(_encode_zigzag(deltas))
    if thorough:
        lowest = int(whole.min())
        offset_width, offset_planes = _split_planes(whole - lowest)
        if len(_contexts.hot.compress(offset_planes)) < len(_contexts.hot.compress(planes)):
            mode, first, width, planes = _DECIMALS_OFFSET, lowest, offset_width, offset_planes
    return _VALUES.pack(mode, width, exponent, count, first, len(odd)) + planes + patches


def _encode_doubles(values: Values) -> bytes:
    bits = values.view(np.int64)
    changed = bits.copy()
    changed[1:] ^= bits[:-1]
    width, planes = _split_planes(changed)
    return _VALUES.pack(_XOR, width, 0, len(values), 0, 0) + planes


def _decode_values(body: bytes | memoryview, start: int) -> Values:
    mode, width, exponent, count, first, odd_count = _VALUES.unpack_from(body, start)
    start += _VALUES.size
    if mode == _XOR:
        return np.bitwise_xor.accumulate(_from_planes(body, start, count, width)).view(np.float64)
    if mode == _DECIMALS_OFFSET:
        whole = _from_planes(body, start, count, width)
        whole += first
        start += count * width
    else:
        whole = np.empty(count, dtype=np.int64)
        whole[0] = 0
        np.cumsum(_signed_from_planes(body, start, count - 1, width), dtype=np.int64, out=whole[1:])
        whole += first
        start += (count - 1) * width
    values: Values = whole / _POWERS_OF_TEN[exponent]
    if odd_count:
        positions = np.frombuffer(body, "<u4", odd_count, start)
        values[positions] = np.frombuffer(body, "<f8", odd_count, start + 4 * odd_count)
    return values


def _decimal_places(values: Values) -> int | None:
    """How many decimals nearly all of a sample need, or None where they are no short decimals."""
    if not len(values):
        return None
    sample = values[:: max(1, len(values) // _SAMPLE)]
    bits = sample.view(np.int64)
    tolerated = len(sample) // 16
    for exponent, scale in enumerate(_POWERS_OF_TEN):
        with np.errstate(over="ignore"):
            scaled = np.rint(sample * scale)
        fits = ((scaled / scale).view(np.int64) == bits) & (np.abs(scaled) < _EXACT_INTEGERS)
        if len(sample) - np.count_nonzero(fits | (sample == 0.0)) <= tolerated:
            return exponent
    return None


def _encode_zigzag(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Small magnitudes of either sign as small numbers: 0, −1, 1, −2 become 0, 1, 2, 3."""
    return (numbers << 1) ^ (numbers >> 63)


def _decode_zigzag(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    return (numbers >> 1 & 0x7FFF_FFFF_FFFF_FFFF) ^ -(numbers & 1)


_SIGNED_BYTES = _decode_zigzag(np.arange(256, dtype=np.int64))


def _signed_from_planes(body: bytes | memoryview, start: int, count: int, width: int) -> NDArray[np.integer[Any]]:
    """Numbers that went through zigzag; most are of one or two bytes, for which there is a shorter way."""
    if width == 1:
        return _SIGNED_BYTES[np.frombuffer(body, np.uint8, count, start)]
    if width == 2:
        planes = np.frombuffer(body, np.uint8, 2 * count, start).reshape(2, count)
        numbers = planes[0].astype(np.int32)
        numbers |= planes[1].astype(np.int32) << 8
        signed: NDArray[np.int32] = (numbers >> 1) ^ -(numbers & 1)
        return signed
    return _decode_zigzag(_from_planes(body, start, count, width))


def _split_planes(numbers: NDArray[np.int64]) -> tuple[int, bytes]:
    """The bytes of the numbers, read without a sign, by significance; planes that would be all zero are left out."""
    if not len(numbers):
        return 0, b""
    width = (int(numbers.view(np.uint64).max()).bit_length() + 7) // 8
    planes = numbers.astype("<i8", copy=False).view(np.uint8).reshape(-1, 8)[:, :width].T
    return width, np.ascontiguousarray(planes).tobytes()  # laid out first, which lets others run meanwhile


def _from_planes(body: bytes | memoryview, start: int, count: int, width: int) -> NDArray[np.int64]:
    if not width or not count:
        return np.zeros(count, dtype=np.int64)
    planes = np.frombuffer(body, np.uint8, count * width, start).reshape(width, count)
    if width > 4:
        numbers = np.zeros((count, 8), dtype=np.uint8)
        numbers[:, :width] = planes.T
        return numbers.view("<i8").reshape(count).astype(np.int64, copy=False)
    joined: NDArray[np.int64] = planes[0].astype(np.int64)
    for significance in range(1, width):
        joined |= planes[significance].astype(np.int64) << 8 * significance
    return joined
