"""Columns as they came, each point with its first fault, and the points that are left when the faulty are gone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gridloom.kernel.problem import BadRequest, FieldError, PayloadTooLarge
from gridloom.monitoring.codec import Times, Values
from gridloom.monitoring.ingest import timestamps
from gridloom.monitoring.ingest.timestamps import FINE, Faults
from gridloom.monitoring.model import EARLIEST_US, MAX_POINTS, MAX_SIGNALS, REASONS, Points, Reason, Received, Refusals

Codes = NDArray[np.intp]

MAX_NAMES: Final = 5 * MAX_SIGNALS
"""Different signals, or assets, that one request names: each costs some work of its own."""
_CODED: Final = tuple(Reason)
_NAME = re.compile(r"[a-z0-9_.]{1,64}")
_TIME_REASONS = {timestamps.MALFORMED: Reason.INVALID_TIME, timestamps.WITHOUT_OFFSET: Reason.TIME_WITHOUT_OFFSET}


class TooManyPoints(PayloadTooLarge, title="Too many points in one request"):
    """One request carries at most 1,000,000 points. Send the rest in further requests: points may come in any order."""


def error(reason: Reason) -> int:
    return _CODED.index(reason) + 1


@dataclass(slots=True)
class PointColumns:
    """Every point of a request. `pointer_of(i, field)` leads to a field of the i-th in the body."""

    names: Sequence[str]
    codes: Codes
    times: Times
    time_faults: Faults
    values: Values
    faults: Faults
    pointer_of: Callable[[int, str], str]
    assets: Sequence[str] | None = None
    asset_codes: Codes | None = None

    def __len__(self) -> int:
        return len(self.times)

    def refuse(self, where: NDArray[np.bool_], reason: Reason) -> None:
        """The first fault found is the one that is reported."""
        self.faults[where & (self.faults == FINE)] = error(reason)


def point_to_row(position: int, field: str) -> str:
    """Rows count from 0, without the header."""
    return f"/{position}/{field}"


def check_count(count: int) -> None:
    if count > MAX_POINTS:
        raise TooManyPoints(f"The request holds {count:,} points, {MAX_POINTS:,} are the most.")


def check_names(names: Sized) -> None:
    if len(names) > MAX_NAMES:
        raise TooManyPoints(f"The request names more than {MAX_NAMES:,} signals or assets.")


def drop_invalid(columns: PointColumns, latest_us: int) -> Received:
    """Keep what is good, count what is not; no point may lie after `latest_us`."""
    assets = _asset_ids(columns)
    if columns.asset_codes is not None and len(set(assets)) < len(assets):
        # A UUID has several spellings: capitals, for one.
        ranks = {asset_id: rank for rank, asset_id in enumerate(dict.fromkeys(assets))}
        columns.asset_codes = np.array([ranks[asset_id] for asset_id in assets], np.intp)[columns.asset_codes]
        assets = list(ranks)
    good_names = np.array([_NAME.fullmatch(name) is not None for name in columns.names], dtype=bool)
    if not good_names.all():
        columns.refuse(~good_names[columns.codes], Reason.INVALID_SIGNAL)
        columns.names = [name if is_good else "" for name, is_good in zip(columns.names, good_names, strict=True)]
    if columns.time_faults.any():
        for time_fault, reason in _TIME_REASONS.items():
            columns.refuse(columns.time_faults == time_fault, reason)
    # The platform's times are whole milliseconds; what is finer is cut off.
    columns.times = columns.times // 1000 * 1000  # a sixth of what a remainder takes
    columns.refuse((columns.times < EARLIEST_US) | (columns.times > latest_us), Reason.TIME_OUT_OF_RANGE)
    columns.refuse(~np.isfinite(columns.values), Reason.VALUE_NOT_FINITE)
    refusals = Refusals()
    points, asset_codes = Points(columns.names, columns.codes, columns.times, columns.values), columns.asset_codes
    if columns.faults.any():
        _count_refusals(columns, refusals)
        good = columns.faults == FINE
        points, asset_codes = points.select(good), None if asset_codes is None else asset_codes[good]
    by_asset: dict[UUID | None, Points] = {None: points} if len(points) else {}
    if asset_codes is not None and len(points):
        by_asset = {assets[code]: points.select(chosen) for code, chosen in _group_codes(asset_codes)}
    return Received(by_asset, len(columns), refusals, assets)


def _count_refusals(columns: PointColumns, refusals: Refusals) -> None:
    for index, count in enumerate(np.bincount(columns.faults).tolist()):
        if index == FINE or not count:
            continue
        reason = _CODED[index - 1]
        first = np.flatnonzero(columns.faults == index)[: Refusals.MAX_POINTERS].tolist()
        refusals.add(reason, count, [columns.pointer_of(position, REASONS[reason].field) for position in first])


def _asset_ids(columns: PointColumns) -> list[UUID]:
    """An asset that cannot be named is no refused point: the permission that it needs is unknown."""
    ids: list[UUID] = []
    for code, text in enumerate(columns.assets or ()):
        try:
            ids.append(UUID(text))
        except ValueError:
            assert columns.asset_codes is not None
            found = np.flatnonzero(columns.asset_codes == code)
            pointer = columns.pointer_of(int(found[0]), "physicalAssetID") if len(found) else f"/{text}"
            raise BadRequest("An asset's id is a UUID.", [FieldError(pointer, "is not a UUID")]) from None
    return ids


def _group_codes(codes: Codes) -> list[tuple[int, NDArray[np.intp]]]:
    order = np.argsort(codes, kind="stable")
    found, starts = np.unique(codes[order], return_index=True)
    return list(zip(found.tolist(), np.split(order, starts[1:]), strict=True))


def codes_of(texts: pa.Array) -> tuple[list[str], Codes]:
    """Distinct texts and the code of each; a null counts as the empty text."""
    encoded = texts if isinstance(texts, pa.DictionaryArray) else texts.cast(pa.string()).dictionary_encode()
    check_names(encoded.dictionary)
    names = ["" if name is None else name for name in encoded.dictionary.to_pylist()]
    indices = encoded.indices
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(len(names))
        names.append("")
    return names, indices.to_numpy(zero_copy_only=False).astype(np.intp)


_QUALITIES = {"GOOD": FINE, "": FINE, "UNCERTAIN": FINE, "BAD": error(Reason.BAD_QUALITY)}


def quality_faults(texts: pa.Array) -> Faults:
    """Good and uncertain values are stored; what its sender calls bad is refused."""
    names, codes = codes_of(texts)
    return np.array([_QUALITIES.get(name, error(Reason.INVALID_QUALITY)) for name in names], dtype=np.uint8)[codes]
