"""CSV and Arrow bodies as columns: long (`signal,time,value`) or wide (`time` and one column a signal)."""

from __future__ import annotations

import csv
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from gridloom.kernel.problem import BadRequest, FieldError
from gridloom.monitoring.codec import Times, Values
from gridloom.monitoring.ingest import timestamps
from gridloom.monitoring.ingest.columns import PointColumns, check_count, codes_of, error, point_to_row, quality_faults
from gridloom.monitoring.ingest.timestamps import Faults
from gridloom.monitoring.model import MAX_POINTS, MAX_SIGNALS, Reason, TimeUnit

ASSET = "physicalAssetID"
MAX_CELLS_A_POINT = 4
MAX_COLUMNS = MAX_SIGNALS + 2
MAX_FAST_PATH_COLUMNS = 40
MAX_FAST_PATH_CELLS = 40_000
MAX_FAST_PATH_ENTRIES = 256
MAX_FAST_PATH_METADATA = 16 * 1024
MAX_INLINE_COLUMNS = 256
MAX_METADATA = 512 * 1024
"""Of all messages of a stream: unpacked, it takes ten times as much."""
MAX_DICTIONARIES = 64
"""Each that continues another is joined with all that came before."""
MAX_HEADER_BYTES = 100 * MAX_COLUMNS
_LONG = {"signal", "time", "value"}
_NAMES = ("signal", "quality", ASSET)
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_UNREADABLE = (pa.ArrowException, OSError, ValueError, OverflowError, TypeError, KeyError, IndexError)
"""Errors of pyarrow over bytes that are no stream, or not one of the expected schema."""
_ALIGNED = pa.ipc.IpcReadOptions(ensure_alignment=pa.ipc.Alignment.DataTypeSpecific, use_threads=False)
_AS_IT_IS = pa.ipc.IpcReadOptions(ensure_native_endian=False, use_threads=False)
_FACTORS = {"s": 1_000_000, "ms": 1000, "us": 1}


def from_csv(body: bytes, *, many: bool, unit: TimeUnit | None = None) -> PointColumns:
    body = body.removeprefix(b"\xef\xbb\xbf")
    end = body.find(b"\n", 0, MAX_HEADER_BYTES)
    if end < 0 and len(body) > MAX_HEADER_BYTES:
        raise BadRequest(f"The first line of the CSV names at most {MAX_SIGNALS} columns.")
    header_line = body if end < 0 else body[:end]
    try:
        header_text = header_line.decode().strip()
        header = next(csv.reader([header_text]), [])
        has_semicolons = len(header) == 1 and ";" in header_text
        if has_semicolons:  # as spreadsheets write it where decimals have a comma
            header = next(csv.reader([header_text], delimiter=";"))
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadRequest(f"The header of the CSV cannot be read: {error}.") from None
    _check_header(header, many=many)
    texts = {"signal", "time", "quality", ASSET} if set(header) >= _LONG else {"time", ASSET}
    typed = {name: pa.string() if name in texts else pa.float64() for name in header}
    try:
        table = _read_csv(body, typed, has_semicolons=has_semicolons)
    except pa.ArrowInvalid:
        # Some value is no number, or the CSV is no table: text tells the two apart.
        try:
            table = _read_csv(body, dict.fromkeys(header, pa.string()), has_semicolons=has_semicolons)
            if has_semicolons:
                table = _write_decimal_points(table, [name for name in header if name not in texts])
        except pa.ArrowInvalid as error:
            raise BadRequest(f"The CSV cannot be read: {_shorten_error(error)}") from None
    return _from_table(table, many=many, unit=unit)


def _read_csv(body: bytes, types: dict[str, pa.DataType], *, has_semicolons: bool) -> pa.Table:
    return pa_csv.read_csv(
        pa.BufferReader(body),
        read_options=pa_csv.ReadOptions(use_threads=False),
        parse_options=pa_csv.ParseOptions(delimiter=";" if has_semicolons else ","),
        convert_options=pa_csv.ConvertOptions(
            column_types=types,
            null_values=[""],
            strings_can_be_null=True,
            decimal_point="," if has_semicolons else ".",
        ),
    )


def _write_decimal_points(table: pa.Table, names: list[str]) -> pa.Table:
    """The texts of numbers with points for their commas; one that has a point already is none."""
    for name in names:
        column = pc.replace_substring(pc.replace_substring(table.column(name), ".", ";"), ",", ".")
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def from_arrow(body: bytes, *, many: bool, unit: TimeUnit | None = None) -> PointColumns:
    """A stream that is not `is_bounded` may unpack to any size: it is read where memory is limited."""
    try:
        reader = pa.ipc.open_stream(body, options=_ALIGNED)
        _check_header(reader.schema.names, many=many)
        table = reader.read_all()
        check_count(table.num_rows)
        table.validate(full=True)
        return _from_table(table, many=many, unit=unit)
    except MemoryError:
        raise
    except _UNREADABLE as error:
        raise BadRequest(f"The Arrow stream cannot be read: {_shorten_error(error)}") from None


def from_arrow_fast(body: bytes, *, many: bool, unit: TimeUnit | None = None) -> PointColumns | None:
    """The result of `from_arrow` for a small stream of instants and numbers, wide or with the signals' names in a
    dictionary; None for any other."""
    try:
        outline = _read_outline(body, MAX_FAST_PATH_METADATA)
        if outline is None or not _takes_fast_path(outline):
            return None
    except _UNREADABLE:
        return None
    return from_arrow(body, many=many, unit=unit)


def is_bounded(body: bytes, max_text_bytes: int) -> bool:
    """Whether reading the stream takes little more memory than its size: it is not compressed, its columns share no
    bytes, and no texts unfold. Beyond some length only instants and numbers count, of which Arrow reads a million in
    some milliseconds without holding the interpreter; texts that mean them cost far more."""
    try:
        outline = _read_outline(body, MAX_METADATA)
        if outline is None or outline.num_columns > MAX_INLINE_COLUMNS:
            return False
        if outline.num_rows * outline.num_columns > min(len(body), MAX_CELLS_A_POINT * MAX_POINTS):
            return False
        is_short = len(body) <= max_text_bytes
        return all(_is_typed_column(column) or (is_short and _is_text(column.type)) for column in outline.schema)
    except _UNREADABLE as error:
        raise BadRequest(f"The Arrow stream is cut off or malformed: {_shorten_error(error)}") from None


def _read_outline(body: bytes, max_metadata_bytes: int) -> pa.Table | None:
    """The table of a stream with zeros for all its values, which takes no memory; None if it has much metadata or many
    dictionaries, or is compressed: what a buffer unpacks to is found in it, and zeros are no frame of a codec."""
    source, given, blank = pa.BufferReader(body), np.frombuffer(body, np.uint8), np.zeros(len(body), np.uint8)
    start = metadata_bytes = dictionaries = 0
    for message in pa.ipc.MessageReader.open_stream(source):
        end = source.tell()
        values = end - message.body.size
        metadata_bytes += values - start
        dictionaries += message.type == "dictionary"
        if metadata_bytes > max_metadata_bytes or dictionaries > MAX_DICTIONARIES:
            return None
        blank[start:values] = given[start:values]
        start = end
    try:
        return pa.ipc.open_stream(blank, options=_AS_IT_IS).read_all()
    except (pa.ArrowException, OSError):
        return None


def _takes_fast_path(outline: pa.Table) -> bool:
    schema, dictionaries = outline.schema, [name for name in outline.column_names if name in _NAMES]
    return (
        len(schema) <= MAX_FAST_PATH_COLUMNS
        and outline.num_rows * len(schema) <= MAX_FAST_PATH_CELLS
        and outline.column(0).num_chunks == 1
        and "quality" not in dictionaries
        and all(pa.types.is_dictionary(schema.field(name).type) for name in dictionaries)
        and all(map(_is_typed_column, schema))
        and sum(len(outline.column(name).chunk(0).dictionary) for name in dictionaries) <= MAX_FAST_PATH_ENTRIES
    )


def _is_typed_column(column: pa.Field) -> bool:
    kind = column.type
    if column.name == "time":
        return bool(pa.types.is_timestamp(kind) or pa.types.is_integer(kind))
    if column.name in _NAMES:
        return _is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _check_header(names: list[str], *, many: bool) -> None:
    if len(names) > MAX_COLUMNS:
        raise BadRequest(f"A table holds at most {MAX_SIGNALS} signals.")
    found = set(names)
    if len(found) != len(names):
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        raise BadRequest("Every column has its own name.", [FieldError(f"/{name}", "is there twice") for name in twice])
    needed = {"time"} | ({ASSET} if many else set())
    missing = sorted(needed - found)
    if missing:
        raise BadRequest("A column is missing.", [FieldError(f"/{name}", "is missing") for name in missing])
    if "signal" in found or "value" in found:
        missing = sorted(_LONG - found)
        unknown = sorted(found - _LONG - {"quality"} - needed)
        if missing or unknown:
            errors = [FieldError(f"/{name}", "is missing") for name in missing]
            errors += [FieldError(f"/{name}", "is not known beside signal, time and value") for name in unknown]
            raise BadRequest("The columns are not those of points.", errors)


def _from_table(table: pa.Table, *, many: bool, unit: TimeUnit | None) -> PointColumns:
    columns, rows = (_from_long(table, unit), None) if "signal" in table.column_names else _from_wide(table, unit)
    if many:
        columns.assets, codes = codes_of(_read_column(table, ASSET))
        columns.asset_codes = codes if rows is None else codes[rows]
    return columns


def _read_column(table: pa.Table, name: str) -> pa.Array:
    """One column in one piece, texts as texts however they were packed."""
    column = table.column(name)
    column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    kind = column.type
    if pa.types.is_string_view(kind):
        return column.cast(pa.string())
    if name in _NAMES:
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not _is_text(kind):
            raise BadRequest("A column is of the wrong type.", [FieldError(f"/{name}", f"is {kind}, not text")])
    elif pa.types.is_dictionary(kind):
        return column.dictionary_decode()
    return column


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _from_long(table: pa.Table, unit: TimeUnit | None) -> PointColumns:
    check_count(table.num_rows)
    names, codes = codes_of(_read_column(table, "signal"))
    times, time_faults = _read_times(_read_column(table, "time"), unit)
    values, faults = _read_numbers(_read_column(table, "value"), "value")
    if "quality" in table.column_names:
        faults = np.where(faults, faults, quality_faults(_read_column(table, "quality"))).astype(np.uint8)
    return PointColumns(names, codes, times, time_faults, values, faults, point_to_row)


def _from_wide(table: pa.Table, unit: TimeUnit | None) -> tuple[PointColumns, NDArray[np.intp]]:
    """The points, signal after signal, and the row of each."""
    signals = [name for name in table.column_names if name not in ("time", ASSET)]
    # Nulls are no points, so the count is that of the values which are there; but looking at a cell costs as well.
    check_count(table.num_rows * len(signals) // MAX_CELLS_A_POINT)
    check_count(sum(table.num_rows - table.column(name).null_count for name in signals))
    times, time_faults = _read_times(_read_column(table, "time"), unit)
    if not signals:
        raise BadRequest("The table has times, but no signal.")
    every_row = np.arange(table.num_rows)
    rows, all_values, all_faults = [], [], []
    for name in signals:
        column = _read_column(table, name)
        values, faults = _read_numbers(column, name)
        there = every_row
        if column.null_count:
            there = np.flatnonzero(column.is_valid().to_numpy(False))
            values, faults = values[there], faults[there]
        rows.append(there)
        all_values.append(values)
        all_faults.append(faults)
    row = np.concatenate(rows)
    owners = np.repeat(np.arange(len(signals)), [len(there) for there in rows])

    def pointer_of(position: int, field: str) -> str:
        column = signals[int(owners[position])] if field in ("value", "signal") else field
        return point_to_row(int(row[position]), column)

    values, faults = np.concatenate(all_values), np.concatenate(all_faults)
    return PointColumns(signals, owners, times[row], time_faults[row], values, faults, pointer_of), row


def _read_times(column: pa.Array, unit: TimeUnit | None) -> tuple[Times, Faults]:
    if _is_text(column.type):
        return timestamps.from_arrow(column) if unit is None else timestamps.from_number_texts(column, unit)
    if unit is not None and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return timestamps.from_numbers(column, unit)
    if not pa.types.is_timestamp(column.type):
        detail = f"is {column.type}, not a timestamp; `time-unit` names the unit of numbers"
        raise BadRequest("A column is of the wrong type.", [FieldError("/time", detail)])
    if column.type.tz is None:
        raise BadRequest("Times need an offset from UTC.", [FieldError("/time", "is a timestamp without a time zone")])
    faults = np.zeros(len(column), dtype=np.uint8)
    ticks = column.view(pa.int64())
    if column.null_count:
        faults[column.is_null().to_numpy(zero_copy_only=False)] = timestamps.MALFORMED
        ticks = ticks.fill_null(0)
    numbers = ticks.to_numpy(zero_copy_only=False)
    if column.type.unit == "ns":
        return numbers // 1000, faults
    factor = _FACTORS[column.type.unit]
    # What would overflow is out of any range; the range check says so.
    return np.clip(numbers, -(2**62) // factor, 2**62 // factor) * factor, faults


def _read_numbers(column: pa.Array, name: str) -> tuple[Values, Faults]:
    faults = np.zeros(len(column), dtype=np.uint8)
    kind = column.type
    if pa.types.is_float64(kind):
        pass
    elif _is_text(kind):
        fine = pc.fill_null(pc.match_substring_regex(column, _NUMBER), False)
        named = pc.fill_null(pc.match_substring_regex(column, r"^(?i)\s*[+-]?(nan|inf|infinity)\s*$"), False)
        faults[~fine.to_numpy(zero_copy_only=False)] = error(Reason.INVALID_VALUE)
        faults[named.to_numpy(zero_copy_only=False)] = error(Reason.VALUE_NOT_FINITE)
        column = pc.if_else(fine, pc.utf8_trim_whitespace(column), "0").cast(pa.float64())
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        column = column.cast(pa.float64(), safe=False)
    elif not pa.types.is_null(kind):
        raise BadRequest("A column is of the wrong type.", [FieldError(f"/{name}", f"is {kind}, not numbers")])
    else:
        column = column.cast(pa.float64())
    if column.null_count:
        faults[column.is_null().to_numpy(zero_copy_only=False)] = error(Reason.INVALID_VALUE)
        column = column.fill_null(0.0)
    return column.to_numpy(zero_copy_only=False), faults


def _shorten_error(error: Exception) -> str:
    """The first line of what the library says, bounded."""
    return (str(error).splitlines() or ["unreadable"])[0][:200]
