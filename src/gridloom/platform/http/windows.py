"""The windows that reads ask for: how long they may be, and how much a read of one costs."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from gridloom.kernel.problem import Unprocessable
from gridloom.platform.http.fields import QueryParameters
from gridloom.platform.http.paging import Paging

MAX_WINDOW: Final = timedelta(days=1098)
MAX_DAILY_WINDOW: Final = timedelta(days=3660)
DEFAULT_WINDOW: Final = timedelta(days=3)
"""About the window of reads that name none."""
_ROWS_PER_DAY: Final = {"daily": 1, "hourly": 24, "15-minute": 96, "raw": 1440}
_QUARTER_HOURS: Final = 96


class WindowTooLong(Unprocessable, title="The window is too long"):
    """A window is at most 1,098 days long, and 3,660 where the answer has one value a day. Ask for several."""


def has_window(query: type[QueryParameters] | None) -> bool:
    """Whether these parameters name a window that is answered as a whole. A page is limited by its rows instead."""
    return query is not None and not issubclass(query, Paging) and {"start", "end"} <= set(query.__struct_fields__)


def check_window(query: QueryParameters) -> None:
    """Refuse a window that is too long."""
    if not has_window(type(query)):
        return
    start, end = _ends_of(query)
    if start is not None and end is not None:
        longest = MAX_DAILY_WINDOW if _resolution_of(query) == "daily" else MAX_WINDOW
        check_length(start, end, longest, "query:end")


def check_length(start: datetime, end: datetime, longest: timedelta, pointer: str) -> None:
    if end - start > longest:
        raise WindowTooLong.at(
            pointer, f"The window is longer than {longest.days} days.", f"is more than {longest.days} days from start"
        )


def estimate_values(query: QueryParameters, columns: int) -> int:
    """About how many values the answer has: the rows of its window times its columns, those that the query names or
    else `columns`."""
    start, end = _ends_of(query)
    window = end - start if start is not None and end is not None else DEFAULT_WINDOW
    rows_per_day = _ROWS_PER_DAY.get(_resolution_of(query) or "", _QUARTER_HOURS)
    named = getattr(query, "datapoints", None) or getattr(query, "categories", None)
    return int(max(window / timedelta(days=1), 0) * rows_per_day * (len(named) if named else columns))


def _ends_of(query: Any) -> tuple[datetime | None, datetime | None]:
    return getattr(query, "start", None), getattr(query, "end", None)


def _resolution_of(query: Any) -> str | None:
    resolution = getattr(query, "resolution", None)
    return None if resolution is None else str(getattr(resolution, "value", resolution))
