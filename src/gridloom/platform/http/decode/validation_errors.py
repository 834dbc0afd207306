"""Every error of a rejected body, each said with what is expected and an example: the slow walk that a good request
never takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from itertools import chain, islice
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from gridloom.kernel.figures import Figure, say
from gridloom.kernel.money import is_decimal_literal
from gridloom.kernel.problem import FieldError
from gridloom.kernel.text import find_forbidden
from gridloom.platform.http.fields import EXPECTED, FieldCheck, checks_of, escape

MAX_ERRORS_LISTED: Final = 50
MAX_VALUES: Final = 5_000
"""How many values are validated again: a body as large as the limit allows must not keep others waiting."""
_MAX_NAME: Final = 100


def collect_errors(value: Any, hint: Any, *, texts_only: bool = False) -> list[FieldError]:
    """Where plain JSON departs from a type, in the order of the body; 50 at most.

    texts_only: for a body that was decoded; all its texts are checked for what the decoder accepts and we do not.
    """
    return list(islice(_Walk(texts_only).walk(value, hint, ""), MAX_ERRORS_LISTED))


def holds_decimals(hint: Any) -> bool:
    """Whether a value of the type may hold a decimal anywhere."""
    if _is_struct(hint):
        return any(map(holds_decimals, _hints_of(hint).values()))
    return hint is Decimal or any(map(holds_decimals, get_args(hint)))


class _Walk:
    def __init__(self, texts_only: bool) -> None:
        self._texts_only = texts_only
        self._values_left = MAX_VALUES

    @property
    def _is_spent(self) -> bool:
        return self._values_left <= 0 and not self._texts_only

    def walk(self, value: Any, hint: Any, pointer: str) -> Iterator[FieldError]:
        if self._is_spent or (value is None and _is_optional(hint)):
            return
        self._values_left -= 1
        plain = choose_option(hint)
        kind, parts = get_origin(plain) or plain, get_args(plain)
        if isinstance(value, dict) and _is_struct(kind):
            yield from self._walk_struct(value, kind, pointer)
        elif isinstance(value, dict) and kind is dict and parts:
            yield from self._walk_parts(value, hint, pointer, ((name, each, parts[1]) for name, each in value.items()))
        elif isinstance(value, list) and kind in (list, tuple) and parts:
            numbered = ((str(index), each, parts[0]) for index, each in enumerate(value))
            yield from self._walk_parts(value, hint, pointer, numbered)
        elif self._texts_only and isinstance(value, dict | list):
            yield from self._walk_untyped(value, [option for option in parts if _is_struct(option)], pointer)
        else:
            yield from self._check_value(value, hint, pointer)

    def _walk_struct(self, value: dict[str, Any], struct: type[msgspec.Struct], pointer: str) -> Iterator[FieldError]:
        fields, hints, checks = _fields_by_name(struct), _hints_of(struct), _checks_by_name(struct)
        found = False
        for name, item in value.items():
            inner = _join_pointer(pointer, name)
            if name not in fields:
                if self._texts_only:
                    yield from self.walk(item, Any, inner)
                elif struct.__struct_config__.forbid_unknown_fields:
                    found = True
                    yield FieldError(inner, "is not a field of this request")
                continue
            hint = hints[fields[name].name]
            for error in chain(self.walk(item, hint, inner), self._check_field(item, hint, checks.get(name), inner)):
                found = True
                yield error
                if error.pointer == inner:
                    break
        for name, field in fields.items():
            if field.required and name not in value and not self._texts_only:
                found = True
                yield FieldError(_join_pointer(pointer, name), "is missing")
        if not found and not self._is_spent:  # what a struct checks of itself, such as the order of two instants
            yield from self._check_value(value, struct, pointer)

    def _walk_parts(
        self, whole: Any, hint: Any, pointer: str, parts: Iterable[tuple[str, Any, Any]]
    ) -> Iterator[FieldError]:
        found = False
        for name, each, part_hint in parts:
            if self._is_spent:
                return
            inner = _join_pointer(pointer, name)
            for error in chain(self._check_name(name, pointer), self.walk(each, part_hint, inner)):
                found = True
                yield error
        if not found:  # the length
            yield from self._check_value(whole, hint, pointer)

    def _walk_untyped(self, value: Any, structs: list[Any], pointer: str) -> Iterator[FieldError]:
        """Texts inside of what may be anything, or one of several structs."""
        if structs and isinstance(value, dict):
            for struct in structs:
                yield from self._walk_struct(value, struct, pointer)
            return
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from self._check_name(str(name), pointer)
            yield from self.walk(each, Any, _join_pointer(pointer, str(name)))

    def _check_name(self, name: str, pointer: str) -> Iterator[FieldError]:
        forbidden = find_forbidden(name)
        if forbidden is not None:
            yield FieldError(pointer, forbidden)

    def _check_value(self, value: Any, hint: Any, pointer: str) -> Iterator[FieldError]:
        """By the decoder itself, so that both say the same."""
        if isinstance(value, str):
            if (forbidden := find_forbidden(value)) is not None:
                yield FieldError(pointer, forbidden)
                return
            if _is_decimal(hint) and not is_decimal_literal(value):
                yield FieldError(pointer, "Expected a plain decimal number, such as 1250.50.")
                return
        if self._texts_only:
            return
        try:
            _decoder_of(hint).decode(msgspec.json.encode(value))
        except (msgspec.ValidationError, ValueError) as error:
            yield _error_at(pointer, str(error), hint)

    def _check_field(self, value: Any, hint: Any, check: FieldCheck | None, pointer: str) -> Iterator[FieldError]:
        """The error of a field whose JSON is of the right type."""
        if check is None or value is None or self._texts_only:
            return
        try:
            check(_decoder_of(hint).decode(msgspec.json.encode(value)))
        except ValueError as error:
            yield FieldError(pointer, str(error).partition(" - at field ")[0])


def _error_at(pointer: str, message: str, hint: Any) -> FieldError:
    what, _, where = message.partition(" - at ")
    if where.startswith("field `"):
        pointer = _join_pointer(pointer, where.split("`")[1])
    return FieldError(pointer, describe_rejection(what, hint))


@cache
def _is_optional(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        return _is_optional(get_args(hint)[0])
    return get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint)


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


@cache
def _is_decimal(hint: Any) -> bool:
    plain = choose_option(hint)
    return plain is Decimal or (plain not in (datetime, date) and Decimal in get_args(plain))


def _join_pointer(pointer: str, step: str) -> str:
    return f"{pointer}/{escape(step if len(step) <= _MAX_NAME else f'{step[:_MAX_NAME]}…')}"


@cache
def _fields_by_name(struct: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.encode_name: field for field in msgspec.structs.fields(struct)}


@cache
def _hints_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    return get_type_hints(struct, include_extras=True)


@cache
def _checks_by_name(struct: type[msgspec.Struct]) -> dict[str, FieldCheck]:
    return {check.field: check for _, check in checks_of(struct)}


@cache
def _decoder_of(hint: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(hint)


# --- the decoder's messages in words -------------------------------------------------------------------------------

_BY_PATTERN: Final = "Expected `str` matching regex "
_FORMATS: Final = {
    "Invalid RFC3339 encoded datetime": "an instant with an offset, such as 2026-03-29T00:00:00Z",
    "Expected `datetime` with a timezone component": "an instant with an offset, such as 2026-03-29T00:00:00Z",
    "Invalid RFC3339 encoded date": "a day, such as 2026-03-29",
    "Invalid UUID": "an id, such as 019a1c5e-7b20-7c4e-9f1a-2b3c4d5e6f70",
    "Invalid ISO8601 duration": "a duration, such as PT15M",
    "Invalid decimal string": "a plain decimal number, such as 1250.50",
}
_KINDS: Final = {
    **{"float": "a number", "int": "a whole number", "str": "a text", "bool": "true or false", "array": "a list"},
    **{"object": "an object", "decimal": "a number", "uuid": "an id", "datetime": "an instant", "date": "a day"},
    **{"duration": "a duration", "null": "null"},
}
_PARTS: Final = {"str": "character", "array": "entry", "object": "field"}
_BOUNDS: Final = {">=": " of at least ", "<=": " of at most ", ">": " above ", "<": " below ", "": " of "}
_KIND: Final = re.compile(r"`([a-z |]+)`")
_BOUND: Final = re.compile(r" ([<>]=?) (-?[\d.e+]+?)(?:\.0)?$")
_LENGTH: Final = re.compile(r"Expected `(str|array|object)` of length ?([<>]=|) (\d+)")


def describe_rejection(message: str, hint: Any) -> str:
    """A message of the decoder about a value of the type, with what the type expects and what an enumeration allows."""
    if message in _FORMATS:
        return f"Expected {_FORMATS[message]}"
    if message.startswith(_BY_PATTERN):
        expected = expectations_of(hint).get(message.removeprefix(_BY_PATTERN))
        return f"Expected {expected or 'a text of another form'}"
    choices, said = _choices_of(hint), _describe_limit(message.replace("Invalid enum value", "Unknown value"))
    return f"{said}; one of {', '.join(choices)}" if choices else said


def _describe_limit(message: str) -> str:
    """``Expected `float` <= 1.0`` as "Expected a number of at most 1", and so for kinds and lengths.

    A bound is a figure in the field's own unit.
    """
    if length := _LENGTH.fullmatch(message):
        kind, bound, count = length.groups()
        parts = _PARTS[kind] if count == "1" else f"{_PARTS[kind]}s".replace("ys", "ies")
        return f"Expected {_KINDS[kind]}{_BOUNDS[bound]}{count} {parts}"
    if not message.startswith("Expected `"):
        return message
    said = _KIND.sub(lambda kinds: " or ".join(_KINDS.get(kind, kind) for kind in kinds[1].split(" | ")), message)
    said = said.replace("whole number, got a number", "number without decimals").replace(", got ", ", not ")
    bound = _BOUND.search(said)
    if bound is None:
        return said
    return say("{}{}{}", said[: bound.start()], _BOUNDS[bound[1]], Figure(bound[2], float(bound[2]), ""))


def _choices_of(hint: Any) -> list[str]:
    kind = choose_option(hint)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [str(member.value) for member in kind]
    return [str(choice) for choice in get_args(kind)] if get_origin(kind) is Literal else []


@cache
def expectations_of(hint: Any) -> dict[str, str]:
    """By pattern, as the decoder spells it: what each says that it expects, anywhere in the type."""
    found: dict[str, str] = {}
    _gather_expectations(hint, found, set())
    return found


def _gather_expectations(hint: Any, found: dict[str, str], seen: set[Any]) -> None:
    if _is_struct(hint):
        if hint not in seen:
            seen.add(hint)
            for part in _hints_of(hint).values():
                _gather_expectations(part, found, seen)
        return
    if get_origin(hint) is Annotated:
        for mark in get_args(hint)[1:]:
            if isinstance(mark, msgspec.Meta) and mark.pattern is not None and mark.extra is not None:
                found[repr(mark.pattern)] = mark.extra[EXPECTED]
        hint = get_args(hint)[0]
    for part in () if get_origin(hint) is Literal else get_args(hint):
        _gather_expectations(part, found, seen)


@cache
def choose_option(hint: Any) -> Any:
    """The one thing besides null that a type allows, without annotations; the type itself where there are several."""
    if get_origin(hint) is Annotated:
        return choose_option(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        options = [option for option in get_args(hint) if option not in (NoneType, msgspec.UnsetType)]
        return choose_option(options[0]) if len(options) == 1 else hint
    return hint
