"""How much an Arrow stream unpacks to, read from its own headers before anything is unpacked.

Buffers may be compressed, and a small body could claim any amount of memory. The messages of a stream are flatbuffers
(Arrow's `Message.fbs`), which pyarrow verifies; only the few fields that say lengths are read here.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

import pyarrow as pa

from gridloom.kernel.problem import BadRequest, PayloadTooLarge
from gridloom.monitoring.ingest.columns import check_count

MAX_UNPACKED_BYTES: Final = 256 << 20
MAX_FAST_PATH_MESSAGES: Final = 4
MAX_FAST_PATH_METADATA: Final = 16 * 1024
"""Of one message: the columns of a hundred signals, say."""

# Fields by their order in the schema.
_MESSAGE_HEADER = 2
_BATCH_LENGTH, _BATCH_BUFFERS, _BATCH_COMPRESSION = 0, 2, 3
_DICTIONARY_DATA = 1


class Extent(NamedTuple):
    """The sizes that a stream states of itself."""

    rows: int
    entries: int
    """Of its dictionaries."""
    unpacked_bytes: int
    """Of its compressed buffers."""


def check(body: bytes, *, is_fast: bool = False) -> Extent:
    """How much the stream holds; refused where that is too much, and if `is_fast` where messages are many or long."""
    rows = entries = unpacked = 0
    try:
        for number, message in enumerate(pa.ipc.MessageReader.open_stream(pa.BufferReader(body))):
            metadata = memoryview(message.metadata)
            if is_fast and (number == MAX_FAST_PATH_MESSAGES or len(metadata) > MAX_FAST_PATH_METADATA):
                raise BadRequest("The Arrow stream has many or long messages.")
            if message.type not in ("dictionary", "record batch"):
                continue
            is_dictionary = message.type == "dictionary"
            batch = _follow_reference(metadata, _find_field(metadata, _follow_reference(metadata, 0), _MESSAGE_HEADER))
            if is_dictionary:
                batch = _follow_reference(metadata, _find_field(metadata, batch, _DICTIONARY_DATA))
            length = _read_integer(metadata, _find_field(metadata, batch, _BATCH_LENGTH))
            check_count(length)
            rows += 0 if is_dictionary else length
            entries += length if is_dictionary else 0
            unpacked += _unpacked_bytes(memoryview(message.body), metadata, batch)
            if unpacked > MAX_UNPACKED_BYTES:
                raise PayloadTooLarge(f"The stream unpacks to more than {MAX_UNPACKED_BYTES >> 20} MiB.")
    except (pa.ArrowException, OSError, struct.error, IndexError) as error:
        raise BadRequest("The Arrow stream is cut off or malformed.") from error
    check_count(rows)
    return Extent(rows, entries, unpacked)


def _unpacked_bytes(body: memoryview, metadata: memoryview, batch: int) -> int:
    buffers_at = _find_field(metadata, batch, _BATCH_BUFFERS)
    if not buffers_at or not _find_field(metadata, batch, _BATCH_COMPRESSION):
        return 0
    vector = _follow_reference(metadata, buffers_at)
    (count,) = struct.unpack_from("<I", metadata, vector)
    buffers = struct.iter_unpack("<qq", metadata[vector + 4 : vector + 4 + 16 * count])
    offsets = [offset for offset, length in buffers if length >= 8]
    if min(offsets, default=0) < 0:
        raise BadRequest("The Arrow stream is malformed.")
    # A compressed buffer opens with its unpacked length; −1 means that it is stored plain.
    return sum(max(0, struct.unpack_from("<q", body, offset)[0]) for offset in offsets)


def _follow_reference(metadata: memoryview, position: int) -> int:
    (offset,) = struct.unpack_from("<I", metadata, position)
    return position + int(offset)


def _find_field(metadata: memoryview, table: int, number: int) -> int:
    """The position of a table's field, or 0 where it is left out."""
    (back,) = struct.unpack_from("<i", metadata, table)
    vtable = table - back
    (size,) = struct.unpack_from("<H", metadata, vtable)
    if 4 + 2 * number >= size:
        return 0
    (offset,) = struct.unpack_from("<H", metadata, vtable + 4 + 2 * number)
    return table + offset if offset else 0


def _read_integer(metadata: memoryview, position: int) -> int:
    return int(struct.unpack_from("<q", metadata, position)[0]) if position else 0
