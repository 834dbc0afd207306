"""Spans of market time as people give them: a day, a start and an end, or nothing."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from gridloom_client.commands.terminal.ending import Misunderstood
from gridloom_client.commands.terminal.rendering import MARKET_ZONE

_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}


def read_moment(moment: datetime) -> datetime:
    """What was typed without an offset is market time."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=MARKET_ZONE)).astimezone(UTC)


def market_day(day: date) -> tuple[datetime, datetime]:
    """A calendar day in Berlin, which has 23, 24 or 25 hours."""
    midnight = datetime.combine(day, time(), MARKET_ZONE)
    return midnight.astimezone(UTC), datetime.combine(day + timedelta(days=1), time(), MARKET_ZONE).astimezone(UTC)


def today(now: datetime) -> date:
    return now.astimezone(MARKET_ZONE).date()


def read_day(text: str, now: datetime) -> date:
    """A date, or yesterday, today or tomorrow on the service's clock."""
    if text.lower() in _DAYS:
        return today(now) + timedelta(days=_DAYS[text.lower()])
    for form in ("%Y-%m-%d", "%d.%m.%Y"):
        try:
            return datetime.strptime(text, form).date()  # noqa: DTZ007
        except ValueError:
            continue
    raise Misunderstood(f"{text} is no day; expected one such as 2026-11-16, today or tomorrow.")


def choose_day(
    day: str | None, now: datetime, life: tuple[datetime, datetime] | None = None, *, days_ahead: int = 0
) -> date:
    """The day that was asked for, else today or some days ahead, or where that is outside of a life its nearest day."""
    if day is not None:
        return read_day(day, now)
    wanted = today(now) + timedelta(days=days_ahead)
    if life is None:
        return wanted
    return min(max(wanted, today(life[0])), today(life[1] - timedelta(seconds=1)))


def past_window(start: datetime | None, end: datetime | None, now: datetime, days: int) -> tuple[datetime, datetime]:
    """What was asked for, else so many market days up to and with today."""
    last = read_moment(end) if end else market_day(today(now))[1]
    first = (
        read_moment(start) if start else market_day(today(last - timedelta(seconds=1)) - timedelta(days=days - 1))[0]
    )
    if first >= last:
        raise Misunderstood("The start lies after the end.")
    return first, last
