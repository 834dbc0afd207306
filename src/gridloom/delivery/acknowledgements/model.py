"""Acknowledgements as they cross the wire."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from gridloom.platform.http import Instant, RequestBody, ResponseBody


class AcknowledgementStatus(StrEnum):
    """The outcome of the dispatch of a quarter-hour at the site."""

    RECEIVED = "RECEIVED"
    APPLIED = "APPLIED"
    REJECTED = "REJECTED"
    NOT_FOLLOWED = "NOT_FOLLOWED"


NEGATIVE_STATUSES = frozenset({AcknowledgementStatus.REJECTED, AcknowledgementStatus.NOT_FOLLOWED})
"""Of dispatch that is not delivered."""


class NewAcknowledgement(RequestBody):
    """`time` is the start of the quarter-hour, `at` when the site did what it says."""

    version: Annotated[int, Meta(ge=1, lt=2**31)]
    time: Instant
    status: AcknowledgementStatus
    at: Instant
    reason: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None


class LatestAcknowledgement(ResponseBody):
    """The last statement of the site about a quarter-hour."""

    version: int
    status: AcknowledgementStatus
    at: datetime
    reason: str | UnsetType = UNSET


class Acknowledgement(LatestAcknowledgement, kw_only=True):
    """A statement of the site about a quarter-hour, and when the platform recorded it."""

    time: datetime
    recorded_at: datetime


class AcknowledgementCursor(Struct, array_like=True):
    """Where a page of acknowledgements ends."""

    period: Annotated[int, Meta(ge=0, lt=2**31)]
    sequence: Annotated[int, Meta(ge=0, lt=2**62)]
