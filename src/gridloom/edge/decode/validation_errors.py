"""Every error of a rejected body, not only the first: the slow walk that a good request never takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from itertools import chain, islice
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from gridloom.edge.fields import FieldCheck, checks_of, escape
from gridloom.kernel.money import is_decimal_literal
from gridloom.kernel.problem import FieldError
from gridloom.kernel.text import find_forbidden

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
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
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
        plain = _choose_option(hint)
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
            place = _join_pointer(pointer, name)
            if name not in fields:
                if self._texts_only:
                    yield from self.walk(item, Any, place)
                elif struct.__struct_config__.forbid_unknown_fields:
                    found = True
                    yield FieldError(place, "is not a field of this request")
                continue
            hint = hints[fields[name].name]
            for error in chain(self.walk(item, hint, place), self._check_field(item, hint, checks.get(name), place)):
                found = True
                yield error
                if error.pointer == place:
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
            place = _join_pointer(pointer, name)
            for error in chain(self._check_name(name, pointer), self.walk(each, part_hint, place)):
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
        """What a field is rejected for although its JSON is of the right type."""
        if check is None or value is None or self._texts_only:
            return
        try:
            check(_decoder_of(hint).decode(msgspec.json.encode(value)))
        except ValueError as error:
            yield FieldError(pointer, str(error).partition(" - at field ")[0])


def _error_at(pointer: str, message: str, hint: Any) -> FieldError:
    what, _, place = message.partition(" - at ")
    if place.startswith("field `"):
        pointer = _join_pointer(pointer, place.split("`")[1])
    return FieldError(pointer, name_choices(what, hint))


def name_choices(what: str, hint: Any) -> str:
    """The message with the values that an enumeration allows."""
    kind = _choose_option(hint)
    if isinstance(kind, type) and issubclass(kind, Enum):
        choices = [str(member.value) for member in kind]
    else:
        choices = [str(choice) for choice in get_args(kind)] if get_origin(kind) is Literal else []
    return f"{what}; one of {', '.join(choices)}" if choices and "one of" not in what else what


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


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


@cache
def _is_decimal(hint: Any) -> bool:
    plain = _choose_option(hint)
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
