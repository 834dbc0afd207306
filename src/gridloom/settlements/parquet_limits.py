"""How much a Parquet file unpacks to, read from the headers of its pages before anything is unpacked.

The file's own summary may say anything, and a page of a few bytes may claim any size. Page headers are Thrift structs
in its compact protocol; only lengths and encodings are looked at here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from gridloom.kernel.problem import BadRequest, PayloadTooLarge

MAX_UNPACKED_BYTES: Final = 128 << 20
MAX_PAGES: Final = 20_000
MAX_GROUPS: Final = 1_000
MAX_FOOTER_BYTES: Final = 1 << 20

_MAGIC: Final = b"PAR1"
_MALFORMED: Final = "The Parquet file is cut off or malformed."
_ROW_GROUPS = 4  # a field of FileMetaData
_COLUMNS, _ROWS = 1, 3  # of RowGroup
_COLUMN = 3  # of ColumnChunk
_COLUMN_BYTES, _DATA_OFFSET, _DICTIONARY_OFFSET = 7, 9, 11  # of ColumnMetaData
_UNPACKED_SIZE, _PACKED_SIZE = 2, 3  # of PageHeader
_DATA_PAGE, _DATA_PAGE_V2 = 5, 8
_ENCODING_IN = {_DATA_PAGE: 2, _DATA_PAGE_V2: 4}
_FRONT_CODED: Final = 7  # DELTA_BYTE_ARRAY: each text continues the one before, so that bytes become megabytes
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)


def check(body: bytes, most_rows: int) -> None:
    """Refuse a file whose groups claim more rows, or whose pages unpack to more bytes, than is allowed.

    Read by hand: asking pyarrow about a column of a damaged file ends the process.
    """
    groups = _read_footer(body).get(_ROW_GROUPS, [])
    if not isinstance(groups, list) or len(groups) > MAX_GROUPS:
        raise BadRequest(_MALFORMED)
    rows = sum(_read_size(group, _ROWS) for group in groups)
    if rows > most_rows:
        raise PayloadTooLarge(f"A request holds up to {most_rows} rows, and this one {rows}.")
    unpacked = pages = 0
    for start, end in (extent for group in groups for extent in _list_extents(group)):
        position = start
        if not 0 <= start <= end <= len(body):
            raise BadRequest(_MALFORMED)
        while position < end:
            header, position = _read_struct(body, position)
            unpacked += _read_size(header, _UNPACKED_SIZE)
            position += _read_size(header, _PACKED_SIZE)
            pages += 1
            if unpacked > MAX_UNPACKED_BYTES or pages > MAX_PAGES:
                raise PayloadTooLarge(f"The file unpacks to more than {MAX_UNPACKED_BYTES >> 20} MiB.")
            _reject_front_coding(header)


def _read_footer(body: bytes) -> dict[int, Any]:
    if len(body) < 12 or body[:4] != _MAGIC or body[-4:] != _MAGIC:
        raise BadRequest("The body is not Parquet.")
    length = int.from_bytes(body[-8:-4], "little")
    if length > min(MAX_FOOTER_BYTES, len(body) - 12):
        raise BadRequest(_MALFORMED)
    footer, _ = _read_struct(body, len(body) - 8 - length)
    return footer


def _list_extents(group: dict[int, Any]) -> Iterator[tuple[int, int]]:
    """Where the pages of each of the group's columns begin and end."""
    columns = group.get(_COLUMNS)
    if not isinstance(columns, list):
        raise BadRequest(_MALFORMED)
    for chunk in columns:
        column = chunk.get(_COLUMN) if isinstance(chunk, dict) else None
        if not isinstance(column, dict):
            raise BadRequest(_MALFORMED)
        start = _read_size(column, _DATA_OFFSET)
        if isinstance(column.get(_DICTIONARY_OFFSET), int) and column[_DICTIONARY_OFFSET] > 0:
            start = min(start, column[_DICTIONARY_OFFSET])
        yield start, start + _read_size(column, _COLUMN_BYTES)


def _read_size(struct: Any, field: int) -> int:
    size = struct.get(field) if isinstance(struct, dict) else None
    if not isinstance(size, int) or size < 0:
        raise BadRequest(_MALFORMED)
    return size


def _reject_front_coding(header: dict[int, Any]) -> None:
    for page, field in _ENCODING_IN.items():
        details = header.get(page)
        if isinstance(details, dict) and details.get(field) == _FRONT_CODED:
            raise BadRequest("The Parquet file is coded with DELTA_BYTE_ARRAY; write it plain or with dictionaries.")


def _read_struct(body: bytes, position: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """Its fields by their numbers: whole numbers and structs; what else there is is skipped."""
    if depth > 12:
        raise BadRequest(_MALFORMED)
    fields: dict[int, Any] = {}
    number = 0
    try:
        while (head := body[position]) != 0:
            position += 1
            kind, step = head & 15, head >> 4
            if step:
                number += step
            else:
                number, position = _read_signed(body, position)
            fields[number], position = _read_value(body, position, kind, depth)
    except IndexError:
        raise BadRequest(_MALFORMED) from None
    return fields, position + 1


def _read_value(body: bytes, position: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, position
    if kind == _BYTE:
        return None, position + 1
    if kind in (_I16, _I32, _I64):
        return _read_signed(body, position)
    if kind == _DOUBLE:
        return None, position + 8
    if kind == _BINARY:
        length, position = _read_unsigned(body, position)
        return None, position + length
    if kind == _STRUCT:
        return _read_struct(body, position, depth + 1)
    if kind in (_LIST, _SET):
        return _read_list(body, position, depth + 1)
    raise BadRequest(_MALFORMED)  # nothing here holds a map


def _read_list(body: bytes, position: int, depth: int) -> tuple[list[Any], int]:
    head = body[position]
    position += 1
    count, kind = head >> 4, head & 15
    if count == 15:
        count, position = _read_unsigned(body, position)
    if count > len(body) - position:
        raise BadRequest(_MALFORMED)
    values = []
    for _ in range(count):
        if kind in (_TRUE, _FALSE):  # in a list a truth is a byte of its own
            value, position = None, position + 1
        else:
            value, position = _read_value(body, position, kind, depth)
        values.append(value)
    return values, position


def _read_signed(body: bytes, position: int) -> tuple[int, int]:
    coded, position = _read_unsigned(body, position)
    return (coded >> 1) ^ -(coded & 1), position


def _read_unsigned(body: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = body[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise BadRequest(_MALFORMED)
