"""The types that cross the wire: their names, their strictness, and where a fault lies."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec
from msgspec import Meta

from gridloom.edge.field_checks import accept_day, accept_instant, acceptances_of
from gridloom.edge.slices import rows_of
from gridloom.edge.validation_errors import MAX_ERRORS_LISTED, collect_errors
from gridloom.kernel.money import is_decimal_literal
from gridloom.kernel.problem import BadRequest, FieldError
from gridloom.kernel.text import FORBIDDEN_IN_NAMES, find_forbidden, may_hold_forbidden

Instant = Annotated[datetime, Meta(tz=True, description="RFC 3339 with an offset", examples=["2026-03-29T00:00:00Z"])]
"""A moment: any offset is accepted, none is not; UTC once it is inside."""

Name = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        pattern=rf"^[^{FORBIDDEN_IN_NAMES}]+(?!\n)$",
        description="What people call it, in one line",
    ),
]
Text = Annotated[str, Meta(max_length=10_000)]

_ACRONYMS = {"id": "ID", "ids": "IDs", "soc": "SoC"}


def wire_name(name: str) -> str:
    """`physical_asset_id` → `physicalAssetID`, `final_soc_tolerance` → `finalSoCTolerance`."""
    first, *rest = name.split("_")
    return first + "".join(_ACRONYMS.get(word, word.capitalize()) for word in rest)


def parameter_name(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


class ResponseBody(msgspec.Struct, kw_only=True, rename=wire_name):
    """What an operation answers."""


class RequestBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, rename=wire_name):
    """What an operation is sent: unknown fields refused, moments in UTC, euros exact."""

    def __post_init__(self) -> None:
        for name, accept in acceptances_of(type(self)):
            value = getattr(self, name)
            if value is None or value is msgspec.UNSET:
                continue
            accepted = accept(value)
            if accepted is not value:
                setattr(self, name, accepted)


class QueryParameters(msgspec.Struct, kw_only=True, rename=parameter_name):
    """The query of an operation; a tuple is a comma-separated list."""


# --- bodies in -----------------------------------------------------------------------------------------------------

_AT_FIELD = re.compile(r"^(?P<what>.*?) - at field `(?P<field>[^`]+)`(?: - at `(?P<path>[^`]+)`)?$", re.DOTALL)
_AT_PATH = re.compile(r"^(?P<what>.*?)(?: - at (?:`key` in )?`(?P<path>[^`]+)`)?$", re.DOTALL)
_MISSING = re.compile(r"missing required field `(?P<field>[^`]+)`")
_UNKNOWN = re.compile(r"unknown field `(?P<field>[^`]+)`")


MAX_REFUSAL = 2_000


class Decoder:
    """Strict JSON into one type, every refusal a 400 that points at the fault."""

    def __init__(self, type: Any) -> None:
        self._type = type
        self._decode = msgspec.json.Decoder(type).decode
        self._check = _check_amounts(type)
        self._rows = rows_of(type)

    def __call__(self, body: bytes) -> Any:
        if not body:
            raise BadRequest("A JSON body is needed and none was sent.", errors=[FieldError("", "missing")])
        try:
            decoded = self._decode(body)
        except msgspec.ValidationError as error:
            raise self._refuse(body, refused(str(error))) from None
        except msgspec.DecodeError as error:
            raise BadRequest(f"The body is not JSON: {error}.", errors=[FieldError("", str(error))]) from None
        except (UnicodeDecodeError, RecursionError, ValueError):
            raise BadRequest("The body is not JSON in UTF-8.", errors=[FieldError("", "not JSON")]) from None
        try:
            if may_hold_forbidden(body):
                reject_forbidden_text(msgspec.json.decode(body))
            if self._check is not None:
                self._check(msgspec.json.decode(body), "")
        except BadRequest as error:
            raise self._refuse(body, error) from None
        return decoded

    def decode_trusted(self, body: bytes) -> Any:
        """A long body that has been judged already: rows slice by slice, so that others get their turn in between."""
        found = self._rows.read(body) if self._rows is not None else None
        return self._decode(body) if found is None else found

    def _refuse(self, body: bytes, first: BadRequest) -> BadRequest:
        """With every fault of the body; what the decoder met stands in front where the second look missed it."""
        try:
            found = collect_errors(msgspec.json.decode(body), self._type)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return first
        met = first.errors[0].pointer.removesuffix("/...")  # how the decoder names a key that it does not know
        if not any(error.pointer == met or error.pointer.startswith(f"{met}/") for error in found):
            found = [first.errors[0], *found][:MAX_ERRORS_LISTED]
        more = f"; and {len(found) - 1} more at fault, see errors" if len(found) > 1 else ""
        return BadRequest(f"{found[0].pointer or 'The body'}: {found[0].detail}{more}", errors=found)


_DecimalCheck: TypeAlias = Callable[[Any, str], None]


def _check_amounts(hint: Any) -> _DecimalCheck | None:
    """What refuses a decimal that is written as text in a way nobody means; None for a type that holds no decimals.

    Once decoded, the text is gone, so it looks at the plain JSON beside it.
    """
    if hint is Decimal:
        return _reject_odd_amount
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        hints = get_type_hints(hint, include_extras=True)
        fields = {field.encode_name: _check_amounts(hints[field.name]) for field in msgspec.structs.fields(hint)}
        checks = {name: check for name, check in fields.items() if check is not None}
        return _check_members(checks) if checks else None
    found = next((check for check in map(_check_amounts, get_args(hint)) if check is not None), None)
    return _check_items(found) if found is not None and get_origin(hint) in (list, tuple) else found


def _check_members(checks: dict[str, _DecimalCheck]) -> _DecimalCheck:
    def check(value: Any, pointer: str) -> None:
        if isinstance(value, dict):
            for name in value.keys() & checks.keys():
                checks[name](value[name], f"{pointer}/{escape(name)}")

    return check


def _check_items(check_one: _DecimalCheck) -> _DecimalCheck:
    def check(value: Any, pointer: str) -> None:
        if isinstance(value, list):
            for position, item in enumerate(value):
                check_one(item, f"{pointer}/{position}")

    return check


def _reject_odd_amount(value: Any, pointer: str) -> None:
    if isinstance(value, str) and not is_decimal_literal(value):
        what = "Expected a plain decimal number, such as 1250.50."
        raise BadRequest(f"{pointer}: {what}", errors=[FieldError(pointer, what)])


def refused(message: str) -> BadRequest:
    """A 400 from the words of a failed validation."""
    if len(message) > MAX_REFUSAL:  # a field's name can be as long as the body
        message = f"{message[:MAX_REFUSAL]}…"
    found = _AT_FIELD.match(message) or _AT_PATH.match(message)
    assert found is not None
    what, groups = found["what"], found.groupdict()
    pointer = pointer_of(groups.get("path") or "$")
    inner = _MISSING.search(what) or _UNKNOWN.search(what)
    field = groups.get("field") or (inner["field"] if inner else None)
    if field is not None:
        pointer = f"{pointer}/{escape(field)}"
    if inner is not None:
        what = "is missing" if "missing" in what else "is not a field of this request"
    return BadRequest(f"{pointer or 'The body'}: {what}", errors=[FieldError(pointer, what)])


def pointer_of(path: str) -> str:
    """`$.volume.powerCapacity[0]` → `/volume/powerCapacity/0` (RFC 6901)."""
    return "".join(f"/{escape(step)}" for step in re.findall(r"[^.\[\]$]+", path))


def escape(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


def reject_forbidden_text(value: Any, pointer: str = "") -> None:
    """In every name and text, wherever it stands in the body."""
    if isinstance(value, str):
        error = find_forbidden(value)
        if error is not None:
            raise BadRequest(f"{pointer or 'The body'}: {error}", errors=[FieldError(pointer, error)])
    elif isinstance(value, dict):
        for key, item in value.items():
            reject_forbidden_text(key, pointer)
            reject_forbidden_text(item, f"{pointer}/{escape(key)}")
    elif isinstance(value, list):
        for position, item in enumerate(value):
            reject_forbidden_text(item, f"{pointer}/{position}")


# --- parameters in -------------------------------------------------------------------------------------------------


class ParameterDecoder:
    """Query strings into one struct; a parameter unknown, doubled or malformed is a 400 that names it."""

    def __init__(self, struct: type[QueryParameters]) -> None:
        hints = get_type_hints(struct, include_extras=True)
        self._struct = struct
        self._fields = {field.encode_name: (field.name, hints[field.name]) for field in msgspec.structs.fields(struct)}
        self._needed = [field.encode_name for field in msgspec.structs.fields(struct) if field.required]

    def __call__(self, pairs: list[tuple[str, str]]) -> QueryParameters:
        values: dict[str, Any] = {}
        faults: list[FieldError] = []
        if not pairs and not self._needed:  # as most queries are
            return self._struct()
        for name, text in pairs:
            try:
                self._read_parameter(name, text, values)
            except BadRequest as error:
                faults.extend(error.errors)
        named = {name for name, _ in pairs}
        faults.extend(FieldError(f"query:{name}", "is missing") for name in self._needed if name not in named)
        if faults:
            raise _reject_parameters(faults[:MAX_ERRORS_LISTED])
        try:
            return self._struct(**values)
        except ValueError as error:
            raise BadRequest(str(error)) from None

    def _read_parameter(self, name: str, text: str, values: dict[str, Any]) -> None:
        if name not in self._fields:
            raise parameter_error("query", name[:100], "is not a parameter of this operation")
        attribute, hint = self._fields[name]
        if attribute in values:
            raise parameter_error("query", name, "is given twice")
        values[attribute] = parse_parameter("query", name, text, hint)


def _reject_parameters(faults: list[FieldError]) -> BadRequest:
    first, *rest = faults
    more = f" And {len(rest)} more at fault, see errors." if rest else ""
    return BadRequest(f"The query parameter {first.pointer[6:]}: {first.detail}.{more}", errors=faults)


def parse_parameter(place: str, name: str, text: str, hint: Any) -> Any:
    """One parameter's text as its declared type."""
    error = find_forbidden(text)
    if error is not None:
        raise parameter_error(place, name, error)
    if hint is UUID:  # as nearly all in paths are
        return _parse_text(place, name, text, UUID)
    plain = _without_none(hint)
    if get_origin(plain) is tuple:
        item = get_args(plain)[0]
        if text == "":
            raise parameter_error(place, name, "is an empty list")
        return tuple(_parse_text(place, name, part.strip(), item) for part in text.split(","))
    return _parse_text(place, name, text, plain)


def _parse_text(place: str, name: str, text: str, hint: Any) -> Any:
    kind: Any = hint if hint is UUID else _strip_annotation(hint)
    value: Any = text
    if kind is bool:
        value = {"true": True, "false": False}.get(text, text)
    elif kind in (int, float) and re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]{1,18})?", text):
        value = float(text) if "." in text else int(text)
    try:
        value = msgspec.convert(value, hint)
        if kind is datetime:
            return accept_instant(value)
        if kind is date:
            return accept_day(value)
    except (msgspec.ValidationError, ValueError) as error:
        hint_text = f"; one of {', '.join(str(m.value) for m in kind)}" if _is_enum(kind) else ""
        raise parameter_error(place, name, f"{error}{hint_text}") from None
    return value


def parameter_error(place: str, name: str, what: str) -> BadRequest:
    return BadRequest(f"The {place} parameter {name}: {what}.", errors=[FieldError(f"{place}:{name}", what)])


def _without_none(hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        return hint
    options = [option for option in get_args(hint) if option is not type(None)]
    return options[0] if len(options) == 1 and type(None) in get_args(hint) else hint


def _strip_annotation(hint: Any) -> Any:
    return _strip_annotation(get_args(hint)[0]) if get_origin(hint) is Annotated else hint


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Enum)


# --- bodies out ----------------------------------------------------------------------------------------------------

_MICROSECONDS = re.compile(rb'(\.\d{3})\d{3}Z"')  # starts with what is rare, so that long bodies cost little
_UP_TO_THE_SECOND = re.compile(rb'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d')
_encode = msgspec.json.Encoder(decimal_format="number").encode


def to_json(value: Any) -> bytes:
    """JSON as the contract has it: euros as numbers, moments in UTC with whole seconds or milliseconds."""
    body = _encode(value)
    return _MICROSECONDS.sub(_to_milliseconds, body) if b'Z"' in body and b"." in body else body


def _to_milliseconds(found: re.Match[bytes]) -> bytes:
    is_moment = _UP_TO_THE_SECOND.fullmatch(found.string, max(0, found.start() - 20), found.start())
    return found[1] + b'Z"' if is_moment else found[0]
