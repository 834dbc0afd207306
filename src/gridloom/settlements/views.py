"""Settled facts as lists show them: the row, and who recorded it when, and who replaced it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from types import GenericAlias
from typing import Annotated, Any, Final, TypeAlias
from uuid import UUID

import msgspec
from msgspec import Meta

from gridloom.platform.database.rows import read_row
from gridloom.platform.http import ResponseBody
from gridloom.settlements.model import FactKind, Origin

AssetKey: TypeAlias = Annotated[int, Meta(ge=0, le=2**31 - 1)]
"""As in a cursor, which a client can forge."""
_TYPES: Final[dict[str, Any]] = {"text": str, "day": date, "instant": datetime, "decimal": Decimal}
"""Of recorded fields, by the form of their column."""


class RecordedFact(ResponseBody):
    """Part of every recorded fact; `supersededAt` and `supersededBy` are there once a correction has replaced it."""

    asset_id: UUID
    recorded_at: datetime
    recorded_by: UUID
    origin: Origin
    superseded_at: datetime | None
    superseded_by: UUID | None


@dataclass(frozen=True, slots=True)
class Listing:
    """How a kind of fact is listed; cursor: its type."""

    kind: FactKind
    view: type[RecordedFact]
    cursor: Any

    @classmethod
    def of(cls, kind: FactKind) -> Listing:
        """The view has the fields of the kind's rows, numbers exact and none left out."""
        fields = [
            (column.field, _TYPES[column.form] | None if column.is_nullable else _TYPES[column.form])
            for column in kind.columns[1:]
        ]
        view: Any = msgspec.defstruct(f"Recorded{kind.row.__name__}", fields, bases=(RecordedFact,), module=__name__)
        forms = {column.name: _TYPES[column.form] for column in kind.columns[1:]}
        return cls(kind, view, GenericAlias(tuple, (AssetKey, *(forms[name] for name in kind.order), datetime)))

    def show(self, row: Any) -> RecordedFact:
        fields = {column.field: _make_plain(row[column.name]) for column in self.kind.columns[1:]}
        return read_row(self.view, row, **fields, origin=Origin(row["origin"]))

    @property
    def cursor_of(self) -> Callable[[Any], list[Any]]:
        names = self.kind.list_order
        return lambda row: [row[name] for name in names]


def _make_plain(cell: Any) -> Any:
    """Decimals without the zeros that only say how finely they are kept."""
    if not isinstance(cell, Decimal):
        return cell
    return cell.quantize(Decimal(1)) if cell == cell.to_integral() else cell.normalize()
