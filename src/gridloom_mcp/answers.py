"""Answers as an assistant gets them: bounded, and with all text that people wrote marked as data."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import msgspec

WRITTEN_BY_PEOPLE: Final = "writtenByPeople"
MAX_TEXT_CHARS: Final = 200
MAX_ROWS: Final = 50

# Fields whose text is the platform's own: words of its interface, its sentences, and units.
_PLATFORM_FIELDS: Final = frozenset(
    [
        *(
            "status",
            "kind",
            "stage",
            "unit",
            "units",
            "feedback",
            "line",
            "counterparty",
            "series",
            "policy",
            "product",
        ),
        *("deliveryZone", "reason", "month", "number", "couldNotAsk", "next", "token", "what", "type"),
    ]
)
_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}(T[\d:.]+Z)?")


def present(value: Any, field: str = "") -> Any:
    """The value as JSON; text outside of the platform's own fields is wrapped: no name passes for a sentence."""
    if isinstance(value, msgspec.Struct):
        return present(msgspec.to_builtins(value, builtin_types=(Decimal, datetime, date, UUID)), field)
    if isinstance(value, Mapping):
        return {name: present(inner, name) for name, inner in value.items() if inner is not None}
    if isinstance(value, str):
        is_own = field in _PLATFORM_FIELDS or _TIME.fullmatch(value)
        return clean_text(value) if is_own else {WRITTEN_BY_PEOPLE: clean_text(value)}
    if isinstance(value, Sequence | set | frozenset):
        return [present(inner, field) for inner in value]
    return _present_scalar(value)


def _present_scalar(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date | UUID):
        return str(value)
    if isinstance(value, float | Decimal):
        return round(float(value), 4)
    return value


def clean_text(text: str) -> str:
    """Without control and formatting characters, on one line, and not longer than an answer can bear."""
    plain = "".join(" " if unicodedata.category(one)[0] in "CZ" else one for one in unicodedata.normalize("NFC", text))
    return plain if len(plain) <= MAX_TEXT_CHARS else plain[: MAX_TEXT_CHARS - 1] + "…"


def bound(rows: Sequence[Any], most: int = MAX_ROWS) -> dict[str, Any]:
    """The first rows, and how many are left out."""
    left_out = {"leftOut": len(rows) - most} if len(rows) > most else {}
    return {"rows": list(rows[:most]), **left_out}


def pick(value: Any, *names: str) -> dict[str, Any]:
    """Some fields of an answer, under the names of the interface."""
    record: dict[str, Any] = msgspec.to_builtins(value, builtin_types=(Decimal, datetime, date, UUID))
    return {name: record[name] for name in names if record.get(name) is not None}


def join_runs(points: Sequence[Any]) -> list[dict[str, Any]]:
    """Consecutive quarter-hours of the same power as one row: `start`, `end` exclusive, kW."""
    quarter, rows = timedelta(minutes=15), list[dict[str, Any]]()
    for point in points:
        if rows and rows[-1]["end"] == point.time and rows[-1]["power"] == point.power:
            rows[-1]["end"] = point.time + quarter
        else:
            rows.append({"start": point.time, "end": point.time + quarter, "power": point.power})
    return rows
