"""Bodies of points, JSON in columns or rows, NDJSON, CSV or Arrow, as columns; no step per point on the usual path.

What makes a body unreadable refuses the request (400). What makes a single point unusable refuses that point.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Final, Literal

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET, UnsetType

from gridloom.kernel.problem import BadRequest, FieldError
from gridloom.monitoring import tables, timestamps
from gridloom.monitoring.codec import Times, Values
from gridloom.monitoring.columns import (
    FINE,
    Columns,
    Faults,
    check_count,
    codes_of,
    fault,
    quality_faults,
    settle,
)
from gridloom.monitoring.model import Reason, Received

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
CSV: Final = "text/csv"
ARROW: Final = "application/vnd.apache.arrow.stream"
MEDIA_TYPES: Final = (JSON, NDJSON, CSV, ARROW)


def parse(body: bytes, media_type: str, *, many: bool, latest_us: int) -> Received:
    """`many` bodies name the asset of each point; no point may lie after `latest_us`."""
    if media_type == CSV:
        columns = tables.from_csv(body, many=many)
    elif media_type == ARROW:
        columns = tables.from_arrow(body, many=many)
    elif media_type == NDJSON:
        columns = _rows(body, many=many, lines=True)
    elif body.lstrip()[:1] == b"[":
        columns = _rows(body, many=many, lines=False)
    else:
        columns = _columns(body, many=many)
    check_count(len(columns))
    return settle(columns, latest_us)


class _Column(msgspec.Struct, forbid_unknown_fields=True):
    time: msgspec.Raw
    value: list[float]


class _Row(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    signal: str
    time: str
    value: float
    quality: Literal["GOOD", "UNCERTAIN", "BAD"] | UnsetType = UNSET


class _AssetRow(_Row, forbid_unknown_fields=True, kw_only=True, gc=False):
    physical_asset_id: str = msgspec.field(name="physicalAssetID")


_columns_decoder = msgspec.json.Decoder(dict[str, _Column])
_asset_columns_decoder = msgspec.json.Decoder(dict[str, dict[str, _Column]])
_rows_decoder = msgspec.json.Decoder(list[_Row])
_asset_rows_decoder = msgspec.json.Decoder(list[_AssetRow])
_texts_decoder = msgspec.json.Decoder(list[str])
_anything = msgspec.json.Decoder()


def _unreadable(error: Exception) -> BadRequest:
    return BadRequest(f"The body is not valid JSON: {error}.")


# --- columns: {signal: {time: [...], value: [...]}}, under the asset's id where there are many


def _columns(body: bytes, *, many: bool) -> Columns:
    try:
        assets = _asset_columns_decoder.decode(body) if many else {"": _columns_decoder.decode(body)}
        known: dict[bytes, tuple[Times, Faults]] = {}
        pieces: list[_Piece] = [
            (asset, signal, *_times_of(column.time, known), np.array(column.value, dtype=np.float64), None)
            for asset, signals in assets.items()
            for signal, column in signals.items()
        ]
    except msgspec.ValidationError:
        pieces = _loose_pieces(body, many=many)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(error) from None
    return _joined(pieces, many=many)


_Piece = tuple[str, str, Times, Faults, Values, Faults | None]


def _times_of(raw: msgspec.Raw, known: dict[bytes, tuple[Times, Faults]]) -> tuple[Times, Faults]:
    """Signals that were sampled together bring the same times; they are read once."""
    array = bytes(raw)
    found = known.get(array)
    if found is None:
        found = timestamps.from_json(array)
        if found is None:
            found = timestamps.from_arrow(pa.array(_texts_decoder.decode(array), pa.string()))
        known[array] = found
    return found


def _loose_pieces(body: bytes, *, many: bool) -> list[_Piece]:
    """The same body, looked at piece by piece, to tell a point that is wrong from a body that is."""
    document = _read(body)
    assets = _mapping(document, "") if many else {"": document}
    pieces: list[_Piece] = []
    for asset, signals in assets.items():
        root = f"/{_escaped(asset)}" if many else ""
        for signal, column in _mapping(signals, root).items():
            pointer = f"{root}/{_escaped(signal)}"
            _check_keys(_mapping(column, pointer), {"time", "value"}, {"time", "value"}, pointer)
            for key in ("time", "value"):
                if not isinstance(column[key], list):
                    raise BadRequest(
                        "Times and values are arrays.", [FieldError(f"{pointer}/{key}", "is not an array")]
                    )
            times, time_faults = _loose_times(column["time"])
            pieces.append((asset, signal, times, time_faults, *_loose_numbers(column["value"])))
    return pieces


def _joined(pieces: list[_Piece], *, many: bool) -> Columns:
    for asset, signal, times, _, values, _ in pieces:
        if len(times) != len(values):
            pointer = f"/{_escaped(asset)}/{_escaped(signal)}" if many else f"/{_escaped(signal)}"
            detail = f"has {len(times)} times and {len(values)} values"
            raise BadRequest("Each value needs its time.", [FieldError(pointer, detail)])
    counts = np.array([len(piece[2]) for piece in pieces], dtype=np.int64)
    check_count(int(counts.sum()))
    starts = np.cumsum(counts) - counts
    owners = np.repeat(np.arange(len(pieces)), counts)

    def place(position: int, field: str) -> str:
        owner = int(owners[position])
        asset, signal = pieces[owner][:2]
        root = f"/{_escaped(asset)}" if many else ""
        inside = f"/{field}/{position - int(starts[owner])}" if field in ("time", "value") else ""
        return f"{root}/{_escaped(signal)}{inside}" if field != "physicalAssetID" else root

    names = list(dict.fromkeys(piece[1] for piece in pieces))
    numbers = {name: number for number, name in enumerate(names)}
    faults = [np.zeros(len(piece[2]), dtype=np.uint8) if piece[5] is None else piece[5] for piece in pieces]
    columns = Columns(
        names=names,
        codes=np.repeat(np.array([numbers[piece[1]] for piece in pieces], dtype=np.intp), counts),
        times=_concatenated([piece[2] for piece in pieces], np.int64),
        time_faults=_concatenated([piece[3] for piece in pieces], np.uint8),
        values=_concatenated([piece[4] for piece in pieces], np.float64),
        faults=_concatenated(faults, np.uint8),
        place=place,
    )
    if many:
        assets = list(dict.fromkeys(piece[0] for piece in pieces))
        ranks = {asset: rank for rank, asset in enumerate(assets)}
        columns.assets = assets
        columns.asset_codes = np.repeat(np.array([ranks[piece[0]] for piece in pieces], dtype=np.intp), counts)
    return columns


# --- rows: [{signal, time, value, quality?}], or one such object a line


def _rows(body: bytes, *, many: bool, lines: bool) -> Columns:
    decoder: msgspec.json.Decoder[Any] = _asset_rows_decoder if many else _rows_decoder
    fields = ("signal", "time", "value", "quality", *(("physical_asset_id",) if many else ()))
    try:
        rows = _line_decoder(many).decode_lines(body) if lines else decoder.decode(body)
    except msgspec.ValidationError:
        return _loose_rows(body, many=many, lines=lines)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(error) from None
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


def _loose_rows(body: bytes, *, many: bool, lines: bool) -> Columns:
    rows = _read_lines(body) if lines else _read(body)
    check_count(len(rows))
    needed = {"signal", "time", "value"} | ({"physicalAssetID"} if many else set())
    for position, row in enumerate(rows):
        _check_keys(_mapping(row, f"/{position}"), needed, needed | {"quality"}, f"/{position}")
    values, faults = _loose_numbers([row["value"] for row in rows])
    faults[[not isinstance(row["signal"], str) for row in rows]] = fault(Reason.INVALID_SIGNAL)
    grades = [row.get("quality", UNSET) for row in rows]
    if any(map(_is_set, grades)):
        grades = [grade if grade is UNSET or isinstance(grade, str) else "?" for grade in grades]
    else:
        grades = []
    assets = None
    if many:
        assets = [row["physicalAssetID"] for row in rows]
        for position, asset in enumerate(assets):
            if not isinstance(asset, str):
                error = FieldError(f"/{position}/physicalAssetID", "is not a UUID")
                raise BadRequest("An asset's id is a UUID.", [error])
    signals = [row["signal"] if isinstance(row["signal"], str) else "" for row in rows]
    times = [row["time"] if isinstance(row["time"], str) else None for row in rows]
    return _table_columns(signals, times, values, grades, assets, faults)


# --- what both share when something is wrong


def _read(body: bytes) -> Any:
    try:
        return _anything.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(error) from None


def _read_lines(body: bytes) -> list[Any]:
    try:
        return _anything.decode_lines(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(error) from None


def _mapping(value: Any, pointer: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadRequest("The body does not have the shape of points.", [FieldError(pointer, "is not an object")])
    return value


def _check_keys(found: dict[str, Any], needed: set[str], allowed: set[str], pointer: str) -> None:
    missing = [FieldError(f"{pointer}/{key}", "is missing") for key in sorted(needed - found.keys())]
    unknown = [FieldError(f"{pointer}/{_escaped(key)}", "is not known here") for key in sorted(found.keys() - allowed)]
    if missing or unknown:
        raise BadRequest("The body does not have the shape of points.", [*missing, *unknown])


def _loose_times(texts: list[Any]) -> tuple[Times, Faults]:
    return timestamps.from_arrow(pa.array([text if isinstance(text, str) else None for text in texts], pa.string()))


def _loose_numbers(numbers: list[Any]) -> tuple[Values, Faults]:
    values = np.zeros(len(numbers), dtype=np.float64)
    faults = np.zeros(len(numbers), dtype=np.uint8)
    for position, number in enumerate(numbers):
        if type(number) not in (int, float):
            faults[position] = fault(Reason.INVALID_VALUE)
            continue
        try:
            values[position] = number
        except OverflowError:
            faults[position] = fault(Reason.VALUE_NOT_FINITE)
    return values, faults


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _concatenated(parts: list[Any], dtype: type) -> Any:
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)
