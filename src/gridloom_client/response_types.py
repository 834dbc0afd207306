"""What all answers have in common: their names, how they are shown, and the rows of their tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, dataclass_transform

import msgspec

from gridloom_client.display import SECRET_FIELDS, facts_html, short_text
from gridloom_client.frames import Rows, Tabular, plain_row, table_of
from gridloom_client.wire import field_name

if TYPE_CHECKING:
    import pyarrow

Record: TypeAlias = dict[str, Any]
"""An answer without a type of its own: its JSON object."""


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class ResponseStruct(msgspec.Struct, frozen=True, rename=field_name):
    """Names in Python's style: `physicalAssetID` on the wire is `physical_asset_id` here. No secret is in a `repr`."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={text}' for name, text in self._show_fields())})"

    def __rich_repr__(self) -> Any:
        """What `rich.print` shows: the same fields, without secrets."""
        for name in self.__struct_fields__:
            yield name, "…" if name in SECRET_FIELDS else getattr(self, name)

    def _show_fields(self) -> list[tuple[str, str]]:
        return [
            (name, "…" if name in SECRET_FIELDS else short_text(getattr(self, name)))
            for name in self.__struct_fields__
            if getattr(self, name) is not None
        ]

    def _repr_html_(self) -> str:
        """For notebooks: names and values under each other."""
        return facts_html(type(self).__name__, self._show_fields())


class RowsField(Tabular):
    """An answer with its rows in one of its fields: these are the rows of its table."""

    __slots__ = ()

    rows_field: ClassVar[str]

    def rows(self) -> Rows[Any]:
        return Rows(getattr(self, self.rows_field) or ())

    def _make_table(self) -> pyarrow.Table:
        return self.rows()._make_table()

    def _repr_html_(self) -> str:
        return self.rows()._repr_html_()


class SeriesTable(Tabular):
    """Named series in `data`; as a table, a row per time and a column per series."""

    __slots__ = ()

    if TYPE_CHECKING:
        data: Any

    def _make_table(self) -> pyarrow.Table:
        rows: dict[Any, dict[str, object]] = {}
        for name, points in self.data.items():
            for point in points:
                rows.setdefault(point.time, {"time": point.time})[name] = point.value
        return table_of([rows[time] for time in sorted(rows)])

    def _repr_html_(self) -> str:
        return self._table_html()


class NamedRows(Tabular):
    """A value for each signal in `data`; as a table, a row per signal."""

    __slots__ = ()

    if TYPE_CHECKING:
        data: Any

    def _make_table(self) -> pyarrow.Table:
        return table_of([{"signal": name, **plain_row(value)} for name, value in self.data.items()])

    def _repr_html_(self) -> str:
        return self._table_html()
