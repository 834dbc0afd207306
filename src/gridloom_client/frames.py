"""Tables in and out: answers as Arrow, pandas or polars, and frames of any of them as bodies.

Columns have the names that the SDK has (`rated_charge_power`), times carry the zone that was asked for. pyarrow, pandas
and polars are imported when they are needed: `pip install 'gridloom[pandas]'` or `'gridloom[polars]'` brings them.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, TypeVar
from uuid import UUID

import msgspec

from gridloom_client.display import HTML_ROWS, table_html
from gridloom_client.wire import field_name, python_name, wire_name

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    Frame: TypeAlias = pandas.DataFrame | polars.DataFrame | pyarrow.Table
else:
    Frame = Any  # any of the three, wherever a method takes one; none is imported for it

T = TypeVar("T")

TimeZone: TypeAlias = Literal["UTC", "Europe/Berlin"]
Shape: TypeAlias = Literal["wide", "long"]

_INSTALL: Final = {"pyarrow": "parquet", "pandas": "pandas", "polars": "polars"}


class MissingLibrary(ImportError):
    """The call needs a library that is not installed."""


def load_library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        library = name.partition(".")[0]
        raise MissingLibrary(f"This needs {library}: pip install 'gridloom[{_INSTALL[library]}]'.") from None


class Tabular:
    """A value that can be shown as rows and columns.

    `shape` is "wide" (a row per time or item, a column per quantity) or "long" (a row per time and quantity, with the
    columns `name` and `value`); without it the table is as the answer has it.
    """

    __slots__ = ()

    def _make_table(self) -> pyarrow.Table:
        raise NotImplementedError

    def to_arrow(self, zone: TimeZone = "UTC", shape: Shape | None = None) -> pyarrow.Table:
        """As an Arrow table, its times in `zone`."""
        return in_zone(shape_table(self._make_table(), shape), zone)

    def to_pandas(self, zone: TimeZone = "UTC", shape: Shape | None = None) -> pandas.DataFrame:
        """As a pandas frame, its times in `zone`."""
        load_library("pandas")
        frame: pandas.DataFrame = self.to_arrow(zone, shape).to_pandas()
        return frame

    def to_polars(self, zone: TimeZone = "UTC", shape: Shape | None = None) -> polars.DataFrame:
        """As a polars frame, its times in `zone`."""
        frame: polars.DataFrame = load_library("polars").from_arrow(self.to_arrow(zone, shape))
        return frame

    def _table_html(self) -> str:
        table = self.to_arrow()
        return table_html(table.column_names, table.slice(0, HTML_ROWS).to_pylist(), table.num_rows)


class Table(Tabular):
    """An answer that was fetched as Arrow."""

    def __init__(self, table: pyarrow.Table) -> None:
        self._table = table

    @classmethod
    def read(cls, content: bytes) -> Table:
        ipc = load_library("pyarrow.ipc")
        table = ipc.open_stream(io.BytesIO(content)).read_all()
        return cls(table.rename_columns([python_name(name) for name in table.column_names]))

    def _make_table(self) -> pyarrow.Table:
        return self._table

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self._table.column_names)})"

    def _repr_html_(self) -> str:
        return self._table_html()


class Rows(list[T], Tabular, Generic[T]):
    """The items of an answer, which are also the rows of a table."""

    def _make_table(self) -> pyarrow.Table:
        return table_of([plain_row(item) for item in self])

    def _repr_html_(self) -> str:
        rows = [plain_row(item) for item in self[:HTML_ROWS]]
        return table_html(list(rows[0]) if rows else [], rows, len(self))


# --- out -------------------------------------------------------------------------------------------------------------


def plain_row(item: Any) -> dict[str, Any]:
    """A struct as a row of plain values: ids and enumerations as text."""
    if isinstance(item, Mapping):
        return {python_name(str(name)): _plain_value(value) for name, value in item.items()}
    return {name: _plain_value(getattr(item, name)) for name in item.__struct_fields__}


def _plain_value(value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, msgspec.Struct):
        return plain_row(value)
    if isinstance(value, list | tuple):
        return [_plain_value(each) for each in value]
    if isinstance(value, dict):
        return msgspec.json.encode(value).decode()
    return value


def table_of(rows: Sequence[Mapping[str, Any]]) -> pyarrow.Table:
    arrow = load_library("pyarrow")
    names = list(dict.fromkeys(name for row in rows for name in row))
    return arrow.table({name: arrow.array([row.get(name) for row in rows]) for name in names})


def in_zone(table: pyarrow.Table, zone: str) -> pyarrow.Table:
    """The same instants, shown in another zone."""
    arrow = load_library("pyarrow")
    for position, field in enumerate(table.schema):
        if arrow.types.is_timestamp(field.type):
            wanted = arrow.timestamp("us", tz=zone)
            table = table.set_column(position, field.name, table.column(position).cast(wanted, safe=False))
    return table


def shape_table(table: pyarrow.Table, shape: Shape | None) -> pyarrow.Table:
    """The same values, wide or long; a table is long that has a column `value` beside `name` or `signal`."""
    if shape is None:
        return table
    name = next((name for name in ("name", "signal") if name in table.column_names), None)
    is_long = name is not None and "value" in table.column_names
    if shape == "long":
        return table if is_long else _lengthen_table(table)
    return _widen_table(table, str(name)) if is_long else table


def _lengthen_table(table: pyarrow.Table) -> pyarrow.Table:
    """A row for each number of a row, beside what is not a number."""
    arrow = load_library("pyarrow")
    types, kinds = arrow.types, {field.name: field.type for field in table.schema}
    numbers = [n for n, kind in kinds.items() if types.is_integer(kind) or types.is_floating(kind)]
    keys = table.select([name for name in kinds if name not in numbers])
    parts = [
        keys.append_column("name", arrow.array([name] * table.num_rows, arrow.string())).append_column(
            "value", table.column(name).cast(arrow.float64())
        )
        for name in numbers
    ]
    return arrow.concat_tables(parts) if parts else keys


def _widen_table(table: pyarrow.Table, name: str) -> pyarrow.Table:
    """A row for each combination of what is neither name nor value, and a column for each name."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in table.to_pylist():
        column, value = row.pop(name), row.pop("value")
        rows.setdefault(tuple(map(str, row.values())), dict(row))[column] = value
    return table_of(list(rows.values()))


# --- in --------------------------------------------------------------------------------------------------------------


def is_frame(value: Any) -> bool:
    """Whether it is a frame or series of pandas or polars, or an Arrow table; nothing is imported to find out."""
    return type(value).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow") and hasattr(value, "__len__")


def arrow_of(frame: Any) -> pyarrow.Table:
    """A frame as an Arrow table; an index that holds times becomes the column `time`."""
    library = type(frame).__module__.partition(".")[0]
    arrow = load_library("pyarrow")
    if library == "pandas":
        table = _arrow_of_pandas(frame)
    elif library == "polars":
        table = (frame.to_frame() if type(frame).__name__ == "Series" else frame).to_arrow()
    else:
        table = frame
    for field in table.schema:
        if arrow.types.is_timestamp(field.type) and field.type.tz is None:
            raise ValueError(
                f"The times in column {field.name} have no zone: say which, as in .dt.tz_localize('Europe/Berlin')."
            )
    return table


def named_for_wire(table: pyarrow.Table) -> pyarrow.Table:
    return table.rename_columns([field_name(name) for name in table.column_names])


def _arrow_of_pandas(frame: Any) -> pyarrow.Table:
    pandas, arrow = load_library("pandas"), load_library("pyarrow")
    if isinstance(frame, pandas.Series):
        frame = frame.to_frame(frame.name or "power")
    if isinstance(frame.index, pandas.DatetimeIndex):
        frame = frame.rename_axis(index=frame.index.name or "time").reset_index()
    return arrow.Table.from_pandas(frame, preserve_index=False)


def rows_of(frame: Any) -> list[dict[str, Any]]:
    """A frame as rows for a JSON body; empty cells are left out."""
    rows: list[dict[str, Any]] = named_for_wire(arrow_of(frame)).to_pylist()
    return [{name: value for name, value in row.items() if value is not None and value == value} for row in rows]


def arrow_bytes(frame: Any) -> bytes:
    """Telemetry: a column is a signal and keeps its name."""
    table, sink = arrow_of(frame), io.BytesIO()
    table = table.rename_columns([wire_name(n) if n == "physical_asset_id" else n for n in table.column_names])
    with load_library("pyarrow.ipc").new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def parquet_bytes(frame: Any) -> bytes:
    sink = io.BytesIO()
    load_library("pyarrow.parquet").write_table(named_for_wire(arrow_of(frame)), sink)
    return sink.getvalue()


def _plain_struct(value: msgspec.Struct) -> dict[str, Any]:
    """By the wire's names, without what keeps its default where the struct leaves that out."""
    fields = msgspec.structs.fields(value)
    given = [(field, getattr(value, field.name)) for field in fields]
    omits = value.__struct_config__.omit_defaults
    return {field.encode_name: plain_body(each) for field, each in given if not (omits and each is field.default)}


def plain_body(value: Any) -> Any:
    """A body with frames as rows and numpy's numbers as Python's; a time without an offset is refused."""
    if is_frame(value):
        return rows_of(value)
    if isinstance(value, Mapping):
        return {name: plain_body(each) for name, each in value.items()}
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value.isoformat()} has no offset; use a timezone, such as datetime.UTC.")
        return value.isoformat().replace("+00:00", "Z") if type(value) is not datetime else value
    if isinstance(value, msgspec.Struct):
        return _plain_struct(value)
    if isinstance(value, str | bytes | date | Decimal | bool | int | float) or value is None:
        return value
    if type(value).__module__ == "numpy":
        return value.item() if getattr(value, "ndim", 0) == 0 else value.tolist()
    return [plain_body(each) for each in value] if isinstance(value, Iterable) else value
