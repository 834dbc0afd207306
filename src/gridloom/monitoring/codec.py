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

LEVEL: Final = 1
"""Of zstd. Sensors are noisy: after differences and planes a higher level takes longer and packs no better."""

_STEP, _DELTAS = 0, 1
_DECIMALS_DELTA, _DECIMALS_OFFSET, _XOR = 0, 1, 2
_TIMES = struct.Struct("<BBIqq")
_VALUES = struct.Struct("<BBBIqI")
_EXACT_INTEGERS = 2.0**53
_EXACT_WIDTH = 4
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
        self.compressor = zstandard.ZstdCompressor(level=LEVEL)
        self.decompressor = zstandard.ZstdDecompressor()


_contexts = _Contexts()


def encode(times: Times, values: Values) -> bytes:
    """Both columns in one body. They may differ in length where several series share their times."""
    return _pack_body(_encode_times(times) + _encode_values(values, thorough=False))


def decode(body: bytes | memoryview) -> tuple[Times, Values]:
    unpacked = _unpack_body(body)
    times, end = _decode_times(unpacked)
    return times, _decode_values(unpacked, end)


def encode_times(times: Times) -> bytes:
    return _pack_body(_encode_times(times))


def decode_times(body: bytes | memoryview) -> Times:
    """Times alone, also of a body that holds both columns."""
    return _decode_times(_unpack_body(body))[0]


def encode_values(values: Values) -> bytes:
    return _pack_body(_encode_values(values, thorough=True))


def decode_values(body: bytes | memoryview) -> Values:
    return _decode_values(_unpack_body(body), 0)


def _pack_body(body: bytes) -> bytes:
    return _PLAIN + body if len(body) < _WORTH_COMPRESSING else _ZSTD + _contexts.compressor.compress(body)


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
    times = np.zeros(count, dtype=np.int64)
    np.cumsum(_decode_zigzag(_join_planes(body, end, count - 1, width)), dtype=np.int64, out=times[1:])
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
        if len(_contexts.compressor.compress(offset_planes)) < len(_contexts.compressor.compress(planes)):
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
    stored = count - 1 if mode == _DECIMALS_DELTA else count
    numbers = _join_planes(body, start, stored, width)
    if mode == _XOR:
        return np.bitwise_xor.accumulate(numbers, dtype=np.uint64).view(np.float64)
    # Whole numbers of up to 32 bits and their sums are exact as doubles, which saves a conversion.
    whole = np.empty(count, dtype=np.float64 if width <= _EXACT_WIDTH else np.int64)
    if mode == _DECIMALS_DELTA:
        whole[0] = first
        whole[1:] = _decode_zigzag(numbers)
        np.cumsum(whole, out=whole)
    else:
        whole[:] = numbers
        whole += first
    values: Values = np.divide(whole, _POWERS_OF_TEN[exponent], out=whole if width <= _EXACT_WIDTH else None)
    if odd_count:
        start += stored * width
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


def _decode_zigzag(numbers: NDArray[Any]) -> NDArray[Any]:
    signed: NDArray[Any] = (numbers >> 1) ^ -(numbers & 1)
    return signed.view(f"i{signed.itemsize}")


def _split_planes(numbers: NDArray[np.int64]) -> tuple[int, bytes]:
    """The bytes of the numbers, read without a sign, by significance; planes that would be all zero are left out."""
    if not len(numbers):
        return 0, b""
    width = (int(numbers.view(np.uint64).max()).bit_length() + 7) // 8
    planes = numbers.astype("<i8", copy=False).view(np.uint8).reshape(-1, 8)[:, :width].T
    return width, np.ascontiguousarray(planes).tobytes()  # laid out first, which lets others run meanwhile


def _join_planes(body: bytes | memoryview, start: int, count: int, width: int) -> NDArray[Any]:
    """Unsigned numbers of the shortest type that holds them."""
    size = 1 if width <= 1 else 2 if width == 2 else 4 if width <= 4 else 8
    if not width or not count:
        return np.zeros(count, dtype=np.uint8)
    planes = np.frombuffer(body, np.uint8, count * width, start).reshape(width, count)
    if size == 1:
        lowest: NDArray[Any] = planes[0]
        return lowest
    joined = np.zeros((count, size), dtype=np.uint8)
    for significance in range(width):
        joined[:, significance] = planes[significance]
    numbers: NDArray[Any] = joined.view(f"<u{size}").reshape(count)
    return numbers
