"""Series of numbers as few bytes and back, bit for bit.

Times that keep a step are that step; others are their differences. Values that are decimals of a few digits are whole
numbers and their differences; the rest are doubles XOR-ed with the one before. What remains is cut into planes of equal
significance (all lowest bytes first), where the repetition that zstd looks for lies side by side.
"""

from __future__ import annotations

import struct
import threading
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import zstandard
from numpy.typing import NDArray

Times = NDArray[np.int64]
"""Microseconds since 1970 in UTC."""
Values = NDArray[np.float64]
TimeGrid = Times | range
"""Times that keep a step are a range, of which parts and buckets are found by arithmetic."""

LEVEL: Final = 1
"""Of zstd. Sensors are noisy: after differences and planes a higher level takes longer and packs no better."""

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
        self.compressor = zstandard.ZstdCompressor(level=LEVEL)
        self.decompressor = zstandard.ZstdDecompressor()


_contexts = _Contexts()


def encode(times: Times, values: Values) -> bytes:
    """Both columns in one body. They may differ in length where several series share their times."""
    return _pack_body(_encode_times(times) + _encode_values(values, thorough=False))


def decode(body: bytes | memoryview) -> tuple[Times, Values]:
    unpacked = _unpack_body(body)
    times, end = _decode_times(unpacked)
    return list_times(times), _decode_values(unpacked, end)


def encode_times(times: Times) -> bytes:
    return _pack_body(_encode_times(times))


def decode_times(body: bytes | memoryview) -> Times:
    """Times alone, also of a body that holds both columns."""
    return list_times(decode_grid(body))


def decode_grid(body: bytes | memoryview) -> TimeGrid:
    return _decode_times(_unpack_body(body))[0]


def list_times(grid: TimeGrid) -> Times:
    return np.arange(grid.start, grid.stop, grid.step) if isinstance(grid, range) else grid


def encode_values(values: Values) -> bytes:
    return _pack_body(_encode_values(values, thorough=True))


class PackedValues(NamedTuple):
    """The values from one index up to another of those in a body, which are decoded when they are needed."""

    body: bytes
    first: int
    end: int

    def decode(self) -> Values:
        return _decode_values(_unpack_body(self.body), 0, self.first, self.end)

    def sum_rows(self, size: int) -> tuple[Values, float] | None:
        """The exact sums of each `size` values in a row, and the power of ten to divide them by. None where the values
        are no short decimals, so that they have to be decoded."""
        body = _unpack_body(self.body)
        mode, width, exponent, count, base, odd_count = _VALUES.unpack_from(body)
        stored = count - 1 if mode == _DECIMALS_DELTA else count
        odd = np.frombuffer(body, "<f8", odd_count, _VALUES.size + stored * width + 4 * odd_count)
        if mode == _XOR or (odd_count and odd.any()) or not _fits_32_bits(width, count, base):  # −0.0 adds nothing
            return None
        # Short floats where the sums are exact all the same: half the memory, which the processor's cache then holds.
        weights = _weigh_steps(size, np.float32 if size * size << 8 * width <= 1 << 24 else np.float64)
        scale, steps = _POWERS_OF_TEN[exponent], np.empty(self.end - self.first, weights.dtype)
        if mode == _DECIMALS_OFFSET:
            steps[:] = _join_planes(body, _VALUES.size, stored, width, self.first, self.end)
            return (weights @ steps.reshape(-1, size).T)[1].astype(np.float64) + size * base, scale
        deltas = _decode_zigzag(_join_planes(body, _VALUES.size, stored, width, 0, self.end - 1))
        steps[0], steps[1:] = 0, deltas[self.first :]
        sums, totals = (weights @ steps.reshape(-1, size).T).astype(np.float64)
        return sums + size * (totals.cumsum() - totals + (base + deltas[: self.first].sum(dtype=np.int64))), scale


@lru_cache(maxsize=8)
def _weigh_steps(size: int, kind: type[np.floating[Any]]) -> NDArray[Any]:
    """A step is part of every value from its own to the last of the row, and of all rows after it."""
    return np.array((range(size, 0, -1), (1,) * size), kind)


def _fits_32_bits(width: int, count: int, base: int) -> bool:
    """Whether so many differences of a width, added to a number, stay so short."""
    return width < 4 and abs(base) + (count << max(0, 8 * width - 1)) < 1 << 31


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


def _decode_times(body: bytes | memoryview) -> tuple[TimeGrid, int]:
    mode, width, count, first, step = _TIMES.unpack_from(body)
    end = _TIMES.size
    if mode == _STEP:
        return range(first, first + step * count, step) if step else np.full(count, first, dtype=np.int64), end
    times = np.zeros(count, dtype=np.int64)
    np.cumsum(_decode_zigzag(_join_planes(body, end, count - 1, width, 0, count - 1)), dtype=np.int64, out=times[1:])
    times *= step
    times += first
    return times, end + (count - 1) * width


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


def _decode_values(body: bytes | memoryview, start: int, first: int = 0, end: int | None = None) -> Values:
    mode, width, exponent, count, base, odd_count = _VALUES.unpack_from(body, start)
    start += _VALUES.size
    end = count if end is None else end
    stored = count - 1 if mode == _DECIMALS_DELTA else count
    if mode == _XOR:
        numbers = _join_planes(body, start, stored, width, 0, end)
        return np.bitwise_xor.accumulate(numbers, dtype=np.uint64).view(np.float64)[first:]
    # The sum of 32-bit numbers takes two thirds of the time of longer ones, where it cannot overflow.
    whole = np.empty(end - first, dtype=np.int32 if _fits_32_bits(width, count, base) else np.int64)
    if mode == _DECIMALS_DELTA:
        deltas = _decode_zigzag(_join_planes(body, start, stored, width, 0, end - 1))
        whole[0] = base + int(deltas[:first].sum(dtype=np.int64))
        whole[1:] = deltas[first:]
        np.cumsum(whole, out=whole)
    else:
        whole[:] = _join_planes(body, start, stored, width, first, end)
        whole += base
    values: Values = whole.astype(np.float64)
    values /= _POWERS_OF_TEN[exponent]
    if odd_count:
        start += stored * width
        indices = np.frombuffer(body, "<u4", odd_count, start)
        chosen = (indices >= first) & (indices < end)
        values[indices[chosen] - first] = np.frombuffer(body, "<f8", odd_count, start + 4 * odd_count)[chosen]
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


def _join_planes(body: bytes | memoryview, start: int, count: int, width: int, first: int, end: int) -> NDArray[Any]:
    """Of so many unsigned numbers those from one index up to another, of the shortest type that holds them."""
    if not width or first >= end:
        return np.zeros(end - first, dtype=np.uint8)
    planes = np.frombuffer(body, np.uint8, count * width, start).reshape(width, count)[:, first:end]
    if width == 1:
        lowest: NDArray[Any] = planes[0]
        return lowest
    numbers: NDArray[Any] = planes[-1].astype(np.uint16 if width == 2 else np.uint32 if width <= 4 else np.uint64)
    for plane in planes[-2::-1]:
        numbers <<= 8
        numbers |= plane
    return numbers
