"""Samples in columns, and as bytes on disk: as they come, or packed where they have to wait."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import Final, NamedTuple

HEADER: Final = Struct("<II")
"""Of a record: length and CRC-32 of what follows."""
_COUNT: Final = Struct("<I")
_BYTES_A_SAMPLE: Final = 18


class Sample(NamedTuple):
    """`code` names battery and signal; `time_us` counts from 1970 in UTC."""

    code: int
    time_us: int
    value: float


@dataclass(slots=True)
class SampleColumns:
    codes: array[int] = field(default_factory=lambda: array("H"))
    times: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))

    def __len__(self) -> int:
        return len(self.codes)

    def extend(self, samples: Iterable[tuple[int, int, float]]) -> None:
        """Of code, microseconds and value."""
        codes, times, values = zip(*samples, strict=True)
        self.codes.extend(codes)
        self.times.extend(times)
        self.values.extend(values)

    def join(self, other: SampleColumns) -> None:
        self.codes += other.codes
        self.times += other.times
        self.values += other.values


class DamagedRecord(Exception):
    """The bytes are not a whole record: the end of a file that was being written when the power went."""


def encode_record(columns: SampleColumns) -> bytes:
    payload = b"".join(
        (_COUNT.pack(len(columns)), columns.codes.tobytes(), columns.times.tobytes(), columns.values.tobytes())
    )
    return HEADER.pack(len(payload), zlib.crc32(payload)) + payload


def decode_record(data: bytes, offset: int) -> tuple[SampleColumns, int]:
    """The samples of the record at `offset`, and the offset of the next."""
    payload, end = _take_payload(data, offset)
    (count,) = _COUNT.unpack_from(payload)
    if len(payload) != _COUNT.size + _BYTES_A_SAMPLE * count:
        raise DamagedRecord
    columns, start = SampleColumns(), _COUNT.size
    for one, width in ((columns.codes, 2), (columns.times, 8), (columns.values, 8)):
        one.frombytes(payload[start : start + width * count])
        start += width * count
    return columns, end


def pack_columns(columns: SampleColumns) -> bytes:
    """All samples signal by signal in the order of time: differences of times and bytes of equal significance lie side
    by side, which zlib makes small."""
    order = sorted(range(len(columns)), key=lambda index: (columns.codes[index], columns.times[index]))
    codes = array("H", (columns.codes[index] for index in order))
    times = [columns.times[index] for index in order]
    steps = array("q", (now - before for before, now in zip([0, *times], times, strict=False)))
    values = array("d", (columns.values[index] for index in order))
    planes = _split_planes(codes.tobytes(), 2) + _split_planes(steps.tobytes(), 8) + _split_planes(values.tobytes(), 8)
    payload = _COUNT.pack(len(columns)) + zlib.compress(planes, 6)
    return HEADER.pack(len(payload), zlib.crc32(payload)) + payload


def unpack_columns(data: bytes) -> SampleColumns:
    payload, _ = _take_payload(data, 0)
    (count,) = _COUNT.unpack_from(payload)
    planes = zlib.decompress(payload[_COUNT.size :])
    columns = SampleColumns()
    columns.codes.frombytes(_join_planes(planes[: 2 * count], 2))
    steps = array("q")
    steps.frombytes(_join_planes(planes[2 * count : 10 * count], 8))
    time_us = 0
    for step in steps:
        time_us += step
        columns.times.append(time_us)
    columns.values.frombytes(_join_planes(planes[10 * count :], 8))
    return columns


def _take_payload(data: bytes, offset: int) -> tuple[bytes, int]:
    if len(data) - offset < HEADER.size:
        raise DamagedRecord
    length, checksum = HEADER.unpack_from(data, offset)
    start = offset + HEADER.size
    payload = data[start : start + length]
    if len(payload) < length or length < _COUNT.size or zlib.crc32(payload) != checksum:
        raise DamagedRecord
    return payload, start + length


def _split_planes(data: bytes, width: int) -> bytes:
    return b"".join(data[byte::width] for byte in range(width))


def _join_planes(planes: Sequence[int] | bytes, width: int) -> bytes:
    count = len(planes) // width
    joined = bytearray(len(planes))
    for byte in range(width):
        joined[byte::width] = bytes(planes[byte * count : (byte + 1) * count])
    return bytes(joined)
