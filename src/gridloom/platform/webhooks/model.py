"""Webhooks and deliveries as their organisation sees them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from gridloom.platform.http import RequestBody, ResponseBody

Address = Annotated[str, Meta(min_length=1, max_length=2000)]
TypeList = Annotated[list[str], Meta(max_length=50)]
Description = Annotated[str, Meta(max_length=500)]


class DeliveryState(StrEnum):
    PENDING = "PENDING"
    DELIVERED = "DELIVERED"
    FAILED = "FAILED"


class WebhookFormat(StrEnum):
    GRIDLOOM = "GRIDLOOM"
    CLOUDEVENTS = "CLOUDEVENTS"


class NewWebhook(RequestBody):
    url: Address
    types: TypeList
    description: Description | None = None
    format: WebhookFormat = WebhookFormat.GRIDLOOM


class WebhookChange(RequestBody):
    url: Address | UnsetType = UNSET
    types: TypeList | UnsetType = UNSET
    description: Description | UnsetType | None = UNSET
    enabled: bool | UnsetType = UNSET
    format: WebhookFormat | UnsetType = UNSET


class SecretRotation(RequestBody):
    overlap_seconds: Annotated[int, Meta(ge=0, le=604_800)] = 86_400


class Webhook(ResponseBody):
    id: UUID
    organisation_id: UUID
    url: str
    types: list[str]
    description: str | None
    format: WebhookFormat
    enabled: bool
    disabled_at: datetime | None
    disabled_because: str | None
    previous_secret_expires_at: datetime | None
    created_at: datetime
    updated_at: datetime


class WebhookWithSecret(Webhook):
    secret: str


class Attempt(ResponseBody):
    number: int
    started_at: datetime
    took_milliseconds: int
    url: str
    request_headers: dict[str, str]
    status: int | None
    answer_headers: dict[str, str] | None
    answer_body: str | None
    error: str | None


class Delivery(ResponseBody):
    id: UUID
    webhook_id: UUID
    event_id: UUID
    sequence: int
    type: str
    state: DeliveryState
    created_at: datetime
    next_attempt_at: datetime | None
    ended_at: datetime | None
    replays_id: UUID | None
    request_body: str
    attempts: list[Attempt]
