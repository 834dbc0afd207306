"""Bulk bodies into rows: a JSON array, NDJSON, CSV or Parquet, every faulty row named."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from itertools import islice
from typing import Any, Final, TypeVar, get_type_hints
from uuid import UUID

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from gridloom.kernel.problem import BadRequest, FieldError, PayloadTooLarge
from gridloom.platform.http import CSV, JSON, NDJSON, PARQUET
from gridloom.platform.http.decode.json_decoder import reject_long_numbers, rejected_by
from gridloom.platform.http.fields import escape
from gridloom.platform.http.long_bodies.slices import count_in_slices, decode_in_batches, reject_long_lines
from gridloom.settlements.model import FactKind, Row

MAX_ROWS: Final = 100_000
MAX_ERRORS: Final = 100
MAX_FIELDS: Final = 10
MAX_COLUMNS: Final = 100
MAX_HEADER: Final = 10_000
MAX_LINE_BYTES: Final = 16 * 1024
S = TypeVar("S", bound=msgspec.Struct)
BULK_FORMATS: Final = (JSON, NDJSON, CSV, PARQUET)


class InvalidRows(Exception):
    """Rows that cannot be read, up to a hundred of them with their fault, beside those that can."""

    def __init__(self, errors: Sequence[FieldError], total: int, sound: Mapping[int, Any]) -> None:
        super().__init__(errors, total)
        self.errors = errors
        self.total = total
        self.sound = sound
        """The other rows by their index in the request."""


def read_rows(kind: FactKind, body: bytes, media_type: str) -> Sequence[Row]:
    """The rows of a bulk request; `InvalidRows` has those that can be read beside the faults of the others."""
    return read_rows_of(kind.row, body, media_type)


def read_rows_of(row: type[S], body: bytes, media_type: str) -> Sequence[S]:
    """The same for rows of any struct."""
    rows: Sequence[S] = _READERS[media_type](row, body)
    if not rows:
        raise BadRequest.at("", "At least one row is needed and none was sent.", "no rows")
    _reject_too_many(len(rows))
    return rows


def reject_rows(errors: Sequence[FieldError], total: int) -> BadRequest:
    """One refusal for all the faults of a request."""
    more = f" and {total - len(errors)} more" if total > len(errors) else ""
    first = errors[0]
    return BadRequest(f"Nothing was recorded. {first.pointer}: {first.detail}{more}", errors=errors)


def _reject_crowd(body: bytes, mark: bytes) -> None:
    """Before anything is unfolded: a body with far more marks than rows are taken would only cost memory."""
    marks = count_in_slices(body, mark)
    if marks > 2 * MAX_ROWS:
        _reject_too_many(marks)


def _reject_too_many(count: int) -> None:
    if count > MAX_ROWS:
        raise PayloadTooLarge(f"A request holds up to {MAX_ROWS} rows, and this one {count}.")


# --- JSON ----------------------------------------------------------------------------------------------------------


@cache
def _array_decoder(row: type[Row]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(list[row])  # type: ignore[valid-type]


@cache
def _row_decoder(row: type[Row]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(row)


def _read_json(row: type[Row], body: bytes) -> Sequence[Row]:
    reject_long_numbers(body)
    _reject_crowd(body, f'"{_find_mark(row)}"'.encode())
    try:
        return _join_slices(decode_in_batches(body, _array_decoder(row).decode, lines=False))
    except msgspec.ValidationError:
        if count_in_slices(body, b",") > MAX_FIELDS * MAX_ROWS:
            raise _refused_whole(row, body) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        parts = msgspec.json.decode(body, type=list[msgspec.Raw])
    except msgspec.ValidationError as error:
        raise rejected_by(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest.at("", f"The body is not JSON: {error}.", "not JSON") from None
    _reject_too_many(len(parts))
    return _read_each(row, parts, _row_decoder(row).decode)


def _find_mark(row: type[Row]) -> str:
    """A field that every row has."""
    return next(field.encode_name for field in msgspec.structs.fields(row) if field.required)


def _refused_whole(row: type[Row], body: bytes) -> BadRequest:
    """The first fault, by its index in the whole body."""
    try:
        _array_decoder(row).decode(body)
    except msgspec.ValidationError as error:
        return rejected_by(str(error), list[row])  # type: ignore[valid-type]
    raise AssertionError("a slice was refused and the whole is not")


def _join_slices(slices: Sequence[Sequence[Row]]) -> Sequence[Row]:
    return slices[0] if len(slices) == 1 else [row for one in slices for row in one]


def _read_ndjson(row: type[Row], body: bytes) -> Sequence[Row]:
    reject_long_numbers(body)
    _reject_crowd(body, b"\n")
    try:
        return _join_slices(decode_in_batches(body, _row_decoder(row).decode_lines, lines=True))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        lines = [line for line in body.split(b"\n") if line.strip()]
        _reject_too_many(len(lines))
        return _read_each(row, lines, _row_decoder(row).decode)


# --- CSV and Parquet -----------------------------------------------------------------------------------------------


def _read_csv(row: type[Row], body: bytes) -> Sequence[Row]:
    _reject_crowd(body, b"\n")
    reject_long_lines(body, MAX_LINE_BYTES)
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadRequest.at("", "The body is not CSV in UTF-8.", "not UTF-8") from None
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        if not {"\n", "\r"} & set(text[:MAX_HEADER]) and len(text) > MAX_HEADER:
            raise csv.Error("its first line is too long")
        names = next(lines, [])
        decimal = "."
        if len(names) == 1 and ";" in names[0]:  # as spreadsheets write it where decimals have a comma
            decimal = ","
            lines = csv.reader(io.StringIO(text, newline=""), delimiter=";", strict=True)
            names = next(lines)
        _check_names(row, names)
        cells = list(islice((line for line in lines if line), MAX_ROWS + 1))
    except csv.Error as error:
        raise BadRequest.at("", f"The body is not CSV: {error}.", str(error)) from None
    _reject_too_many(len(cells))
    numbers = _list_numbers(row)
    return _read_each(row, cells, lambda line: _convert_row(row, _name_cells(names, line, numbers, decimal)))


def _name_cells(names: Sequence[str], line: Sequence[str], numbers: frozenset[str], decimal: str) -> dict[str, Any]:
    if len(line) != len(names):
        raise ValueError(f"has {len(line)} fields where the header has {len(names)}")
    record: dict[str, Any] = {name: text for name, text in zip(names, line, strict=True) if text != ""}
    for name in numbers & record.keys():
        record[name] = _read_number(name, record[name], decimal)
    return record


class FaultyCell(ValueError):
    """A cell of a line that cannot be read."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(detail)
        self.field = field


_NUMBERS: Final = {mark: re.compile(rf"-?[0-9]+([{mark}][0-9]+)?([eE][+-]?[0-9]+)?") for mark in ".,"}
"""As JSON has it, with a decimal point or comma: programs write what is very small or large with an exponent. A mark
between thousands is refused: read as the other mark it would be a thousandth."""


def _read_number(name: str, text: str, decimal: str) -> float:
    if not _NUMBERS[decimal].fullmatch(text):
        raise FaultyCell(name, f"is not a number, such as 84{decimal}31")
    return float(text.replace(",", "."))


@cache
def _list_numbers(row: type[Row]) -> frozenset[str]:
    """The fields that are numbers."""
    hints = get_type_hints(row)
    return frozenset(field.encode_name for field in msgspec.structs.fields(row) if "float" in str(hints[field.name]))


def _read_parquet(row: type[Row], body: bytes) -> Sequence[Row]:
    """A small file may unpack to any size: it is read where memory is limited."""
    try:
        facts = pq.read_metadata(pa.BufferReader(body))
        _reject_too_many(facts.num_rows)
        schema = facts.schema.to_arrow_schema()
        _check_names(row, schema.names)
        _reject_nested(schema)
        table = pq.ParquetFile(pa.BufferReader(body), pre_buffer=False).read(use_threads=False)
        _reject_too_many(table.num_rows)
        records = _without_nanoseconds(table).to_pylist()
    except MemoryError:
        raise
    except _UNREADABLE as error:
        raise BadRequest.at("", f"The body is not Parquet: {_shorten_fault(error)}", "not Parquet") from None
    return _read_each(
        row, records, lambda record: _convert_row(row, {name: _make_plain(cell) for name, cell in record.items()})
    )


_UNREADABLE: Final = (pa.ArrowException, OSError, ValueError, OverflowError, TypeError, KeyError, IndexError)


def _shorten_fault(error: Exception) -> str:
    """The first line of what the library says, bounded."""
    return (str(error).splitlines() or ["unreadable"])[0][:200]


def _reject_nested(schema: pa.Schema) -> None:
    nested = [field.name for field in schema if pa.types.is_nested(field.type)]
    if nested:
        raise BadRequest.at(f"/0/{nested[0]}", "A row has plain fields.", "is a list or a struct")


def _without_nanoseconds(table: pa.Table) -> pa.Table:
    """Microseconds are what Python's instants hold."""
    fields = [
        pa.field(field.name, pa.timestamp("us", tz=field.type.tz)) if pa.types.is_timestamp(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields), safe=False)


def _make_plain(cell: Any) -> Any:
    if isinstance(cell, Decimal):
        return float(cell)
    if isinstance(cell, UUID):
        return str(cell)
    if isinstance(cell, date) and not isinstance(cell, datetime):
        return cell.isoformat()
    return cell


def _check_names(row: type[Row], names: Sequence[str]) -> None:
    known = {field.encode_name: field.required for field in msgspec.structs.fields(row)}
    if len(names) > MAX_COLUMNS:
        raise BadRequest(f"A row has up to {len(known)} fields, and this table {len(names)} columns.")
    errors = [FieldError(f"/0/{escape(name)}", "is not a field of this request") for name in names if name not in known]
    errors += [FieldError(f"/0/{name}", "is missing") for name, needed in known.items() if needed and name not in names]
    errors += [FieldError(f"/0/{escape(name)}", "is given twice") for name in {n for n in names if names.count(n) > 1}]
    if errors:
        raise reject_rows(errors[:MAX_ERRORS], len(errors))


def _convert_row(row: type[Row], record: dict[str, Any]) -> Row:
    return msgspec.convert({name: cell for name, cell in record.items() if cell is not None}, row)


# --- row by row, where something is wrong --------------------------------------------------------------------------


def _read_each(row: type[Row], parts: Iterable[Any], read: Callable[[Any], Row]) -> Sequence[Row]:
    rows: dict[int, Row] = {}
    errors: list[FieldError] = []
    faults = 0
    for position, part in enumerate(parts):
        try:
            rows[position] = read(part)
        except (ValueError, UnicodeDecodeError, RecursionError) as error:
            faults += 1
            if len(errors) < MAX_ERRORS:
                errors.append(_locate_fault(row, position, error))
    if errors:
        raise InvalidRows(errors, faults, rows)
    return list(rows.values())


def _locate_fault(row: type[Row], position: int, error: Exception) -> FieldError:
    if isinstance(error, msgspec.ValidationError):
        found = rejected_by(str(error), row).errors[0]
        return FieldError(f"/{position}{found.pointer}", found.detail)
    if isinstance(error, msgspec.DecodeError):
        return FieldError(f"/{position}", f"is not JSON: {error}")
    if isinstance(error, FaultyCell):
        return FieldError(f"/{position}/{error.field}", str(error))
    return FieldError(f"/{position}", str(error))


_READERS: Final[dict[str, Callable[[type[Any], bytes], Sequence[Any]]]] = {
    JSON: _read_json,
    NDJSON: _read_ndjson,
    CSV: _read_csv,
    PARQUET: _read_parquet,
}
