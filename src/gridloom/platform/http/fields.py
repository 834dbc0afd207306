"""The types that cross the wire: their names, their strictness, what a field must keep to, and how they are encoded."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Final, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from gridloom.kernel.money import Euro, check_euro
from gridloom.kernel.problem import BadRequest
from gridloom.kernel.text import FORBIDDEN_IN_NAMES

# --- fields beyond their JSON type: euros to the cent, instants and days within the years we know --------------------

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)


def accept_instant(value: datetime) -> datetime:
    """The same instant in UTC, to the millisecond."""
    try:
        instant = value.astimezone(UTC)
    except OverflowError:
        instant = LATEST
    if not EARLIEST <= instant < LATEST:
        raise ValueError("a timestamp between the years 1970 and 2200 is expected")
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


def accept_day(value: date) -> date:
    if not EARLIEST.date() <= value < LATEST.date():
        raise ValueError("a day between the years 1970 and 2200 is expected")
    return value


class FieldCheck:
    """One field's check beyond what its JSON type can say; the error names the field."""

    def __init__(self, field: str, hint: Any) -> None:
        self.field = field
        self.euro, self.kind = _find_meaning(hint)

    def __call__(self, value: Any) -> Any:
        try:
            if self.euro is not None:
                return check_euro(value, self.euro)
            if self.kind is datetime:
                return accept_instant(value)
            return accept_day(value)
        except ValueError as error:
            raise ValueError(f"{error} - at field `{self.field}`") from None


def _find_meaning(hint: Any) -> tuple[Euro | None, type | None]:
    """Whether a type is an amount of euros, an instant or a day, looking through unions and annotations."""
    if get_origin(hint) is Annotated:
        inner, *marks = get_args(hint)
        for mark in marks:
            if isinstance(mark, Euro):
                return mark, Decimal
        return _find_meaning(inner)
    if hint in (datetime, date):
        return None, cast(type, hint)
    if get_origin(hint) in (list, tuple, dict, None):
        return None, None
    for part in get_args(hint):
        found = _find_meaning(part)
        if found != (None, None):
            return found
    return None, None


@cache
def checks_of(struct: type[msgspec.Struct]) -> tuple[tuple[str, FieldCheck], ...]:
    hints = get_type_hints(struct, include_extras=True)
    found = []
    for field in msgspec.structs.fields(struct):
        check = FieldCheck(field.encode_name, hints[field.name])
        if check.euro is not None or check.kind is not None:
            found.append((field.name, check))
    return tuple(found)


# --- structs -------------------------------------------------------------------------------------------------------

Instant = Annotated[datetime, Meta(tz=True)]
"""Any offset is accepted, none is not; in UTC once decoded."""

EXPECTED: Final = "expected"


def pattern_meta(pattern: str, expected: str, **more: Any) -> Meta:
    """A text's pattern with what a rejection says instead of it: `a month, such as 2026-09`."""
    return Meta(pattern=pattern, extra={EXPECTED: expected}, **more)


Name = Annotated[
    str,
    pattern_meta(
        rf"^[^{FORBIDDEN_IN_NAMES}]+(?!\n)$",
        "a name in one line without control characters, such as Hürth 1",
        min_length=1,
        max_length=200,
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
    """A response body."""


class RequestBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, rename=wire_name):
    """A request body: unknown fields are rejected, instants are in UTC, euros exact."""

    def __post_init__(self) -> None:
        for name, check in checks_of(type(self)):
            value = getattr(self, name)
            if value is None or value is msgspec.UNSET:
                continue
            accepted = check(value)
            if accepted is not value:
                setattr(self, name, accepted)


class QueryParameters(msgspec.Struct, kw_only=True, rename=parameter_name):
    """The query of an operation; a tuple is a comma-separated list."""


def given_fields(body: RequestBody) -> dict[str, Any]:
    """The fields that a change names, under their names here; those that it leaves out stay as they were."""
    return {name: value for name in body.__struct_fields__ if (value := getattr(body, name)) is not msgspec.UNSET}


# --- where an error lies -------------------------------------------------------------------------------------------


def escape(step: str) -> str:
    """A step of a JSON pointer (RFC 6901)."""
    return step.replace("~", "~0").replace("/", "~1")


def parameter_error(source: str, name: str, what: str) -> BadRequest:
    return BadRequest.at(f"{source}:{name}", f"The {source} parameter {name}: {what}.", what)


# --- bodies out ----------------------------------------------------------------------------------------------------

_MICROSECONDS = re.compile(rb'(\.\d{3})\d{3}Z"')  # starts with what is rare, so that long bodies cost little
_UP_TO_THE_SECOND = re.compile(rb'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d')
_encode = msgspec.json.Encoder(decimal_format="number").encode


def to_json(value: Any) -> bytes:
    """JSON as the contract has it: euros as numbers, instants in UTC with whole seconds or milliseconds."""
    body = _encode(value)
    return _MICROSECONDS.sub(_to_milliseconds, body) if b'Z"' in body and b"." in body else body


def _to_milliseconds(found: re.Match[bytes]) -> bytes:
    is_instant = _UP_TO_THE_SECOND.fullmatch(found.string, max(0, found.start() - 20), found.start())
    return found[1] + b'Z"' if is_instant else found[0]


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
