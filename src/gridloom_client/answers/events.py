"""Answers about what happened."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from gridloom_client.answers.answered import Answered, Record


class Event(Answered):
    """`place` is where it stands in the stream: follow on after it with `last_event_id`."""

    id: str
    type: str
    time: datetime
    organisation_id: UUID | None = None
    subject: str | None = None
    data: Record = {}
    place: str = ""


class Webhook(Answered):
    id: UUID
    organisation_id: UUID
    url: str
    types: tuple[str, ...]
    enabled: bool
    created_at: datetime
    updated_at: datetime
    description: str | None = None
    disabled_at: datetime | None = None
    disabled_because: str | None = None
    previous_secret_expires_at: datetime | None = None


class WebhookWithSecret(Answered):
    """The one answer that shows the secret to check signatures with."""

    id: UUID
    organisation_id: UUID
    url: str
    types: tuple[str, ...]
    enabled: bool
    secret: str
    description: str | None = None
    previous_secret_expires_at: datetime | None = None


class Delivery(Answered):
    """One event on its way to a webhook: PENDING, DELIVERED or FAILED."""

    id: UUID
    webhook_id: UUID
    event_id: UUID
    sequence: int
    type: str
    state: str
    created_at: datetime
    attempts: tuple[Record, ...]
    next_attempt_at: datetime | None = None
    ended_at: datetime | None = None
