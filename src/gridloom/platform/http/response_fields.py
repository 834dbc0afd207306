"""Responses with the fields of the values that they show."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final, TypeVar

import msgspec

from gridloom.platform.http.fields import ResponseBody

V = TypeVar("V", bound=ResponseBody)
_UNIT: Final = re.compile(r"_(kwh?|mwh?|eur|eur_mwh?)$")


def view_of(kind: type[V], value: object, /, **computed: Any) -> V:
    """The response with the fields of a value, named without their units (`price_eur` is shown as `price`), but for
    those that are computed. A field that may be left out is left out where it is None."""
    shown = {
        name: found
        for name, attribute, is_optional in _match_fields(kind, type(value))  # type: ignore[arg-type]
        if name not in computed and ((found := getattr(value, attribute)) is not None or not is_optional)
    }
    return kind(**shown, **computed)


@cache
def _match_fields(kind: type[ResponseBody], value_type: Any) -> list[tuple[str, str, bool]]:
    names = getattr(value_type, "__struct_fields__", None) or value_type.__dataclass_fields__
    attributes = {_UNIT.sub("", name): name for name in names}
    fields = [field for field in msgspec.structs.fields(kind) if field.name in attributes]
    return [(field.name, attributes[field.name], field.default is msgspec.UNSET) for field in fields]
