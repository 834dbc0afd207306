"""How much an Arrow stream unpacks to, read from its own headers before anything is unpacked.

Buffers may be compressed, and a small body could claim any amount of memory. The messages of a stream are flatbuffers
(Arrow's `Message.fbs`); only the few fields that say lengths are looked at here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from gridloom.kernel.problem import BadRequest, PayloadTooLarge
from gridloom.monitoring.ingest.columns import check_count

MAX_UNPACKED_BYTES: Final = 256 << 20
MAX_FAST_PATH_MESSAGES: Final = 4
MAX_FAST_PATH_METADATA: Final = 16 * 1024
"""Of one message: the columns of a hundred signals, say."""
MAX_FAST_PATH_ENTRIES: Final = 256

_CONTINUATION = 0xFFFFFFFF
_NO_HEADER, _DICTIONARY_BATCH, _RECORD_BATCH = 0, 2, 3
# Fields by their order in the schema.
_MESSAGE_HEADER_TYPE, _MESSAGE_HEADER, _MESSAGE_BODY_LENGTH = 1, 2, 3
_BATCH_LENGTH, _BATCH_BUFFERS, _BATCH_COMPRESSION = 0, 2, 3
_DICTIONARY_DATA = 1


class Extent(NamedTuple):
    """What a stream says of itself."""

    rows: int
    unpacked_bytes: int
    """Of its compressed buffers."""


def check(body: bytes) -> Extent:
    """How much the stream holds; refused where that is too much."""
    rows = unpacked = 0
    try:
        for header_type, metadata, table, start in _walk_messages(body):
            batch = table
            if header_type == _DICTIONARY_BATCH:
                batch = _follow_reference(metadata, _find_field(metadata, table, _DICTIONARY_DATA))
            elif header_type != _RECORD_BATCH:
                continue
            length = _read_integer(metadata, _find_field(metadata, batch, _BATCH_LENGTH))
            check_count(length)
            rows += length if header_type == _RECORD_BATCH else 0
            unpacked += _unpacked_bytes(body, metadata, batch, start)
            if unpacked > MAX_UNPACKED_BYTES:
                raise PayloadTooLarge(f"The stream unpacks to more than {MAX_UNPACKED_BYTES >> 20} MiB.")
    except (struct.error, IndexError) as error:
        raise BadRequest("The Arrow stream is cut off or malformed.") from error
    check_count(rows)
    return Extent(rows, unpacked)


def check_fast(body: bytes) -> Extent | None:
    """The same for a stream of few and short messages, none of them packed, that names few signals; None for others."""
    rows = entries = 0
    try:
        for number, (header_type, metadata, table, _) in enumerate(_walk_messages(body)):
            if number == MAX_FAST_PATH_MESSAGES or len(metadata) > MAX_FAST_PATH_METADATA:
                return None
            batch = table
            if header_type == _DICTIONARY_BATCH:
                batch = _follow_reference(metadata, _find_field(metadata, table, _DICTIONARY_DATA))
            elif header_type != _RECORD_BATCH:
                continue
            if _find_field(metadata, batch, _BATCH_COMPRESSION):
                return None
            length = _read_integer(metadata, _find_field(metadata, batch, _BATCH_LENGTH))
            if length < 0:
                return None
            rows += length if header_type == _RECORD_BATCH else 0
            entries += length if header_type == _DICTIONARY_BATCH else 0
    except (struct.error, IndexError, BadRequest):
        return None
    return None if entries > MAX_FAST_PATH_ENTRIES else Extent(rows, 0)


def _walk_messages(body: bytes) -> Iterator[tuple[int, memoryview, int, int]]:
    """Each message's header type, metadata, the position of its header table, and where its body starts."""
    view, position = memoryview(body), 0
    while position + 8 <= len(view):
        marker, size = struct.unpack_from("<Ii", view, position)
        if marker != _CONTINUATION or size < 0:
            raise BadRequest("The body is not an Arrow stream.")
        if size == 0:
            return
        metadata = view[position + 8 : position + 8 + size]
        message = _follow_reference(metadata, 0)
        start = position + 8 + size
        kind_at = _find_field(metadata, message, _MESSAGE_HEADER_TYPE)
        header_at = _find_field(metadata, message, _MESSAGE_HEADER)
        if kind_at and header_at:
            yield metadata[kind_at], metadata, _follow_reference(metadata, header_at), start
        else:
            yield _NO_HEADER, metadata, 0, start
        length = _read_integer(metadata, _find_field(metadata, message, _MESSAGE_BODY_LENGTH))
        if length < 0:
            raise BadRequest("The Arrow stream is malformed.")
        position = start + length


def _unpacked_bytes(body: bytes, metadata: memoryview, batch: int, start: int) -> int:
    if not _find_field(metadata, batch, _BATCH_COMPRESSION):
        return 0
    buffers_at = _find_field(metadata, batch, _BATCH_BUFFERS)
    if not buffers_at:
        return 0
    vector = _follow_reference(metadata, buffers_at)
    (count,) = struct.unpack_from("<I", metadata, vector)
    total = 0
    for index in range(count):
        offset, length = struct.unpack_from("<qq", metadata, vector + 4 + 16 * index)
        if length < 8:
            continue
        if offset < 0 or start + offset < 0:
            raise BadRequest("The Arrow stream is malformed.")
        # A compressed buffer opens with its unpacked length; −1 means that it is stored plain.
        total += max(0, *struct.unpack_from("<q", body, start + offset), 0)
    return total


def _follow_reference(metadata: memoryview, position: int) -> int:
    (offset,) = struct.unpack_from("<I", metadata, position)
    return position + int(offset)


def _find_field(metadata: memoryview, table: int, number: int) -> int:
    """Where a table's field stands, or 0 where it is left out."""
    (back,) = struct.unpack_from("<i", metadata, table)
    vtable = table - back
    if vtable < 0:
        raise BadRequest("The Arrow stream is malformed.")
    (size,) = struct.unpack_from("<H", metadata, vtable)
    if 4 + 2 * number >= size:
        return 0
    (offset,) = struct.unpack_from("<H", metadata, vtable + 4 + 2 * number)
    return table + offset if offset else 0


def _read_integer(metadata: memoryview, position: int) -> int:
    return int(struct.unpack_from("<q", metadata, position)[0]) if position else 0
