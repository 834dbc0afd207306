"""Feeds as the operator sees them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta

from gridloom.feeds.model import FeedName, FeedRunStatus, SeriesStatus
from gridloom.platform.http import Instant, RequestBody, ResponseBody


class FeedSeries(ResponseBody):
    """A series as one feed has it."""

    series: str
    source: str | None
    complete_until: datetime | None
    last_period: datetime | None
    first_seen_at: datetime | None
    status: SeriesStatus
    next_at: datetime | None
    detail: str | None = None


class FeedView(ResponseBody):
    name: FeedName
    enabled: bool
    configured: bool
    series: list[FeedSeries]


class FeedSwitch(RequestBody):
    enabled: bool


class NewFeedRun(RequestBody):
    """Without a window: what could be new now."""

    start: Instant | None = None
    end: Instant | None = None


class FeedRunView(ResponseBody):
    """One look at a source, or a window that is filled."""

    id: UUID
    at: datetime
    status: FeedRunStatus
    asked: str
    start: datetime
    end: datetime
    by_hand: bool
    http_status: int | None
    rows_new: int
    rows_changed: int
    bytes: int
    seconds: float
    fault: str | None
    progress: Annotated[float, Meta(ge=0, le=1)]
