"""Validation of settled facts, column by column; pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import attrgetter
from types import NoneType
from typing import Any, Final
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import UnsetType
from numpy.typing import NDArray

from gridloom.kernel.balancing import AFRR_DIRECTIONS, BLOCK_START_HOURS, Direction, block_product
from gridloom.kernel.problem import FieldError, Unprocessable
from gridloom.kernel.text import find_forbidden
from gridloom.market_calendar import (
    FIRST_DAY,
    HOUR_S,
    LAST_DAY,
    PERIOD_S,
    block_period_counts,
    calendar_edges_s,
    market_day_number,
)
from gridloom.settlements.decoding import MAX_ERRORS, InvalidRows, read_rows, reject_rows
from gridloom.settlements.model import (
    AFRR_CAPACITY_AWARDS,
    FCR_AWARDS,
    TOLLING_CONTRACTS,
    WHOLESALE_TRADES,
    Column,
    FactBatch,
    FactKind,
    Row,
)

UNKNOWN: Final = 0
"""No asset's key: identity columns count from 1."""

SCALE: Final = 100_000_000
"""Decimals travel as whole hundred-millionths."""

DECIMALS: Final[Mapping[str, int]] = {
    "price_eur_mwh": 2,
    "annual_price_eur_mw": 2,
    "price_eur_mw_h": 6,
}
"""The finest step of what a market sets; anything finer is refused, not rounded."""

BLOCK_OF: Final = {
    block_product(direction, hour): (direction, block)
    for direction in Direction
    for block, hour in enumerate(BLOCK_START_HOURS)
}


_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class UnknownSettledAsset(Unprocessable, title="A settlement names an unknown asset"):
    """A settlement names an asset that does not exist. `errors` points at each such row; nothing was recorded."""


class DeliveryBeyondBlock(Unprocessable, title="The delivery hours exceed the block"):
    """An award claims more delivery hours than its block has on that day.

    A block lasts four hours on the wall clock; `00_04` lasts three on the day that loses an hour and five on the day
    that gains one. `errors` points at each such row; nothing was recorded.
    """


class ContradictingRows(Unprocessable, title="Two rows of the request contradict each other"):
    """The same fact is in the request twice with different values. `errors` points at each later row; send the one
    that is true. The very same row twice is one fact."""


ORDER_PREFIX: Final = "order-"
"""With which the trades that execute orders begin."""


class TradeOfAnOrder(Unprocessable, title="The trade is one of an order"):
    """Trades whose `tradeID` begins with `order-` execute orders: results of orders record and correct them, and no
    other request does. `errors` points at each such row; nothing was recorded."""


class RowErrors:
    """The faults found so far, the first hundred of them with their pointer."""

    def __init__(self, indices: Sequence[int] | None = None) -> None:
        self.errors: list[FieldError] = []
        self.total = 0
        self._places = indices
        """Where each row stood in the request, if others stood between them."""

    def add(self, positions: Sequence[int] | NDArray[np.intp], field: str, detail: str) -> None:
        self.total += len(positions)
        for position in positions[: max(0, MAX_ERRORS - len(self.errors))]:
            index = int(position) if self._places is None else self._places[int(position)]
            self.errors.append(FieldError(f"/{index}/{field}", detail))

    def raise_malformed(self) -> None:
        if self.errors:
            raise reject_rows(self.errors, self.total)


def read_columns(body: bytes, kind: FactKind, media_type: str) -> dict[str, Any]:
    """A bulk body as columns; one refusal names its malformed rows, whether a field's type or a rule tells them."""
    try:
        rows = read_rows(kind, body, media_type)
    except InvalidRows as faulty:
        faults = RowErrors(list(faulty.sound))
        if faulty.sound:
            _validate_rows(kind, list(faulty.sound.values()), faults)
        errors = sorted([*faulty.errors, *faults.errors], key=lambda error: int(error.pointer.split("/")[1]))
        raise reject_rows(errors[:MAX_ERRORS], faulty.total + faults.total) from None
    columns = columns_of(kind, rows)
    if kind is WHOLESALE_TRADES:
        _reject_order_trades(columns["trade_id"])
    return columns


def _reject_order_trades(trade_ids: pa.StringArray) -> None:
    reserved = np.flatnonzero(pc.starts_with(trade_ids, ORDER_PREFIX).to_numpy(zero_copy_only=False))
    if not len(reserved):
        return
    faults = RowErrors()
    faults.add(reserved, "tradeID", f"begins with {ORDER_PREFIX}, as only trades of orders do")
    raise TradeOfAnOrder(f"Nothing was recorded: {len(reserved)} rows name trades of orders.", errors=faults.errors)


def columns_of(kind: FactKind, rows: Sequence[Row]) -> dict[str, Any]:
    """The rows as columns named as in the table, asset ids under `asset_id`; a 400 or 422 names every faulty row."""
    faults = RowErrors()
    columns = _validate_rows(kind, rows, faults)
    faults.raise_malformed()
    if kind in (FCR_AWARDS, AFRR_CAPACITY_AWARDS):
        _settle_delivery_hours(columns)
    return columns


def _validate_rows(kind: FactKind, rows: Sequence[Row], faults: RowErrors) -> dict[str, Any]:
    columns: dict[str, Any] = {"asset_id": _name_assets(rows, faults)}
    for column in kind.columns[1:]:
        cells = list(map(attrgetter(column.field), rows))
        columns[column.name] = _READ[column.form](column, _name_on_wire(kind, column), cells, faults)
    if "period" in columns:
        _check_period_starts(columns["period"], faults)
    if kind is WHOLESALE_TRADES:
        _check_stages(columns, faults)
    if kind is TOLLING_CONTRACTS:
        faults.add(np.flatnonzero(columns["start_at"] >= columns["end_at"]), "end", "is not after the start")
    if kind in (FCR_AWARDS, AFRR_CAPACITY_AWARDS):
        _check_products(kind, columns, faults)
    return columns


def deduplicate(kind: FactKind, columns: dict[str, Any], asset_keys: Mapping[UUID, int]) -> FactBatch:
    """One row per natural key; the very same row twice is one, and two that differ are refused."""
    columns = dict(columns)
    assets: NamedAssets = columns.pop("asset_id")
    known = np.array([asset_keys.get(id, UNKNOWN) for id in assets.ids])
    rows = len(assets.numbers)
    columns["asset_key"] = known[assets.numbers]
    unknown = np.flatnonzero(columns["asset_key"] == UNKNOWN)
    if len(unknown):
        faults = RowErrors()
        faults.add(unknown, "assetID", "names no asset")
        first = assets.ids[int(assets.numbers[unknown[0]])]
        raise UnknownSettledAsset(
            f"Nothing was recorded: {len(unknown)} rows name an unknown asset, the first {first}.",
            errors=faults.errors,
        )
    keys = tuple(sorted(known.tolist()))
    if _count_facts(kind, columns) == rows:
        return FactBatch(kind, columns, rows, keys)
    indices: dict[tuple[Any, ...], int] = {}
    for position, key in enumerate(_make_tuples(kind.key, columns)):
        indices.setdefault(key, position)
    _reject_contradictions(kind, columns, indices)
    kept = np.array(list(indices.values()))
    columns = {name: _take_cells(cells, kept) for name, cells in columns.items()}
    return FactBatch(kind, columns, rows, keys)


def drop_executed(batch: FactBatch, executed: Collection[tuple[int, int, str, str]]) -> FactBatch:
    """Without the rows of periods that an order has executed in that market, which count as unchanged.

    executed: asset key, start in seconds since 1970, market and stage of each.
    """
    if not executed:
        return batch
    columns = batch.columns
    names = ("asset_key", "period", "market", "stage")
    cells = zip(
        *(columns[name].tolist() if name in names[:2] else columns[name].to_pylist() for name in names), strict=True
    )
    kept = np.array([n for n, (key, s, *of) in enumerate(cells) if (key, int(s), *of) not in executed], dtype=np.intp)
    return replace(batch, columns={name: _take_cells(cells, kept) for name, cells in columns.items()})


def _count_facts(kind: FactKind, columns: Mapping[str, Any]) -> int:
    names = [column.name for column in kind.key]
    keys = pa.table({name: columns[name] for name in names})
    return int(keys.group_by(names, use_threads=False).aggregate([]).num_rows)


def _reject_contradictions(kind: FactKind, columns: Mapping[str, Any], first: Mapping[tuple[Any, ...], int]) -> None:
    values = list(_make_tuples(kind.values, columns))
    faults = RowErrors()
    for position, key in enumerate(_make_tuples(kind.key, columns)):
        if values[position] != values[first[key]]:
            faults.add([position], "assetID", f"is of the same fact as row {first[key]} and says something else")
    if faults.errors:
        name = ", ".join(_name_on_wire(kind, column) for column in kind.key)
        raise ContradictingRows(
            f"Nothing was recorded: {faults.total} rows repeat a fact (the same {name}) with other values.",
            errors=faults.errors,
        )


def _make_tuples(which: Sequence[Column], columns: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    # NaN is not equal to itself; None is.
    parts = [_make_comparable(columns[column.name]) for column in which]
    return zip(*parts, strict=True)


def _make_comparable(cells: Any) -> list[Any]:
    found: list[Any] = cells.tolist()
    return [None if cell != cell else cell for cell in found] if isinstance(cells, np.ndarray) else found


def _take_cells(cells: Any, kept: NDArray[np.intp]) -> Any:
    return cells[kept] if isinstance(cells, np.ndarray) else cells.take(pa.array(kept))


# --- reading columns -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NamedAssets:
    """The assets that rows name: each once, and for each row which of them."""

    ids: tuple[UUID, ...]
    numbers: NDArray[np.int64]


def _name_assets(rows: Sequence[Row], faults: RowErrors) -> NamedAssets:
    encoded = pa.array(map(attrgetter("asset_id"), rows), pa.string(), size=len(rows)).dictionary_encode()
    distinct, indices = encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
    wrong = [index for index, text in enumerate(distinct) if _UUID.fullmatch(text) is None]
    if wrong:
        faults.add(np.flatnonzero(np.isin(indices, wrong)), "assetID", "is not a UUID")
        return NamedAssets((), np.zeros(0, dtype=np.int64))
    # Two spellings of one UUID are one asset.
    ids = [UUID(text) for text in distinct]
    number_of = {id: number for number, id in enumerate(dict.fromkeys(ids))}
    return NamedAssets(tuple(number_of), np.array([number_of[id] for id in ids], dtype=np.int64)[indices])


def _name_on_wire(kind: FactKind, column: Column) -> str:
    return str(kind.row.__struct_encode_fields__[kind.row.__struct_fields__.index(column.field)])


_FORBIDDEN = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x{80}-\x{9f}\x{202a}-\x{202e}\x{2066}-\x{2069}]"
"""The characters that `kernel.text` rejects, as an expression of the library that checks a whole column."""


def _read_text(column: Column, wire: str, cells: list[Any], faults: RowErrors) -> pa.StringArray:
    if column.is_nullable:
        cells = ["" if type(cell) in _LEFT_OUT else cell for cell in cells]
    texts = pa.array(cells, pa.string())
    wrong = np.flatnonzero(pc.match_substring_regex(texts, _FORBIDDEN).to_numpy(zero_copy_only=False))
    if len(wrong):
        faults.add(wrong, wire, find_forbidden(texts[int(wrong[0])].as_py()) or "contains a control character")
    return texts


def _read_instants(column: Column, wire: str, cells: list[Any], faults: RowErrors) -> NDArray[np.float64]:
    """Seconds since 1970; NaN for an instant that was left out."""
    seconds = _read_numbers(cells, datetime.timestamp)
    first_s, end_s = calendar_edges_s()
    outside = np.flatnonzero((seconds < first_s) | (seconds >= end_s))
    if len(outside):
        faults.add(outside, wire, f"is not between the years {FIRST_DAY.year} and {LAST_DAY.year}")
    return np.floor(seconds * 1000.0 + 1e-3) / 1000.0


def _read_numbers(cells: Sequence[Any], read: Callable[[Any], float]) -> NDArray[np.float64]:
    """NaN for what was left out."""
    kinds = set(map(type, cells))
    if kinds <= _LEFT_OUT:
        return np.full(len(cells), np.nan)
    numbers: Iterable[float] = map(read, cells)
    if kinds & _LEFT_OUT:
        numbers = (np.nan if type(cell) in _LEFT_OUT else read(cell) for cell in cells)
    return np.fromiter(numbers, dtype=np.float64, count=len(cells))


_LEFT_OUT: Final = frozenset((NoneType, UnsetType))


def _read_days(column: Column, wire: str, cells: list[Any], faults: RowErrors) -> NDArray[np.int64]:
    """Numbers of market days."""
    outside = [position for position, day in enumerate(cells) if not FIRST_DAY <= day <= LAST_DAY]
    if outside:
        faults.add(outside, wire, f"is not between the years {FIRST_DAY.year} and {LAST_DAY.year}")
    return np.array([market_day_number(day) for day in cells], dtype=np.int64)


def _read_decimals(column: Column, wire: str, cells: list[Any], faults: RowErrors) -> NDArray[np.float64]:
    numbers = _read_numbers(cells, float)
    if column.name != "delivery_h":
        faults.add(np.flatnonzero(~np.isfinite(numbers)), wire, "is not a number")
    if column.name in DECIMALS:
        step = 10.0 ** DECIMALS[column.name]
        with np.errstate(invalid="ignore"):
            # Exact: a decimal of so few digits is the double nearest to it, and so is this quotient.
            finer = np.flatnonzero(np.rint(numbers * step) / step != numbers)
        if len(finer):
            faults.add(finer, wire, f"has more than {DECIMALS[column.name]} decimals")
    return numbers


def to_fixed_point(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(numbers * SCALE).astype(np.int64)


_READ: Final = {"text": _read_text, "instant": _read_instants, "day": _read_days, "decimal": _read_decimals}


# --- rules ---------------------------------------------------------------------------------------------------------


def _check_period_starts(seconds: NDArray[np.float64], faults: RowErrors) -> None:
    off = np.flatnonzero(np.mod(seconds, PERIOD_S) != 0)
    if len(off):
        faults.add(off, "time", "is not the start of a 15-minute period")


def _check_stages(columns: Mapping[str, Any], faults: RowErrors) -> None:
    of_others = pc.and_(pc.not_equal(columns["stage"], ""), pc.not_equal(columns["market"], "INTRADAY_AUCTION"))
    faults.add(np.flatnonzero(of_others.to_numpy(zero_copy_only=False)), "stage", "is one of an INTRADAY_AUCTION only")


def _check_products(kind: FactKind, columns: Mapping[str, Any], faults: RowErrors) -> None:
    directions = (Direction.NEGPOS,) if kind is FCR_AWARDS else AFRR_DIRECTIONS
    known = [name for name, (direction, _) in BLOCK_OF.items() if direction in directions]
    wrong = [position for position, product in enumerate(columns["product"].to_pylist()) if product not in known]
    if wrong:
        faults.add(wrong, "product", f"is not one of {', '.join(known)}")


def _settle_delivery_hours(columns: dict[str, Any]) -> None:
    """The block's true length where no hours are given; never more than that."""
    numbers = np.clip(columns["delivery_day"], market_day_number(FIRST_DAY), market_day_number(LAST_DAY))
    blocks = np.array([BLOCK_OF[product][1] for product in columns["product"].to_pylist()])
    lengths_h = block_period_counts(numbers)[np.arange(len(numbers)), blocks] * (PERIOD_S / HOUR_S)
    given = columns["delivery_h"]
    beyond = np.flatnonzero(given > lengths_h)
    if len(beyond):
        faults = RowErrors()
        faults.add(beyond, "deliveryHours", "exceeds the block's length")
        first = int(beyond[0])
        raise DeliveryBeyondBlock(
            f"Nothing was recorded: row {first} has {given[first]:g} hours in a block of {lengths_h[first]:g}.",
            errors=faults.errors,
        )
    columns["delivery_h"] = np.where(np.isnan(given), lengths_h, given)
