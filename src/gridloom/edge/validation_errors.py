"""Every fault of a refused body, not only the first: the slow second look that a good request never takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from itertools import chain, islice
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from gridloom.edge.field_checks import FieldCheck, acceptances_of
from gridloom.kernel.money import is_decimal_literal
from gridloom.kernel.problem import FieldError
from gridloom.kernel.text import find_forbidden

MAX_ERRORS_LISTED: Final = 50
MAX_VALUES: Final = 5_000
"""How many values are looked at: a body as large as the limit allows must not keep the others waiting."""

_UNKNOWN_FIELD: Final = "is not a field of this request"
_MISSING_FIELD: Final = "is missing"
_MAX_NAME: Final = 100


@dataclass(slots=True)
class _Budget:
    values: int = MAX_VALUES

    def spend(self) -> bool:
        self.values -= 1
        return self.values >= 0


def collect_errors(value: Any, hint: Any) -> list[FieldError]:
    """Where plain JSON departs from a type, in the order of the body; 50 at most."""
    return list(islice(_walk_value(value, hint, "", _Budget()), MAX_ERRORS_LISTED))


def _walk_value(value: Any, hint: Any, pointer: str, budget: _Budget) -> Iterator[FieldError]:
    if not budget.spend():
        return
    plain = _choose_option(hint)
    kind = get_origin(plain) or plain
    if value is None and _is_optional(hint):
        return
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and isinstance(value, dict):
        yield from _walk_struct(value, kind, pointer, budget)
    elif kind in (list, tuple) and isinstance(value, list) and get_args(plain):
        yield from _walk_items(value, hint, get_args(plain)[0], pointer, budget)
    elif kind is dict and isinstance(value, dict) and get_args(plain):
        yield from _walk_entries(value, hint, get_args(plain)[1], pointer, budget)
    else:
        yield from _check_value(value, hint, pointer)


def _walk_struct(
    value: dict[str, Any], struct: type[msgspec.Struct], pointer: str, budget: _Budget
) -> Iterator[FieldError]:
    fields = _fields_by_name(struct)
    hints = _hints_of(struct)
    acceptances = _acceptances_by_name(struct)
    found = False
    for name, item in value.items():
        if name not in fields:
            if struct.__struct_config__.forbid_unknown_fields:
                found = True
                yield FieldError(_join_pointer(pointer, name), _UNKNOWN_FIELD)
            continue
        hint, place = hints[fields[name].name], _join_pointer(pointer, name)
        for error in chain(
            _walk_value(item, hint, place, budget), _check_field(item, hint, acceptances.get(name), place)
        ):
            found = True
            yield error
            if error.pointer == place:
                break
    for name, field in fields.items():
        if field.required and name not in value:
            found = True
            yield FieldError(_join_pointer(pointer, name), _MISSING_FIELD)
    if not found and budget.values > 0:  # what a struct checks of itself, such as amounts or the order of two moments
        yield from _check_value(value, struct, pointer)


def _walk_items(value: list[Any], whole: Any, item: Any, pointer: str, budget: _Budget) -> Iterator[FieldError]:
    found = False
    for position, each in enumerate(value):
        if budget.values <= 0:
            return
        for error in _walk_value(each, item, f"{pointer}/{position}", budget):
            found = True
            yield error
    if not found:  # the length
        yield from _check_value(value, whole, pointer)


def _walk_entries(value: dict[str, Any], whole: Any, item: Any, pointer: str, budget: _Budget) -> Iterator[FieldError]:
    found = False
    for name, each in value.items():
        if budget.values <= 0:
            return
        for error in _walk_value(each, item, _join_pointer(pointer, name), budget):
            found = True
            yield error
    if not found:
        yield from _check_value(value, whole, pointer)


def _check_value(value: Any, hint: Any, pointer: str) -> Iterator[FieldError]:
    """The decoder's own judgement of one value, so that both looks say the same."""
    forbidden = find_forbidden(value) if isinstance(value, str) else None
    if forbidden is not None:
        yield FieldError(pointer, forbidden)
        return
    if isinstance(value, str) and _holds_decimal(hint) and not is_decimal_literal(value):
        yield FieldError(pointer, "Expected a plain decimal number, such as 1250.50.")
        return
    try:
        _decoder_of(hint).decode(msgspec.json.encode(value))
    except (msgspec.ValidationError, ValueError) as error:
        yield _fault_at(pointer, str(error), hint)


def _check_field(value: Any, hint: Any, accept: FieldCheck | None, pointer: str) -> Iterator[FieldError]:
    """What a field is refused for although its JSON is of the right type."""
    if accept is None or value is None:
        return
    try:
        accept(_decoder_of(hint).decode(msgspec.json.encode(value)))
    except ValueError as error:
        yield FieldError(pointer, str(error).partition(" - at field ")[0])


def _fault_at(pointer: str, message: str, hint: Any) -> FieldError:
    what, _, place = message.partition(" - at ")
    if place.startswith("field `"):
        pointer = _join_pointer(pointer, place.split("`")[1])
    choices = _choices_of(_choose_option(hint))
    if choices and "one of" not in what:
        what = f"{what}; one of {', '.join(choices)}"
    return FieldError(pointer, what)


@cache
def _choose_option(hint: Any) -> Any:
    """The one thing besides null that a type allows, without annotations; the type itself where there are several."""
    if get_origin(hint) is Annotated:
        return _choose_option(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        options = [option for option in get_args(hint) if option not in (NoneType, msgspec.UnsetType)]
        return _choose_option(options[0]) if len(options) == 1 else hint
    return hint


@cache
def _is_optional(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        return _is_optional(get_args(hint)[0])
    return get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint)


def _choices_of(kind: Any) -> list[str]:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [str(member.value) for member in kind]
    return [str(choice) for choice in get_args(kind)] if get_origin(kind) is Literal else []


@cache
def _holds_decimal(hint: Any) -> bool:
    plain = _choose_option(hint)
    return plain is Decimal or (plain not in (datetime, date) and Decimal in get_args(plain))


def _join_pointer(pointer: str, step: str) -> str:
    shown = step if len(step) <= _MAX_NAME else f"{step[:_MAX_NAME]}…"
    return f"{pointer}/{shown.replace('~', '~0').replace('/', '~1')}"


@cache
def _fields_by_name(struct: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.encode_name: field for field in msgspec.structs.fields(struct)}


@cache
def _hints_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    return get_type_hints(struct, include_extras=True)


@cache
def _acceptances_by_name(struct: type[msgspec.Struct]) -> dict[str, FieldCheck]:
    return {accept.field: accept for _, accept in acceptances_of(struct)}


@cache
def _decoder_of(hint: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(hint)
