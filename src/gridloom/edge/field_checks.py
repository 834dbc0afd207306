"""What a field must keep to beyond its JSON type: euros to the cent, moments and days within the years we know."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

import msgspec

from gridloom.kernel.money import Euro, check_euro

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)


def accept_instant(value: datetime) -> datetime:
    """The same moment in UTC, to the millisecond."""
    try:
        moment = value.astimezone(UTC)
    except OverflowError:
        moment = LATEST
    if not EARLIEST <= moment < LATEST:
        raise ValueError("a timestamp between the years 1970 and 2200 is expected")
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def accept_day(value: date) -> date:
    if not EARLIEST.date() <= value < LATEST.date():
        raise ValueError("a day between the years 1970 and 2200 is expected")
    return value


class FieldCheck:
    """One field's check beyond what its JSON type can say; the fault names the field."""

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
    """Whether a type is an amount of euros, a moment or a day, looking through unions and annotations."""
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
def acceptances_of(struct: type[msgspec.Struct]) -> tuple[tuple[str, FieldCheck], ...]:
    hints = get_type_hints(struct, include_extras=True)
    found = []
    for field in msgspec.structs.fields(struct):
        acceptance = FieldCheck(field.encode_name, hints[field.name])
        if acceptance.euro is not None or acceptance.kind is not None:
            found.append((field.name, acceptance))
    return tuple(found)
