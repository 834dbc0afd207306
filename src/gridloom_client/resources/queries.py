"""Parameters that several methods share, by name: `**window: Unpack[Window]` takes `start` and `end`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict

from gridloom_client.inputs import Volume
from gridloom_client.literals import (
    BucketResolution,
    LogbookImpact,
    ReportResolution,
    RevenueCategory,
    UnavailabilityKind,
)
from gridloom_client.wire import ID


class Window(TypedDict, total=False):
    """From `start` on, before `end`."""

    start: datetime | None
    end: datetime | None


class PagedWindow(Window, total=False):
    page_size: int | None


class WindowAsOf(Window, total=False):
    """`as_of` gives what was known at that instant."""

    as_of: datetime | None


class PagedWindowAsOf(WindowAsOf, total=False):
    page_size: int | None


class SettlementQuery(PagedWindowAsOf, total=False):
    asset_id: ID | None
    versions: bool | None


class ReportWindow(TypedDict):
    start: datetime
    end: datetime


class ReportQuery(ReportWindow, total=False):
    resolution: ReportResolution | None
    datapoints: Sequence[RevenueCategory] | None
    as_of: datetime | None


class BucketQuery(ReportWindow, total=False):
    resolution: BucketResolution | None
    as_of: datetime | None


class LogbookEvent(TypedDict):
    title: str
    type: str
    start: datetime


class LogbookText(LogbookEvent, total=False):
    description: str | None
    impact: LogbookImpact | None
    end: datetime | None
    tags: Sequence[str] | None


class Missing(TypedDict):
    description: str
    type: UnavailabilityKind
    start: datetime
    end: datetime
    volume: Volume | Mapping[str, Any]


class MissingCapacity(Missing, total=False):
    exchange_notification_ids: Sequence[ID] | None
