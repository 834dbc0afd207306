"""An event as it is recorded, and as its readers see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from msgspec import Meta, Struct

from gridloom.edge import ResponseBody


class Event(ResponseBody):
    id: Annotated[UUID, Meta(description="The same for every reader, every attempt and every replay of this event")]
    type: str
    time: Annotated[datetime, Meta(description="When it happened, on the platform's clock")]
    organisation_id: Annotated[UUID, Meta(description="Whom it happened to")]
    subject: Annotated[str, Meta(description="What it is about, as the path of the resource without the leading slash")]
    data: Annotated[dict[str, Any], Meta(description="What the type says of it; see the types of events")]


class NewEvent(Struct, frozen=True, kw_only=True):
    """An event that is about to be recorded; see `record_event` for what its fields mean."""

    type: str
    organisation_id: UUID
    subject: str
    permission: str
    asset_key: int | None
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SequencedEvent:
    """An event at its place in one reader's order."""

    sequence: int
    permission: str
    is_open: bool
    event: Event
    frame: bytes
    """As a server-sent event, made once for all who read it."""
