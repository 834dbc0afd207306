"""The window that a read of a series asks for."""

from __future__ import annotations

from datetime import datetime, timedelta

from gridloom.kernel.problem import BadRequest
from gridloom.kernel.window import Window
from gridloom.platform.database.clock import platform_now_to_the_ms
from gridloom.platform.database.pool import Database
from gridloom.platform.http import Instant, QueryParameters
from gridloom.platform.http.windows import MAX_WINDOW, check_length

DEFAULT_BACK = timedelta(hours=24)
DEFAULT_AHEAD = timedelta(hours=48)


class WindowQuery(QueryParameters):
    """Left out, the window reaches from 24 hours ago to 48 hours ahead."""

    start: Instant | None = None
    end: Instant | None = None


async def requested_window(db: Database, query: WindowQuery) -> Window:
    """The window of a query, its missing ends set around now; three years at most."""
    start, end = query.start, query.end
    if start is None or end is None:
        now = await platform_now_to_the_ms(db)
        start, end = start or min(now, end or now) - DEFAULT_BACK, end or max(now, start or now) + DEFAULT_AHEAD
    return validated_window(start, end, "query:end")


def check_order(start: datetime | None, end: datetime | None) -> None:
    """Of a filter, which may leave either end open."""
    if start is not None and end is not None and start >= end:
        raise BadRequest.at("query:end", "The window ends before it starts.", "is not after the start")


def validated_window(start: datetime, end: datetime, end_pointer: str) -> Window:
    if start >= end:
        raise BadRequest.at(end_pointer, "The window ends before it starts.", "is not after the start")
    check_length(start, end, MAX_WINDOW, end_pointer)
    return Window(start, end)
