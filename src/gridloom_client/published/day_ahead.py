"""Day-ahead prices: JSON of Energy-Charts (`unix_seconds`, `price`) and SMARD (`series`), or CSV of `start,price`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import msgspec

from gridloom_client.published.prices import MICRO, PublishedFileError, PublishedPrice, wall_clock
from gridloom_client.published.tables import NamedFile, read_rows

SERIES = "DAY_AHEAD_DE_LU"
QUARTER_HOURS_SINCE = wall_clock(date(2025, 10, 1), 0)
"""From here on trades settle at quarter-hourly prices, and the hourly ones that are still published are means."""
_HOUR = timedelta(hours=1)
_STEPS = (timedelta(minutes=15), _HOUR)


def read_day_ahead(path: NamedFile) -> Iterator[PublishedPrice]:
    """Prices by quarter-hour, or by hour as they were until 2025-09-30; hours without a price are left out."""
    points = _csv_points(path) if path.suffix.lower() == ".csv" else _json_points(path)
    starts = [start for start, _ in points]
    for position, (start, price) in enumerate(points):
        if price is not None:
            step = _find_step(path, starts, position)
            if step == _HOUR and start >= QUARTER_HOURS_SINCE:
                raise PublishedFileError(
                    f"{path.name}: {start:%Y-%m-%dT%H:%MZ} is an hourly mean; since 2025-10-01 quarter-hours count."
                )
            yield PublishedPrice(SERIES, start, start + step, Decimal(str(price)).quantize(MICRO))


def _json_points(path: NamedFile) -> list[tuple[datetime, float | None]]:
    try:
        document = msgspec.json.decode(path.read_bytes())
    except (msgspec.DecodeError, UnicodeDecodeError, OSError) as fault:
        raise PublishedFileError(f"{path.name} is not JSON: {fault}.") from None
    return _read_points(path, document)


def _csv_points(path: NamedFile) -> list[tuple[datetime, float | None]]:
    """Rows of `start`, in UTC or with an offset, and `price`; each start once."""
    points: dict[datetime, float | None] = {}
    for row in read_rows(path, "start"):
        try:
            start = datetime.fromisoformat(row.text("start"))
        except ValueError:
            raise PublishedFileError(f"{row.place}: {row.text('start')!r} is not a time.") from None
        if start.tzinfo is None:
            raise PublishedFileError(f"{row.place}: {row.text('start')!r} has no offset from UTC.")
        if start.astimezone(UTC) in points:
            raise PublishedFileError(f"{row.place}: {row.text('start')} stands there twice.")
        points[start.astimezone(UTC)] = None if row.is_missing("price") else float(row.number("price"))
    return sorted(points.items())


def _read_points(path: NamedFile, document: Any) -> list[tuple[datetime, float | None]]:
    try:
        if "unix_seconds" in document:
            unit = document.get("unit", "EUR / MWh").replace(" ", "")
            if unit != "EUR/MWh":
                raise PublishedFileError(f"{path.name} is in {unit}, not in EUR/MWh.")
            pairs = list(zip(document["unix_seconds"], document["price"], strict=True))
        else:
            pairs = [(milliseconds / 1000, price) for milliseconds, price in document["series"]]
        points = [(datetime.fromtimestamp(seconds, tz=UTC), price) for seconds, price in pairs]
    except (TypeError, KeyError, ValueError, OverflowError, OSError):
        raise PublishedFileError(f"{path.name} is neither an Energy-Charts nor a SMARD price file.") from None
    if not all(price is None or isinstance(price, int | float) for _, price in points):
        raise PublishedFileError(f"{path.name} has prices that are no numbers.")
    return sorted(points, key=lambda point: point[0])


def _find_step(path: NamedFile, starts: list[datetime], position: int) -> timedelta:
    """How long a price holds: until the next, or, for the last of a run, as long as the one before."""
    neighbours = starts[max(0, position - 1) : position + 2]
    steps = [after - before for before, after in pairwise(neighbours)]
    for step in reversed(steps):
        if step in _STEPS:
            return step
    raise PublishedFileError(f"{path.name}: {starts[position]:%Y-%m-%dT%H:%MZ} stands alone, so its length is unknown.")
