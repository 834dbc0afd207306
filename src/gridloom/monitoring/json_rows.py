"""JSON in rows: `[{signal, time, value, quality?}]`, or one such object a line."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Literal

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET, UnsetType

from gridloom.kernel.problem import BadRequest, FieldError
from gridloom.monitoring import timestamps
from gridloom.monitoring.codec import Values
from gridloom.monitoring.columns import FINE, Columns, Faults, check_count, codes_of, quality_faults
from gridloom.monitoring.json_faults import check_keys, loose_numbers, mapping, read, read_lines, unreadable


class _Row(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    signal: str
    time: str
    value: float
    quality: Literal["GOOD", "UNCERTAIN", "BAD"] | UnsetType = UNSET


class _AssetRow(_Row, forbid_unknown_fields=True, kw_only=True, gc=False):
    physical_asset_id: str = msgspec.field(name="physicalAssetID")


_rows_decoder = msgspec.json.Decoder(list[_Row])
_asset_rows_decoder = msgspec.json.Decoder(list[_AssetRow])


def from_rows(body: bytes, *, many: bool, lines: bool) -> Columns:
    decoder: msgspec.json.Decoder[Any] = _asset_rows_decoder if many else _rows_decoder
    fields = ("signal", "time", "value", "quality", *(("physical_asset_id",) if many else ()))
    try:
        rows = _line_decoder(many).decode_lines(body) if lines else decoder.decode(body)
    except msgspec.ValidationError:
        return _loose_rows(body, many=many, lines=lines)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise unreadable(error) from None
    check_count(len(rows))
    if not rows:
        return _table_columns([], [], np.empty(0), [], [] if many else None, np.empty(0, np.uint8))
    signals, times, values, qualities, *assets = (list(map(attrgetter(name), rows)) for name in fields)
    graded = qualities if any(map(_is_set, set(qualities))) else None
    return _table_columns(signals, times, np.array(values), graded, assets[0] if many else None, None)


def _is_set(value: object) -> bool:
    return value is not UNSET


def _line_decoder(many: bool) -> msgspec.json.Decoder[Any]:
    return _asset_line_decoder if many else _row_line_decoder


_row_line_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_Row)
_asset_line_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_AssetRow)


def _table_columns(
    signals: Any, times: Any, values: Values, qualities: Any, assets: Any, faults: Faults | None
) -> Columns:
    names, codes = codes_of(pa.array(signals, pa.string()))
    times_us, time_faults = timestamps.from_arrow(pa.array(times, pa.string()))
    columns = Columns(
        names,
        codes,
        times_us,
        time_faults,
        values,
        np.zeros(len(codes), np.uint8) if faults is None else faults,
        row_place,
    )
    if qualities:
        found = quality_faults(pa.array([None if grade is UNSET else grade for grade in qualities], pa.string()))
        columns.faults = np.where(columns.faults == FINE, found, columns.faults).astype(np.uint8)
    if assets is not None:
        columns.assets, columns.asset_codes = codes_of(pa.array(assets, pa.string()))
    return columns


def row_place(position: int, field: str) -> str:
    return f"/{position}/{field}"


class _LooseRow(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A row whose fields are there, whatever they hold."""

    signal: Any
    time: Any
    value: Any
    quality: Any = UNSET


class _LooseAssetRow(_LooseRow, forbid_unknown_fields=True, kw_only=True, gc=False):
    physical_asset_id: Any = msgspec.field(name="physicalAssetID")


_loose_decoders: dict[tuple[bool, bool], msgspec.json.Decoder[Any]] = {
    (False, False): msgspec.json.Decoder(list[_LooseRow]),
    (True, False): msgspec.json.Decoder(list[_LooseAssetRow]),
    (False, True): msgspec.json.Decoder(_LooseRow),
    (True, True): msgspec.json.Decoder(_LooseAssetRow),
}


def _loose_rows(body: bytes, *, many: bool, lines: bool) -> Columns:
    """The same body once more, to tell a point that is wrong from a body that is."""
    decoder = _loose_decoders[many, lines]
    try:
        rows: list[Any] = decoder.decode_lines(body) if lines else decoder.decode(body)
    except msgspec.ValidationError:
        raise _misshapen(body, many=many, lines=lines) from None
    check_count(len(rows))
    values, faults = loose_numbers([row.value for row in rows])
    signals = [row.signal if isinstance(row.signal, str) else "" for row in rows]
    times = [row.time if isinstance(row.time, str) else None for row in rows]
    grades = [row.quality for row in rows]
    if any(map(_is_set, grades)):
        grades = [grade if grade is UNSET or isinstance(grade, str) else "?" for grade in grades]
    else:
        grades = []
    assets = None
    if many:
        assets = [row.physical_asset_id for row in rows]
        wrong = next((position for position, asset in enumerate(assets) if not isinstance(asset, str)), None)
        if wrong is not None:
            error = FieldError(f"/{wrong}/physicalAssetID", "is not a UUID")
            raise BadRequest("An asset's id is a UUID.", [error])
    return _table_columns(signals, times, values, grades, assets, faults)


def _misshapen(body: bytes, *, many: bool, lines: bool) -> BadRequest:
    """What keeps a body from being rows, with a pointer to the first fault."""
    rows = read_lines(body) if lines else read(body)
    needed = {"signal", "time", "value"} | ({"physicalAssetID"} if many else set())
    try:
        for position, row in enumerate(rows):
            check_keys(mapping(row, f"/{position}"), needed, needed | {"quality"}, f"/{position}")
    except BadRequest as fault:
        return fault
    return BadRequest("The body does not have the shape of points.")
