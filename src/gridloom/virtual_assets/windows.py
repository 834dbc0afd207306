"""Which periods a question is about: what was asked for, or what is shown when nothing was."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from gridloom.kernel.market_time import period_number_from
from gridloom.kernel.problem import BadRequest, FieldError
from gridloom.virtual_assets.rules import MAX_LIFETIME

SHOWN_BEFORE: Final = timedelta(hours=24)
SHOWN_AFTER: Final = timedelta(hours=48)


def requested_periods(start: datetime | None, end: datetime | None, now: datetime) -> tuple[int, int]:
    """The periods that start in the window; −24 h … +48 h around now where a side is left out."""
    start = now - SHOWN_BEFORE if start is None else start
    end = max(now, start) + SHOWN_AFTER if end is None else end
    return periods_between(start, end)


def periods_between(start: datetime, end: datetime) -> tuple[int, int]:
    if start >= end:
        raise BadRequest("A window starts before it ends.", [FieldError("query:end", "Expected a time after start.")])
    if end - start > MAX_LIFETIME:
        raise BadRequest("A window lasts ten years at most.", [FieldError("query:end", "Expected an earlier time.")])
    return period_number_from(start), period_number_from(end)
