"""Logbook entries as they cross the wire."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from gridloom.platform.http import FigureView, Instant, Name, PagedWindow, RequestBody, ResponseBody, Text

EntryType = Annotated[str, Meta(min_length=1, max_length=50)]
Tag = Annotated[str, Meta(min_length=1, max_length=50)]


class Impact(StrEnum):
    POSITIVE = "POSITIVE"
    NEUTRAL = "NEUTRAL"
    NEGATIVE = "NEGATIVE"


class EntrySource(StrEnum):
    USER = "USER"
    SYSTEM = "SYSTEM"


class NewLogbookEntry(RequestBody):
    title: Name
    type: EntryType
    start: Instant
    description: Text = ""
    impact: Impact = Impact.NEUTRAL
    end: Instant | None = None
    tags: Annotated[list[Tag], Meta(max_length=50)] = []


class LogbookEntry(ResponseBody):
    """An event of a battery. An entry is never changed; a correction is an entry that names the one it corrects."""

    id: UUID
    title: str
    description: str
    type: str
    impact: Impact
    start: datetime
    end: datetime | None
    tags: list[str]
    author_id: UUID | None
    created_at: datetime
    source: EntrySource
    corrects_id: UUID | None
    figures: list[FigureView] = []


class LogbookQuery(PagedWindow):
    """The latest start first. `start` and `end` ask for entries of which some part lies in that window; of several tags
    an entry must have all; text is found anywhere in title and description, in upper or lower case."""

    type: Annotated[str, Meta(min_length=1, max_length=50)] | None = None
    tag: tuple[Tag, ...] | None = None
    text: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    source: EntrySource | None = None
    impact: Impact | None = None


class EntryCursor(Struct, array_like=True):
    """Where a page of entries ends."""

    start: Instant
    sequence: Annotated[int, Meta(ge=0, lt=2**62)]
