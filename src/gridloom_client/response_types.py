"""The bases of all answers: their names, how they are shown, and the rows of their tables."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, dataclass_transform
from uuid import UUID

import msgspec

from gridloom_client.display import SECRET_FIELDS, facts_html, short_text
from gridloom_client.frames import Rows, Tabular, load_library, plain_row, table_of
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
        """The fields for `rich.print`, without secrets."""
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


class EventData(ResponseStruct, frozen=True, omit_defaults=True):
    """The particulars of an event; a field that it leaves out is None."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Event(ResponseStruct, frozen=True, kw_only=True):
    """Something that happened; each type has a class of its own, one of a newer service has this one."""

    id: UUID
    """Identifier of the event, the same in every stream and webhook"""
    type: str
    """Type of the event, such as `schedule.updated`"""
    time: datetime
    """When it happened, by the platform's clock"""
    organisation_id: UUID | None = None
    """Organisation that receives the event"""
    subject: str | None = None
    """Resource concerned, as a path without its leading slash"""
    data: Any = {}
    """Particulars of this type of event"""
    place: str = ""
    """Where it stands in the stream: follow on after it with `last_event_id`"""


class RowsField(Tabular):
    """An answer with its rows in one of its fields: these are the rows of its table."""

    __slots__ = ()

    rows_field: ClassVar[str]

    def rows(self) -> Rows[Any]:
        return Rows(getattr(self, self.rows_field) or ())

    def _make_table(self) -> pyarrow.Table:
        return self.rows()._make_table()


class SeriesTable(Tabular):
    """Named series in `data`; as a table, a row per time and a column per series."""

    __slots__ = ()

    if TYPE_CHECKING:
        data: Any

    def _make_table(self) -> pyarrow.Table:
        """A series without a value is a column of numbers all the same, so that shapes depend on no value."""
        arrow = load_library("pyarrow")
        series = {name: {point.time: point.value for point in points} for name, points in self.data.items()}
        times = sorted(set().union(*series.values()))
        columns = {"time": arrow.array(times, arrow.timestamp("us", tz="UTC"))}
        for name, values in series.items():
            column = arrow.array([values.get(time) for time in times])
            columns[name] = column.cast(arrow.float64()) if arrow.types.is_null(column.type) else column
        return arrow.table(columns)


class NamedRows(Tabular):
    """A value for each signal in `data`; as a table, a row per signal."""

    __slots__ = ()

    if TYPE_CHECKING:
        data: Any

    def _make_table(self) -> pyarrow.Table:
        return table_of([{"signal": name, **plain_row(value)} for name, value in self.data.items()])
