"""JSON in columns: `{signal: {time: […], value: […]}}`, below the asset's id where there are many."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from gridloom.kernel.problem import BadRequest, FieldError
from gridloom.monitoring.codec import Times, Values
from gridloom.monitoring.ingest import timestamps
from gridloom.monitoring.ingest.columns import PointColumns, TooManyPoints, check_count, check_names
from gridloom.monitoring.ingest.json_rows import check_keys, loose_numbers, loose_times, mapping, read, unreadable
from gridloom.monitoring.ingest.timestamps import Faults
from gridloom.monitoring.model import TimeUnit
from gridloom.platform.http.fields import escape
from gridloom.platform.http.long_bodies.slices import count_in_slices

MAX_SERIES = 100_000
"""Each costs some work of its own, however few points it has."""
MAX_FAST_PATH_TIMES = 4


class _Column(msgspec.Struct, forbid_unknown_fields=True):
    time: msgspec.Raw
    value: list[float]


_columns_decoder = msgspec.json.Decoder(dict[str, _Column])
_asset_columns_decoder = msgspec.json.Decoder(dict[str, dict[str, _Column]])
_texts_decoder = msgspec.json.Decoder(list[str])
_whole_decoder = msgspec.json.Decoder(list[int])
_numbers_decoder = msgspec.json.Decoder(list[int | float])


def from_columns(body: bytes, *, many: bool, unit: TimeUnit | None = None) -> PointColumns:
    if len(body) > MAX_SERIES and count_in_slices(body, b"{") > MAX_SERIES:
        raise TooManyPoints(f"JSON in columns carries at most {MAX_SERIES:,} series; rows and Arrow carry more.")
    try:
        pieces = _read_pieces(body, _KnownTimes(partial(_read_times, unit=unit)), many=many)
    except msgspec.ValidationError:
        pieces = _loose_pieces(body, many=many, unit=unit)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise unreadable(error) from None
    return _join_pieces(pieces, many=many)


def from_columns_fast(
    body: bytes, *, many: bool, unit: TimeUnit | None = None, max_times: int = MAX_FAST_PATH_TIMES
) -> PointColumns | None:
    """The columns of a body without a fault in it, whose signals were sampled together; None for any other."""
    try:
        pieces = _read_pieces(body, _KnownTimes(partial(_fast_path_times, unit=unit), max_times), many=many)
    except (_Unusual, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return _join_pieces(pieces, many=many)


_Piece = tuple[str, str, Times, Faults, Values, Faults | None]


class _Unusual(Exception):
    """The fast path cannot read the body."""


def _read_pieces(body: bytes, known: _KnownTimes, *, many: bool) -> list[_Piece]:
    assets = _asset_columns_decoder.decode(body) if many else {"": _columns_decoder.decode(body)}
    return [
        (asset, signal, *known.read(column.time), _pack_numbers(column.value), None)
        for asset, signals in assets.items()
        for signal, column in signals.items()
    ]


class _KnownTimes:
    """Signals that were sampled together bring the same times; they are read once."""

    def __init__(self, read: Callable[[bytes], tuple[Times, Faults]], most: int = MAX_SERIES) -> None:
        self._read, self._most = read, most
        self._last, self._last_found = b"", (np.empty(0, np.int64), np.empty(0, np.uint8))
        self._known: dict[bytes, tuple[Times, Faults]] = {}

    def read(self, raw: msgspec.Raw) -> tuple[Times, Faults]:
        array = bytes(raw)
        if array != self._last:  # a cheap comparison; to look it up, all of it is hashed
            found = self._known.get(array)
            if found is None:
                if len(self._known) == self._most:
                    raise _Unusual
                found = self._known[array] = self._read(array)
            self._last, self._last_found = array, found
        return self._last_found


def _read_times(array: bytes, unit: TimeUnit | None) -> tuple[Times, Faults]:
    if unit is not None:
        return _read_numbers(array, unit)
    found = timestamps.from_json(array)
    return found if found is not None else timestamps.from_arrow(pa.array(_texts_decoder.decode(array), pa.string()))


def _read_numbers(array: bytes, unit: TimeUnit) -> tuple[Times, Faults]:
    try:
        numbers = pa.array(_whole_decoder.decode(array), pa.int64())
    except (msgspec.ValidationError, OverflowError):
        numbers = pa.array([float(number) for number in _numbers_decoder.decode(array)], pa.float64())
    return timestamps.from_numbers(numbers, unit)


def _fast_path_times(array: bytes, unit: TimeUnit | None) -> tuple[Times, Faults]:
    if unit is not None:
        return _read_numbers(array, unit)
    found = timestamps.from_json(array, is_fast=True)
    if found is None:
        raise _Unusual
    return found


def _pack_numbers(values: list[float]) -> Values:
    """The same as `np.array`, which asks each value for its type, in a third of the time."""
    return np.frombuffer(struct.pack(f"{len(values)}d", *values), np.float64)


def _loose_pieces(body: bytes, *, many: bool, unit: TimeUnit | None) -> list[_Piece]:
    """The same body, looked at piece by piece, to tell a point that is wrong from a body that is."""
    document = read(body)
    assets = mapping(document, "") if many else {"": document}
    pieces: list[_Piece] = []
    for asset, signals in assets.items():
        root = f"/{escape(asset)}" if many else ""
        for signal, column in mapping(signals, root).items():
            pointer = f"{root}/{escape(signal)}"
            check_keys(mapping(column, pointer), {"time", "value"}, {"time", "value"}, pointer)
            for key in ("time", "value"):
                if not isinstance(column[key], list):
                    raise BadRequest(
                        "Times and values are arrays.", [FieldError(f"{pointer}/{key}", "is not an array")]
                    )
            pieces.append((asset, signal, *loose_times(column["time"], unit), *loose_numbers(column["value"])))
    return pieces


def _join_pieces(pieces: list[_Piece], *, many: bool) -> PointColumns:
    for asset, signal, times, _, values, _ in pieces:
        if len(times) != len(values):
            pointer = f"/{escape(asset)}/{escape(signal)}" if many else f"/{escape(signal)}"
            detail = f"has {len(times)} times and {len(values)} values"
            raise BadRequest("Each value needs its time.", [FieldError(pointer, detail)])
    counts = np.array([len(piece[2]) for piece in pieces], dtype=np.int64)
    check_count(int(counts.sum()))
    starts = np.cumsum(counts) - counts
    owners = np.repeat(np.arange(len(pieces)), counts)

    def pointer_of(position: int, field: str) -> str:
        owner = int(owners[position])
        asset, signal = pieces[owner][:2]
        root = f"/{escape(asset)}" if many else ""
        inside = f"/{field}/{position - int(starts[owner])}" if field in ("time", "value") else ""
        return f"{root}/{escape(signal)}{inside}" if field != "physicalAssetID" else root

    names = list(dict.fromkeys(piece[1] for piece in pieces))
    check_names(names)
    numbers = {name: number for number, name in enumerate(names)}
    faults = [np.zeros(len(piece[2]), dtype=np.uint8) if piece[5] is None else piece[5] for piece in pieces]
    columns = PointColumns(
        names=names,
        codes=np.repeat(np.array([numbers[piece[1]] for piece in pieces], dtype=np.intp), counts),
        times=_concatenate_parts([piece[2] for piece in pieces], np.int64),
        time_faults=_concatenate_parts([piece[3] for piece in pieces], np.uint8),
        values=_concatenate_parts([piece[4] for piece in pieces], np.float64),
        faults=_concatenate_parts(faults, np.uint8),
        pointer_of=pointer_of,
    )
    if many:
        assets = list(dict.fromkeys(piece[0] for piece in pieces))
        check_names(assets)
        ranks = {asset: rank for rank, asset in enumerate(assets)}
        columns.assets = assets
        columns.asset_codes = np.repeat(np.array([ranks[piece[0]] for piece in pieces], dtype=np.intp), counts)
    return columns


def _concatenate_parts(parts: list[Any], dtype: type) -> Any:
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)
