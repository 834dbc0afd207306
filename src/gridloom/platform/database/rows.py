"""Rows as values of the model, and the other way round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import asyncpg

from gridloom.kernel.copying import field_names_of

T = TypeVar("T")


def read_row(kind: type[T], row: asyncpg.Record | Mapping[str, Any], /, **computed: Any) -> T:
    """A dataclass or struct whose fields have the names of the row's columns, but for those that are computed."""
    return kind(**{name: row[name] for name in field_names_of(kind) if name not in computed}, **computed)


def values_of(value: Any) -> dict[str, Any]:
    """A dataclass's fields by name, for a statement whose parameters have their names."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}
