"""Everything that happens, as it happens: as a stream, or sent to an address of yours, signed."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Sequence

from gridloom_client.answers import Delivery, Webhook, WebhookWithSecret
from gridloom_client.literals import DeliveryState, WebhookFormat
from gridloom_client.operations import M, Resource, collection, operation, stream
from gridloom_client.streams import Event
from gridloom_client.wire import ID, UNSET, UnsetType


class Events(Resource[M]):
    """Events that the caller may read."""

    @stream("/events")
    def follow(
        self,
        *,
        types: Sequence[str] | None = None,
        subjects: Sequence[str] | None = None,
        last_event_id: str | None = None,
    ) -> Event:
        """Events as they happen, until you stop; after `last_event_id`, if given. A lost connection is resumed."""


class Webhooks(Resource[M]):
    """At least once, with Standard Webhooks signatures."""

    @collection("/webhooks")
    def list(self, *, page_size: int | None = None) -> Webhook: ...

    @operation("POST", "/webhooks")
    def create(
        self,
        *,
        url: str,
        types: Sequence[str],
        description: str | None = None,
        format: WebhookFormat | None = None,
    ) -> WebhookWithSecret:
        """The secret to check signatures with is in this answer."""

    @operation("GET", "/webhooks/{webhookID}")
    def get(self, webhook_id: ID) -> Webhook: ...

    @operation("PATCH", "/webhooks/{webhookID}")
    def update(
        self,
        webhook_id: ID,
        *,
        url: str | UnsetType = UNSET,
        types: Sequence[str] | UnsetType = UNSET,
        description: str | UnsetType | None = UNSET,
        enabled: bool | UnsetType = UNSET,
        format: WebhookFormat | UnsetType = UNSET,
        if_match: str | None = None,
    ) -> Webhook: ...

    @operation("DELETE", "/webhooks/{webhookID}")
    def delete(self, webhook_id: ID, *, if_match: str | None = None) -> None: ...

    @operation("POST", "/webhooks/{webhookID}/secret")
    def rotate_secret(self, webhook_id: ID, *, overlap_seconds: int | None = None) -> WebhookWithSecret:
        """A new secret; the old one stays valid for the overlap."""

    @collection("/webhooks/{webhookID}/deliveries")
    def deliveries(
        self, webhook_id: ID, *, state: DeliveryState | None = None, page_size: int | None = None
    ) -> Delivery: ...

    @operation("POST", "/webhooks/{webhookID}/deliveries/{deliveryID}/replay")
    def replay(self, webhook_id: ID, delivery_id: ID) -> Delivery: ...
