"""JSON in rows: `[{signal, time, value, quality?}]`, or one such object a line."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET, UnsetType

from gridloom.edge.decode.slices import decode_in_batches
from gridloom.kernel.problem import BadRequest, FieldError
from gridloom.monitoring.codec import Values
from gridloom.monitoring.ingest import timestamps
from gridloom.monitoring.ingest.columns import FINE, Faults, PointColumns, check_count, codes_of, quality_faults
from gridloom.monitoring.ingest.json_errors import check_keys, loose_numbers, mapping, read, read_lines, unreadable


class _Row(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    signal: str
    time: str
    value: float
    quality: Literal["GOOD", "UNCERTAIN", "BAD"] | UnsetType = UNSET


class _AssetRow(_Row, forbid_unknown_fields=True, kw_only=True, gc=False):
    physical_asset_id: str = msgspec.field(name="physicalAssetID")


_decoders: dict[tuple[bool, bool], Callable[[bytes], list[Any]]] = {
    (False, False): msgspec.json.Decoder(list[_Row]).decode,
    (True, False): msgspec.json.Decoder(list[_AssetRow]).decode,
    (False, True): msgspec.json.Decoder(_Row).decode_lines,
    (True, True): msgspec.json.Decoder(_AssetRow).decode_lines,
}


class _Slice(NamedTuple):
    """Some rows as columns: the rows themselves are let go, slice by slice."""

    signals: pa.Array
    times: pa.Array
    values: Values
    qualities: list[Any] | None
    assets: pa.Array | None


def from_rows(body: bytes, *, many: bool, lines: bool) -> PointColumns:
    decode = _decoders[many, lines]
    try:
        slices = decode_in_batches(body, lambda piece: _read_slice(decode(piece), many=many), lines=lines)
    except msgspec.ValidationError:
        return _loose_rows(body, many=many, lines=lines)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise unreadable(error) from None
    check_count(sum(len(one.values) for one in slices))
    grades = None
    if any(one.qualities is not None for one in slices):
        grades = [grade for one in slices for grade in one.qualities or repeat(UNSET, len(one.values))]
    return _table_columns(
        pa.concat_arrays([one.signals for one in slices]),
        pa.concat_arrays([one.times for one in slices]),
        np.concatenate([one.values for one in slices]),
        grades,
        pa.concat_arrays([one.assets for one in slices]) if many else None,
        None,
    )


def _read_slice(rows: list[Any], *, many: bool) -> _Slice:
    qualities = [row.quality for row in rows]
    return _Slice(
        pa.array([row.signal for row in rows], pa.string()),
        pa.array([row.time for row in rows], pa.string()),
        np.array([row.value for row in rows], dtype=np.float64),
        qualities if any(map(_is_set, set(qualities))) else None,
        pa.array([row.physical_asset_id for row in rows], pa.string()) if many else None,
    )


def _is_set(value: object) -> bool:
    return value is not UNSET


def _table_columns(
    signals: pa.Array,
    times: pa.Array,
    values: Values,
    qualities: list[Any] | None,
    assets: pa.Array | None,
    faults: Faults | None,
) -> PointColumns:
    names, codes = codes_of(signals)
    times_us, time_faults = timestamps.from_arrow(times)
    columns = PointColumns(
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
        columns.assets, columns.asset_codes = codes_of(assets)
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


_loose_decoders: dict[tuple[bool, bool], Callable[[bytes], list[Any]]] = {
    (False, False): msgspec.json.Decoder(list[_LooseRow]).decode,
    (True, False): msgspec.json.Decoder(list[_LooseAssetRow]).decode,
    (False, True): msgspec.json.Decoder(_LooseRow).decode_lines,
    (True, True): msgspec.json.Decoder(_LooseAssetRow).decode_lines,
}


def _loose_rows(body: bytes, *, many: bool, lines: bool) -> PointColumns:
    """The same body once more, to tell a point that is wrong from a body that is."""
    try:
        slices = decode_in_batches(body, _loose_decoders[many, lines], lines=lines)
    except msgspec.ValidationError:
        raise _explain_misshape(body, many=many, lines=lines) from None
    rows = [row for one in slices for row in one]
    check_count(len(rows))
    values, faults = loose_numbers([row.value for row in rows])
    signals = pa.array([row.signal if isinstance(row.signal, str) else "" for row in rows], pa.string())
    times = pa.array([row.time if isinstance(row.time, str) else None for row in rows], pa.string())
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
    named = pa.array(assets, pa.string()) if assets is not None else None
    return _table_columns(signals, times, values, grades, named, faults)


def _explain_misshape(body: bytes, *, many: bool, lines: bool) -> BadRequest:
    """What keeps a body from being rows, with a pointer to the first fault."""
    rows = read_lines(body) if lines else read(body)
    needed = {"signal", "time", "value"} | ({"physicalAssetID"} if many else set())
    try:
        for position, row in enumerate(rows):
            check_keys(mapping(row, f"/{position}"), needed, needed | {"quality"}, f"/{position}")
    except BadRequest as error:
        return error
    return BadRequest("The body does not have the shape of points.")
