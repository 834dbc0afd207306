"""What all answers have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, dataclass_transform

import msgspec

from gridloom_client.frames import Rows, Tabular, Zone
from gridloom_client.wire import wire_name

if TYPE_CHECKING:
    import pyarrow

Record: TypeAlias = dict[str, Any]
"""An answer without a type of its own: its JSON object."""


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Answered(msgspec.Struct, frozen=True, rename=wire_name):
    """Names in Python's style: `physicalAssetID` on the wire is `physical_asset_id` here."""


class Listed(Tabular):
    """An answer with its rows in one of its fields: these are the rows of its table."""

    __slots__ = ()

    listed_in: ClassVar[str]

    def rows(self) -> Rows[Any]:
        return Rows(getattr(self, self.listed_in) or ())

    def to_arrow(self, zone: Zone = "UTC") -> pyarrow.Table:
        return self.rows().to_arrow(zone)

    def _repr_html_(self) -> str:
        return self.rows()._repr_html_()
