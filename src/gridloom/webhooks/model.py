"""Webhooks and deliveries as their organisation sees them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from gridloom.edge import RequestBody, ResponseBody

Address = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=2000,
        description="Where to send events: https, to a public address; in the sandbox also http, and this machine",
        examples=["https://example.org/gridloom-events"],
    ),
]
TypeList = Annotated[
    list[Annotated[str, Meta(examples=["bid.placed"])]],
    Meta(max_length=50, description="Which types of events to send; an empty list means every type"),
]
Description = Annotated[str, Meta(max_length=500)]


class DeliveryState(StrEnum):
    PENDING = "PENDING"
    DELIVERED = "DELIVERED"
    FAILED = "FAILED"


class NewWebhook(RequestBody):
    url: Address
    types: TypeList
    description: Description | None = None


class WebhookChange(RequestBody):
    url: Address | UnsetType = UNSET
    types: TypeList | UnsetType = UNSET
    description: Description | UnsetType | None = UNSET
    enabled: bool | UnsetType = UNSET


class SecretRotation(RequestBody):
    overlap_seconds: Annotated[
        int, Meta(ge=0, le=604_800, description="For how long calls carry a signature with the old secret as well")
    ] = 86_400


class Webhook(ResponseBody):
    id: UUID
    organisation_id: UUID
    url: str
    types: list[str]
    description: str | None
    enabled: bool
    disabled_at: datetime | None
    disabled_because: Annotated[str | None, Meta(description="Why the service disabled it; null if a person did")]
    previous_secret_expires_at: datetime | None
    created_at: datetime
    updated_at: datetime


class WebhookWithSecret(Webhook):
    secret: Annotated[
        str, Meta(description="Signs the calls; shown only now", examples=["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"])
    ]


class Attempt(ResponseBody):
    number: int
    started_at: datetime
    took_milliseconds: int
    url: str
    request_headers: dict[str, str]
    status: int | None
    answer_headers: dict[str, str] | None
    answer_body: Annotated[str | None, Meta(description="The beginning of it")]
    error: Annotated[str | None, Meta(description="Why there was no answer")]


class Delivery(ResponseBody):
    id: UUID
    webhook_id: UUID
    event_id: Annotated[UUID, Meta(description="Sent as `webhook-id`; the same in every attempt and replay")]
    sequence: Annotated[int, Meta(description="The event's place in the organisation's order")]
    type: str
    state: DeliveryState
    created_at: datetime
    next_attempt_at: datetime | None
    ended_at: datetime | None
    replays_id: Annotated[UUID | None, Meta(description="The delivery that this one repeats")]
    request_body: str
    attempts: list[Attempt]
