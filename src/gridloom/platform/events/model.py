"""An event as it is recorded, and as its readers see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from gridloom.platform.http import ResponseBody


class Event(ResponseBody):
    id: UUID
    type: str
    time: datetime
    organisation_id: UUID
    subject: str
    data: dict[str, Any]


def to_cloud_event(event: Event) -> dict[str, Any]:
    """CloudEvents 1.0.2 in structured JSON. `source` and `id` together are unique, as that specification wants."""
    return {
        "specversion": "1.0",
        "id": event.id,
        "source": f"/organisations/{event.organisation_id}",
        "type": event.type,
        "subject": event.subject,
        "time": event.time,
        "datacontenttype": "application/json",
        "data": event.data,
    }


class NewEvent(Struct, frozen=True, kw_only=True):
    """An event that is about to be recorded; see `record_event` for what its fields mean."""

    type: str
    organisation_id: UUID
    subject: str
    permission: str
    data: Mapping[str, Any]
    asset_key: int | None = None


@dataclass(frozen=True, slots=True)
class SequencedEvent:
    """An event at its position in one reader's order."""

    sequence: int
    permission: str
    is_open: bool
    event: Event
    frame: bytes
    """As a server-sent event, made once for all who read it."""
