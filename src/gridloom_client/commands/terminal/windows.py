"""Spans of time as people give them: a market day, a start and an end, nothing, or a duration such as 90m."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from time import time as time_s
from typing import TYPE_CHECKING, TypedDict

from gridloom_client.commands.terminal.ending import Misunderstood
from gridloom_client.commands.terminal.rendering import MARKET_ZONE
from gridloom_client.errors import NotFoundError

if TYPE_CHECKING:
    from gridloom_client.client import Client


_TYPED = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?:in)?)?(?:(\d+)s)?", re.IGNORECASE)
_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}


class OpenWindow(TypedDict):
    start: datetime | None
    end: datetime | None


class DayWindow(TypedDict):
    start: datetime
    end: datetime


def read_instant(instant: datetime) -> datetime:
    """A time; without an offset it is market time."""
    return (instant if instant.tzinfo else instant.replace(tzinfo=MARKET_ZONE)).astimezone(UTC)


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
    """The requested window, else so many market days up to and with today."""
    last = read_instant(end) if end else market_day(today(now))[1]
    first = (
        read_instant(start) if start else market_day(today(last - timedelta(seconds=1)) - timedelta(days=days - 1))[0]
    )
    if first >= last:
        raise Misunderstood("The start lies after the end.")
    return first, last


def open_window(start: datetime | None, end: datetime | None) -> OpenWindow:
    """A window of which either side may be left out."""
    return {"start": read_instant(start) if start else None, "end": read_instant(end) if end else None}


def day_window(client: Client, day: str | None) -> DayWindow:
    """A market day as the window of a request; today by the service's clock where none is named."""
    start, end = market_day(choose_day(day, service_time(client)))
    return {"start": start, "end": end}


def iso_duration(text: str) -> str:
    """A duration as the service takes it: 1h, 90m, 1d12h, or ISO 8601's PT1H."""
    if text[:1] in ("P", "p"):
        return text.upper()
    found = _TYPED.fullmatch(text.replace(" ", ""))
    if found is None or not any(found.groups()):
        raise Misunderstood(f"{text} is no span of time; expected one such as 1h, 90m, 1d or PT1H.")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return f"P{days}DT{hours}H{minutes}M{seconds}S"


def service_time(client: Client) -> datetime:
    """The sandbox's clock where there is one; in production this machine's."""
    try:
        return client.sandbox.clock().now
    except NotFoundError:
        return datetime.fromtimestamp(time_s(), UTC)
