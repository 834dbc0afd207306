"""Descriptions and examples of the interface, looked up by the name of a field or parameter on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

FROM_TYPE: Final = object()
"""The example of a field that is made from its type."""


@dataclass(frozen=True, slots=True)
class FieldDescription:
    """The meaning of a field or parameter in a phrase, and a value that it may have.

    example: `FROM_TYPE` where any value of the type will do; None where examples leave an optional field out.
    """

    description: str
    example: Any = None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """terms: by name, or by `Struct.name` where one struct means something else by it. tags: by the tag's name."""

    terms: Mapping[str, FieldDescription] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Mapping[str, Mapping[str, Any]]) -> Vocabulary:
        """From `tags`, `fields` by name, and `structs` by struct and name."""
        terms = {name: _describe_term(entry) for name, entry in table["fields"].items()}
        for struct, fields in table["structs"].items():
            terms |= {f"{struct}.{name}": _describe_term(entry) for name, entry in fields.items()}
        return cls(terms, table["tags"])

    def find(self, name: str, owner: str = "") -> FieldDescription | None:
        return self.terms.get(f"{owner}.{name}") or self.terms.get(name)


def _describe_term(entry: str | list[Any]) -> FieldDescription:
    if isinstance(entry, str):
        return FieldDescription(entry, FROM_TYPE)
    return FieldDescription(*entry)
