"""Times and powers as spreadsheets write them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gridloom_client.commands.terminal.ending import Misunderstood
from gridloom_client.commands.terminal.rendering import MARKET_ZONE

if TYPE_CHECKING:
    from gridloom_client.inputs import Point

_FORMS = ("ISO", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d/%m/%Y %H:%M")
_MAX_ERRORS_LISTED = 10


def read_points(text: str, factor: float = 1.0) -> list[Point]:
    """All points in the order of time, or every line at fault; a decimal comma is one where commas do not separate."""
    separator = next((mark for mark in ("\t", ";", ",") if mark in text), ",")
    points: dict[datetime, Point] = {}
    faults: list[str] = []
    for number, row in enumerate(csv.reader(io.StringIO(text), delimiter=separator), start=1):
        cells = [cell.strip() for cell in row if cell.strip()]
        if not cells or (number == 1 and not cells[0][:1].isdigit()):
            continue
        try:
            point = _read_point(cells, separator, factor)
            if point.time in points:
                raise Misunderstood(f"{cells[0]} stands there twice; in autumn say the offset, as in +02:00")
            points[point.time] = point
        except Misunderstood as fault:
            faults.append(f"line {number}: {fault}")
    if faults:
        more = f"; and {len(faults) - _MAX_ERRORS_LISTED} more" if len(faults) > _MAX_ERRORS_LISTED else ""
        raise Misunderstood(f"The table cannot be read: {'; '.join(faults[:_MAX_ERRORS_LISTED])}{more}.")
    if not points:
        raise Misunderstood("There is no time and power in it: two columns are expected, time and power.")
    return [points[time] for time in sorted(points)]


def _read_point(cells: Sequence[str], separator: str, factor: float) -> Point:
    from gridloom_client.inputs import Point

    if len(cells) < 2:
        raise Misunderstood("there is no power beside the time")
    return Point(time=_read_time(cells[0]), power=_read_power(cells[1], separator) * factor)


def _read_time(text: str) -> datetime:
    instant = next((found for form in _FORMS if (found := _parse_time(text, form)) is not None), None)
    if instant is None:
        raise Misunderstood(f"{text} is no time such as 2026-11-16T12:00:00+01:00 or 2026-11-16 12:00")
    return (instant if instant.tzinfo else instant.replace(tzinfo=MARKET_ZONE)).astimezone(UTC)


def _parse_time(text: str, form: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if form == "ISO" else datetime.strptime(text, form)  # noqa: DTZ007
    except ValueError:
        return None


def _read_power(text: str, separator: str) -> float:
    plain = text.replace("\u2212", "-").replace(" ", "").replace("\u00a0", "")
    if separator != "," and "," in plain:
        thousands = "," if plain.rfind(".") > plain.rfind(",") else "."
        plain = plain.replace(thousands, "").replace(",", ".")
    try:
        return float(plain)
    except ValueError:
        raise Misunderstood(f"{text} is no power") from None


def changed_points(points: Sequence[Point], stored: Mapping[datetime, float]) -> list[Point]:
    """Those that differ from what is stored."""
    return [point for point in points if abs(stored.get(point.time, 0.0) - point.power) > 1e-6]
