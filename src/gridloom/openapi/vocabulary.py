"""What the words of the interface mean: descriptions and examples, looked up by the name that stands on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class FieldDescription:
    """What a field or parameter means, in a phrase, and a value that it may have."""

    description: str
    example: Any = None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """terms: by name, or by `Struct.name` where one struct means something else by it. tags: by the tag's name."""

    terms: Mapping[str, FieldDescription] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)

    def find(self, name: str, owner: str = "") -> FieldDescription | None:
        return self.terms.get(f"{owner}.{name}") or self.terms.get(name)
