"""Values made of the fields of other values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

T = TypeVar("T")


def field_names_of(kind: type) -> Iterable[str]:
    """The fields of a dataclass or struct, in their order."""
    names: Iterable[str] = getattr(kind, "__struct_fields__", None) or kind.__dataclass_fields__  # type: ignore[attr-defined]
    return names


def copy_fields(kind: type[T], source: object, /, **computed: Any) -> T:
    """A dataclass or struct whose fields have the names of the source's attributes, but for those that are computed."""
    return kind(**{name: getattr(source, name) for name in field_names_of(kind) if name not in computed}, **computed)
