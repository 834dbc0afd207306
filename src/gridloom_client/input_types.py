"""The base of all inputs."""

from __future__ import annotations

from decimal import Decimal
from typing import TypeAlias, dataclass_transform

import msgspec

from gridloom_client.wire import field_name

Number: TypeAlias = Decimal | float
"""A Decimal is sent digit by digit."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class InputStruct(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename=field_name):
    """A part of a body; what keeps its default is not sent."""
