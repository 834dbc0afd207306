"""Everything that happens, as it happens: as a stream, or sent to an address of yours, signed."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Sequence

from gridloom_client.answers import Delivery, Webhook, WebhookWithSecret
from gridloom_client.literals import DeliveryState, WebhookFormat
from gridloom_client.operations import M, Resource, collection, operation, stream
from gridloom_client.response_types import Event
from gridloom_client.streams import read_sent_event
from gridloom_client.wire import ID, UNSET, UnsetType


class Events(Resource[M]):
    """Events that the caller may read."""

    @stream("/events", read=read_sent_event)
    def follow(
        self,
        *,
        types: Sequence[str] | None = None,
        subjects: Sequence[str] | None = None,
        last_event_id: str | None = None,
    ) -> Event:
        """Follow what happens, as server-sent events.

        Every event of the caller's organisation that the caller may read, each once and in order. `id` is the event's
        position in that order. A client that comes back with `Last-Event-ID` misses none and gets none twice. Without
        it the stream starts with what happens next; with `0` it starts with the oldest event that is stored (30 days).
        A comment or a bare `id` follows what was stored, and comes every 15 seconds without an event. The stream ends
        when the token does. With `Accept: application/cloudevents+json` the data of each event is a CloudEvent (1.0.2,
        structured JSON); the answer is a `text/event-stream` all the same.

        Args:
            types: Only events of these types, separated by commas; all when left out
            subjects: Only events of these resources, separated by commas
            last_event_id: Where to go on: the `place` of the last event that was received

        Note:
            Events as they happen, until you stop; after `last_event_id`, if given. A lost connection is resumed.

            Each is of the class of its type in `gridloom_client.events`.
        """


class Webhooks(Resource[M]):
    """At least once, with Standard Webhooks signatures."""

    @collection("/webhooks")
    def list(self, *, page_size: int | None = None) -> Webhook:
        """List the organisation's webhooks.

        The oldest first.

        Args:
            page_size: How many items are fetched at a time
        """

    @operation("POST", "/webhooks")
    def create(
        self,
        *,
        url: str,
        types: Sequence[str],
        description: str | None = None,
        format: WebhookFormat | None = None,
    ) -> WebhookWithSecret:
        """Have an address called for each event.

        Calls begin with what happens next. The answer shows, this once, the secret with which calls are signed
        (Standard Webhooks). The webhook gets what the caller may read now, as far as the organisation may still read it
        at the time of each event.

        Args:
            url: Address that gets the calls: https, public; in the sandbox also http and this machine
            types: Types of events to send; an empty list means every type
            description: Description in words
            format: Format of the events: the platform's own, or CloudEvents 1.0.2 in structured JSON

        Note:
            The secret to check signatures with is in this answer.

        Example:
            client.webhooks.create(url="https://example.org/hook", types=['auction.cleared'])
        """

    @operation("GET", "/webhooks/{webhookID}")
    def get(self, webhook_id: ID) -> Webhook:
        """Read a webhook.

        Without its secret, which is shown once when it is created.

        Args:
            webhook_id: The webhook
        """

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
    ) -> Webhook:
        """Change a webhook.

        Fields that are left out stay. A disabled webhook keeps its position; enabled again, it goes on from there.
        Where a webhook leads, which types it takes and that it starts again is for a caller with every permission by
        which it delivers; from then on it delivers what that caller may read.

        Args:
            webhook_id: The webhook
            url: Address that gets the calls: https, public; in the sandbox also http and this machine
            types: Types of events to send; an empty list means every type
            description: Description in words
            enabled: Whether calls are made
            format: Format from the next event on; a delivery that waits keeps its own
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
        """

    @operation("DELETE", "/webhooks/{webhookID}")
    def delete(self, webhook_id: ID, *, if_match: str | None = None) -> None:
        """Remove a webhook.

        Its log of deliveries goes with it.

        Args:
            webhook_id: The webhook
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
        """

    @operation("POST", "/webhooks/{webhookID}/secret")
    def rotate_secret(self, webhook_id: ID, *, overlap_seconds: int | None = None) -> WebhookWithSecret:
        """Give a webhook a new secret.

        Shown this once. While the overlap lasts, calls carry signatures with both secrets, so that the receiver can
        change over without losing a call.

        Args:
            webhook_id: The webhook
            overlap_seconds: Seconds for which calls are also signed with the old secret
        """

    @collection("/webhooks/{webhookID}/deliveries")
    def deliveries(
        self, webhook_id: ID, *, state: DeliveryState | None = None, page_size: int | None = None
    ) -> Delivery:
        """Read what was sent to a webhook and what it answered.

        The newest first, each with its attempts, as far as the caller may read the events; kept for 30 days.

        Args:
            webhook_id: The webhook
            state: Only deliveries of this state
            page_size: How many items are fetched at a time
        """

    @operation("POST", "/webhooks/{webhookID}/deliveries/{deliveryID}/replay")
    def replay(self, webhook_id: ID, delivery_id: ID) -> Delivery:
        """Send an event to a webhook again.

        Makes a new delivery of the same event, with the same body and `webhook-id`, at once.

        Args:
            webhook_id: The webhook
            delivery_id: The delivery
        """
