"""Market time as the contract tells it, counted anew: quarter-hours since 1970, Berlin's days and four-hour blocks."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

BERLIN = ZoneInfo("Europe/Berlin")
QUARTER = timedelta(minutes=15)
QUARTER_S = 900
BLOCKS = tuple(f"{hour:02}_{hour + 4:02}" for hour in range(0, 24, 4))


def to_text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def from_text(text: str) -> datetime:
    return datetime.fromisoformat(text)


def quarter_of(moment: datetime) -> int:
    """The number of the quarter-hour that a moment lies in."""
    return int(moment.timestamp() // QUARTER_S)


def quarter_after(moment: datetime) -> int:
    """The number of the first quarter-hour that starts at or after a moment."""
    return -int(-moment.timestamp() // QUARTER_S)


@cache
def start_of_quarter(number: int) -> datetime:
    return datetime.fromtimestamp(number * QUARTER_S, UTC)


def berlin_day(moment: datetime) -> date:
    return moment.astimezone(BERLIN).date()


def wall_clock(day: date, hour: int, minute: int = 0) -> datetime:
    """That time of day in Berlin; hour 24 is the next midnight."""
    if hour == 24:
        day, hour = day + timedelta(days=1), 0
    return datetime(day.year, day.month, day.day, hour, minute, tzinfo=BERLIN).astimezone(UTC)


def midnight(day: date) -> datetime:
    return wall_clock(day, 0)


@cache
def day_of_quarter(number: int) -> date:
    """The market day that a quarter-hour lies in."""
    return berlin_day(start_of_quarter(number))


@cache
def quarters_of_day(day: date) -> range:
    """92, 96 or 100 of them."""
    return range(quarter_of(midnight(day)), quarter_of(midnight(day + timedelta(days=1))))


@cache
def block_quarters(day: date, block: str) -> range:
    first, last = (int(part) for part in block.split("_"))
    return range(quarter_of(wall_clock(day, first)), quarter_of(wall_clock(day, last)))


def blocks_within(first: int, end: int) -> list[range]:
    """The four-hour blocks that lie wholly within the quarter-hours [first, end)."""
    days = (
        day_of_quarter(first) + timedelta(days=n) for n in range((day_of_quarter(end) - day_of_quarter(first)).days + 1)
    )
    blocks = (block_quarters(day, name) for day in days for name in BLOCKS)
    return [one for one in blocks if first <= one.start and one.stop <= end]


@cache
def block_of_quarter(quarter: int) -> str:
    """The name of the four-hour block that a quarter-hour lies in."""
    return next(name for name in BLOCKS if quarter in block_quarters(day_of_quarter(quarter), name))


@cache
def product_quarters(day: date, product: str) -> range:
    """What a balancing product of that delivery day covers: `NEGPOS_00_04`, `POS_20_24`, `NEG_017`."""
    _, _, rest = product.partition("_")
    if "_" in rest:
        return block_quarters(day, rest)
    first = quarter_of(midnight(day)) + int(rest) - 1
    return range(first, first + 1)
