"""What all answers have in common."""

from __future__ import annotations

from typing import Any, TypeAlias, dataclass_transform

import msgspec

from gridloom_client.wire import wire_name

Record: TypeAlias = dict[str, Any]
"""An answer without a type of its own: its JSON object."""


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Answered(msgspec.Struct, frozen=True, rename=wire_name):
    """Names in Python's style: `physicalAssetID` on the wire is `physical_asset_id` here."""
