"""JSON in rows: `[{signal, time, value, quality?}]`, or one such object a line; and what both forms of JSON share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET

from gridloom.kernel.problem import BadRequest, FieldError
from gridloom.monitoring.codec import Times, Values
from gridloom.monitoring.ingest import timestamps
from gridloom.monitoring.ingest.columns import PointColumns, check_count, codes_of, error, point_to_row, quality_faults
from gridloom.monitoring.ingest.timestamps import FINE, Faults
from gridloom.monitoring.model import Reason, TimeUnit
from gridloom.platform.http.fields import escape
from gridloom.platform.http.long_bodies.slices import decode_in_batches


class _Row(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The fields are there, whatever they hold: what is wrong with one refuses its point."""

    signal: Any
    time: Any
    value: Any
    quality: Any = UNSET


class _AssetRow(_Row, forbid_unknown_fields=True, kw_only=True, gc=False):
    physical_asset_id: Any = msgspec.field(name="physicalAssetID")


_decoders: dict[tuple[bool, bool], Callable[[bytes], list[Any]]] = {
    (False, False): msgspec.json.Decoder(list[_Row]).decode,
    (True, False): msgspec.json.Decoder(list[_AssetRow]).decode,
    (False, True): msgspec.json.Decoder(_Row).decode_lines,
    (True, True): msgspec.json.Decoder(_AssetRow).decode_lines,
}


class _Batch(NamedTuple):
    """Some rows as columns: the rows themselves are let go, batch by batch."""

    signals: pa.Array
    times: Times
    time_faults: Faults
    values: Values
    faults: Faults
    assets: pa.Array


def from_rows(body: bytes, *, many: bool, lines: bool, unit: TimeUnit | None = None) -> PointColumns:
    decode = _decoders[many, lines]
    try:
        batches = decode_in_batches(body, lambda piece: _read_batch(decode(piece), many=many, unit=unit), lines=lines)
    except msgspec.ValidationError:
        raise _explain_misshape(body, many=many, lines=lines) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise unreadable(fault) from None
    check_count(sum(len(one.values) for one in batches))
    names, codes = codes_of(pa.concat_arrays([one.signals for one in batches]))
    columns = ((one.times, one.time_faults, one.values, one.faults) for one in batches)
    times, time_faults, values, faults = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    points = PointColumns(names, codes, times, time_faults, values, faults, point_to_row)
    if many:
        assets = pa.concat_arrays([one.assets for one in batches])
        if assets.null_count:
            wrong = int(np.flatnonzero(assets.is_null().to_numpy(zero_copy_only=False))[0])
            misspelt = FieldError(point_to_row(wrong, "physicalAssetID"), "is not a UUID")
            raise BadRequest("An asset's id is a UUID.", [misspelt])
        points.assets, points.asset_codes = codes_of(assets)
    return points


def _read_batch(rows: list[Any], *, many: bool, unit: TimeUnit | None) -> _Batch:
    values, faults = loose_numbers([row.value for row in rows])
    qualities = [row.quality for row in rows]
    if qualities.count(UNSET) < len(qualities):
        texts = [None if one is UNSET else one if isinstance(one, str) else "?" for one in qualities]
        found = quality_faults(pa.array(texts, pa.string()))
        faults = np.where(faults == FINE, found, faults).astype(np.uint8)
    return _Batch(
        _pack_texts([row.signal for row in rows]),
        *loose_times([row.time for row in rows], unit),
        values,
        faults,
        _pack_texts([row.physical_asset_id for row in rows] if many else []),
    )


def _pack_texts(texts: list[Any]) -> pa.Array:
    """A value that is no text becomes null."""
    try:
        return pa.array(texts, pa.string())
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([text if isinstance(text, str) else None for text in texts], pa.string())


def _explain_misshape(body: bytes, *, many: bool, lines: bool) -> BadRequest:
    """The error that keeps a body from being rows, with a pointer to the first one."""
    rows = read_lines(body) if lines else read(body)
    needed = {"signal", "time", "value"} | ({"physicalAssetID"} if many else set())
    try:
        for position, row in enumerate(rows):
            check_keys(mapping(row, f"/{position}"), needed, needed | {"quality"}, f"/{position}")
    except BadRequest as fault:
        return fault
    return BadRequest("The body does not have the shape of points.")


_anything = msgspec.json.Decoder()


def unreadable(fault: Exception) -> BadRequest:
    return BadRequest(f"The body is not valid JSON: {fault}.")


def read(body: bytes) -> Any:
    try:
        return _anything.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise unreadable(fault) from None


def read_lines(body: bytes) -> Iterator[Any]:
    """Line by line, so that a search for the first error reads no further."""
    return (read(line) for line in BytesIO(body) if line.strip())


def mapping(value: Any, pointer: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadRequest("The body does not have the shape of points.", [FieldError(pointer, "is not an object")])
    return value


def check_keys(found: dict[str, Any], needed: set[str], allowed: set[str], pointer: str) -> None:
    missing = [FieldError(f"{pointer}/{key}", "is missing") for key in sorted(needed - found.keys())]
    unknown = [FieldError(f"{pointer}/{escape(key)}", "is not known here") for key in sorted(found.keys() - allowed)]
    if missing or unknown:
        raise BadRequest("The body does not have the shape of points.", [*missing, *unknown])


_NUMBERS = frozenset({int, float})


def loose_times(times: list[Any], unit: TimeUnit | None) -> tuple[Times, Faults]:
    """Timestamps, or numbers of `unit` where it is named; what is neither has its fault."""
    if unit is None:
        return timestamps.from_arrow(_pack_texts(times))
    try:
        if all(type(number) is int for number in times):
            return timestamps.from_numbers(pa.array(times, pa.int64()), unit)
    except OverflowError:
        pass
    numbers = [float(number) if type(number) in _NUMBERS else None for number in times]
    return timestamps.from_numbers(pa.array(numbers, pa.float64()), unit)


def loose_numbers(numbers: list[Any]) -> tuple[Values, Faults]:
    """A number of a body has 40 characters at most, so every whole number is within the range of doubles."""
    good = np.fromiter(map(_NUMBERS.__contains__, map(type, numbers)), dtype=bool, count=len(numbers))
    faults = np.where(good, FINE, error(Reason.INVALID_VALUE)).astype(np.uint8)
    kept = (
        numbers if good.all() else [number if is_good else 0.0 for number, is_good in zip(numbers, good, strict=True)]
    )
    return np.array(kept, dtype=np.float64), faults
