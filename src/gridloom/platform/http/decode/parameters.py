"""Parameters of the query and the path: text into declared types, every error in one response."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Annotated, Any, Final, NamedTuple, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl

import msgspec

from gridloom.kernel.problem import BadRequest, FieldError
from gridloom.kernel.text import find_forbidden
from gridloom.platform.http.decode.validation_errors import MAX_ERRORS_LISTED, choose_option, describe_rejection
from gridloom.platform.http.fields import LATEST, QueryParameters, accept_day, accept_instant, parameter_error


def split_query(query_string: bytes) -> list[tuple[str, str]]:
    if not query_string:
        return []
    try:
        return parse_qsl(
            query_string.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=100,
        )
    except ValueError:
        raise BadRequest("The query is not a list of name=value pairs in UTF-8.") from None


FIRST_MILLISECOND: Final = 946_684_800_000
"""The year 2000: what seconds since 1970 are never as large as."""
LAST_MILLISECOND: Final = int(LATEST.timestamp()) * 1000
EXCEL: Final = "excel"
"""Of every operation that answers CSV: whether to write it for Excel."""


def asks_for_excel(pairs: list[tuple[str, str]]) -> bool:
    return (EXCEL, "true") in pairs


@cache
def parameter_decoder_of(struct: type[QueryParameters], *, answers_csv: bool = False) -> ParameterDecoder:
    return ParameterDecoder(struct, answers_csv=answers_csv)


class ParameterDecoder:
    """Query strings into one struct; a parameter unknown, doubled or malformed is a 400 that names it."""

    def __init__(self, struct: type[QueryParameters], *, answers_csv: bool = False) -> None:
        hints = get_type_hints(struct, include_extras=True)
        self._struct = struct
        self._fields = {
            field.encode_name: (field.name, _take_apart(hints[field.name])) for field in msgspec.structs.fields(struct)
        }
        if answers_csv:
            self._fields[EXCEL] = EXCEL, _take_apart(bool)
        self._needed = [field.encode_name for field in msgspec.structs.fields(struct) if field.required]

    def __call__(self, pairs: list[tuple[str, str]]) -> QueryParameters:
        values: dict[str, Any] = {}
        errors: list[FieldError] = []
        if not pairs and not self._needed:  # as most queries are
            return self._struct()
        for name, text in pairs:
            try:
                self._read_parameter(name, text, values)
            except BadRequest as error:
                errors.extend(error.errors)
        named = {name for name, _ in pairs}
        errors.extend(FieldError(f"query:{name}", "is missing") for name in self._needed if name not in named)
        if errors:
            raise _reject_parameters(errors[:MAX_ERRORS_LISTED])
        values.pop(EXCEL, None)
        try:
            return self._struct(**values)
        except ValueError as error:
            raise BadRequest(str(error)) from None

    def _read_parameter(self, name: str, text: str, values: dict[str, Any]) -> None:
        if name not in self._fields:
            raise parameter_error("query", name[:100], "is not a parameter of this operation")
        attribute, declared = self._fields[name]
        if attribute in values:
            raise parameter_error("query", name, "is given twice")
        values[attribute] = _parse_as("query", name, text, declared)


def _reject_parameters(errors: list[FieldError]) -> BadRequest:
    first, *rest = errors
    more = f" And {len(rest)} more at fault, see errors." if rest else ""
    return BadRequest(f"The query parameter {first.pointer[6:]}: {first.detail}.{more}", errors=errors)


class _DeclaredType(NamedTuple):
    hint: Any
    """Of the value, or of each item of a list."""
    kind: Any
    """The same without annotations."""
    is_list: bool


@cache
def _take_apart(hint: Any) -> _DeclaredType:
    plain = _without_none(hint)
    is_list = get_origin(plain) is tuple
    item = get_args(plain)[0] if is_list else plain
    return _DeclaredType(item, choose_option(item), is_list)


def parse_parameter(source: str, name: str, text: str, hint: Any) -> Any:
    """One parameter's text as its declared type."""
    return _parse_as(source, name, text, _take_apart(hint))


def _parse_as(source: str, name: str, text: str, declared: _DeclaredType) -> Any:
    error = find_forbidden(text)
    if error is not None:
        raise parameter_error(source, name, error)
    if not declared.is_list:
        return _parse_text(source, name, text, declared.hint, declared.kind)
    if text == "":
        raise parameter_error(source, name, "is an empty list")
    parts = (part.strip() for part in text.split(","))
    return tuple(_parse_text(source, name, part, declared.hint, declared.kind) for part in parts)


def _parse_text(source: str, name: str, text: str, hint: Any, kind: Any) -> Any:
    value: Any = text
    if kind is bool:
        value = {"true": True, "false": False}.get(text, text)
    elif kind in (int, float) and re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]{1,18})?", text):
        value = float(text) if "." in text else int(text)
    elif kind is datetime and text.isascii() and text.isdecimal():
        value = _read_milliseconds(source, name, text)
    try:
        value = msgspec.convert(value, hint)
        if kind is datetime:
            return accept_instant(value)
        if kind is date:
            return accept_day(value)
    except (msgspec.ValidationError, ValueError) as error:
        raise parameter_error(source, name, describe_rejection(str(error), hint)) from None
    return value


def _read_milliseconds(source: str, name: str, text: str) -> datetime:
    """An instant as dashboards write it. Seconds and microseconds are numbers of other lengths, and refused."""
    milliseconds = int(text[:20])
    if not FIRST_MILLISECOND <= milliseconds < LAST_MILLISECOND:
        raise parameter_error(source, name, "is no number of milliseconds since 1970 between the years 2000 and 2200")
    return datetime.fromtimestamp(milliseconds // 1000, UTC) + timedelta(milliseconds=milliseconds % 1000)


def _without_none(hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        return hint
    options = [option for option in get_args(hint) if option is not type(None)]
    return options[0] if len(options) == 1 and type(None) in get_args(hint) else hint
