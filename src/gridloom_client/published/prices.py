"""A published price, and the market's clock by which it holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from zoneinfo import ZoneInfo

MARKET_ZONE = ZoneInfo("Europe/Berlin")
MICRO = Decimal("0.000001")


class PublishedFileError(ValueError):
    """A file that is not what its name promises: what is wrong, and where."""


@dataclass(frozen=True, slots=True)
class PublishedPrice:
    """EUR/MWh or EUR/MW per hour, positive when paid to the provider, for `[start, end)`."""

    series: str
    start: datetime
    end: datetime
    price: Decimal

    def row(self) -> dict[str, object]:
        return {
            "series": self.series,
            "start": self.start.isoformat(),
            "end": self.end.isoformat(),
            "price": float(self.price),
        }


def wall_clock(day: date, hour: int) -> datetime:
    """An hour of a market day; 24 is the next day's midnight."""
    if hour == 24:
        day, hour = day + timedelta(days=1), 0
    return datetime.combine(day, time(hour), tzinfo=MARKET_ZONE).astimezone(UTC)


def block(day: date, product: str) -> tuple[datetime, datetime]:
    """The window of `NEGPOS_00_04` and its like: three, four or five hours."""
    first, last = product.split("_")[-2:]
    return wall_clock(day, int(first)), wall_clock(day, int(last))


def quarter_hour(day: date, number: int) -> tuple[datetime, datetime]:
    """The window of the day's quarter-hour, counted from 1 to 92, 96 or 100; a ValueError for one beyond."""
    start = wall_clock(day, 0) + (number - 1) * timedelta(minutes=15)
    if not wall_clock(day, 0) <= start < wall_clock(day, 24):
        raise ValueError(f"{day} has no quarter-hour {number}.")
    return start, start + timedelta(minutes=15)


def per_hour(price: Decimal, start: datetime, end: datetime) -> Decimal:
    """A price for a whole block as one for each of its hours, to the millionth."""
    hours = Decimal((end - start) // timedelta(minutes=15)) / 4
    return (price / hours).quantize(MICRO, ROUND_HALF_EVEN)
