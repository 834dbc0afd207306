"""Webhooks over HTTP: create them, change them, list their deliveries, repeat one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

import msgspec
from msgspec import UNSET

from gridloom.kernel.entity_tag import entity_tag
from gridloom.kernel.ids import uuid7
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import BadRequest, Conflict, FieldError, Forbidden, NotFound
from gridloom.platform.database.sealing import Sealing
from gridloom.platform.events.types import EVENT_TYPES
from gridloom.platform.http import Page, Paging, Request, Response, given_fields, operation
from gridloom.platform.outbound.url_policy import AddressNotAllowed, UrlPolicy
from gridloom.platform.webhooks import store
from gridloom.platform.webhooks.model import (
    Delivery,
    DeliveryState,
    NewWebhook,
    SecretRotation,
    Webhook,
    WebhookChange,
    WebhookWithSecret,
)
from gridloom.platform.webhooks.rules import MAX_DELIVERY_AGE
from gridloom.platform.webhooks.signing import new_secret, shown

TAG = "Events"
ACCESS = Permission.MANAGE_ORGANISATION
MAX_WEBHOOKS = 100


class TooManyWebhooks(Conflict, title="The organisation has as many webhooks as it can have"):
    """An organisation has at most a hundred webhooks. Remove one, or let one address take more types."""


class WebhookDisabled(Conflict, title="The webhook is disabled"):
    """A disabled webhook gets no calls, so nothing can be replayed to it. Enable it first."""


class DeliveryQuery(Paging):
    state: DeliveryState | None = None


@operation(
    "POST",
    "/webhooks",
    summary="Have an address called for each event",
    access=ACCESS,
    status=201,
    secret_response=True,
    problems=(AddressNotAllowed, TooManyWebhooks),
)
async def create_webhook(request: Request, body: NewWebhook) -> Response[WebhookWithSecret]:
    """Calls begin with what happens next. The answer shows, this once, the secret with which calls are signed (Standard
    Webhooks). The webhook gets what the caller may read now, as far as the organisation may still read it at the
    time of
    each event."""
    _check_types(body.types)
    request.resources[UrlPolicy].check_url(body.url)
    organisation_id = request.caller.organisation_id
    await store.lock_count(request.db, organisation_id)
    if await store.count(request.db, organisation_id) >= MAX_WEBHOOKS:
        raise TooManyWebhooks(f"There are {MAX_WEBHOOKS} webhooks already.")
    secret = new_secret()
    stored = await store.insert(
        request.db,
        webhook_id=uuid7(),
        organisation_id=organisation_id,
        url=body.url,
        types=_drop_repeated_types(body.types),
        description=body.description,
        format=body.format,
        maker=_maker_of(request),
        secret=request.resources[Sealing].webhooks.close(secret),
    )
    request.audit_details["webhookID"] = str(stored.webhook.id)
    return Response(_with_secret(stored.webhook, secret), etag=_make_etag(stored))


@operation("GET", "/webhooks", summary="List the organisation's webhooks", access=ACCESS)
async def list_webhooks(request: Request, query: Paging) -> Page[Webhook]:
    """The oldest first."""
    after = query.after(UUID)
    rows = await store.page(request.db, request.caller.organisation_id, after, query.limit + 1)
    return query.page(rows, lambda webhook: webhook.id)


@operation("GET", "/webhooks/{webhookID}", summary="Read a webhook", access=ACCESS, problems=(NotFound,))
async def read_webhook(request: Request, webhook_id: UUID) -> Response[Webhook]:
    """Without its secret, which is shown once when it is created."""
    stored = await _read_existing_webhook(request, webhook_id)
    return Response(stored.webhook, etag=_make_etag(stored))


@operation(
    "PATCH",
    "/webhooks/{webhookID}",
    summary="Change a webhook",
    access=ACCESS,
    problems=(NotFound, Forbidden, AddressNotAllowed),
)
async def update_webhook(request: Request, webhook_id: UUID, body: WebhookChange) -> Response[Webhook]:
    """Fields that are left out stay. A disabled webhook keeps its position; enabled again, it goes on from there.

    Where a webhook leads, which types it takes and that it starts again is for a caller with every permission by which
    it delivers; from then on it delivers what that caller may read.
    """
    stored = await _read_existing_webhook(request, webhook_id, to_change=True)
    request.check_if_match(_make_etag(stored))
    changes = given_fields(body)
    if body.types is not UNSET:
        _check_types(body.types)
        changes["types"] = _drop_repeated_types(body.types)
    if body.url is not UNSET:
        request.resources[UrlPolicy].check_url(body.url)
    before = stored.webhook
    redirects = body.url is not UNSET or body.types is not UNSET or (body.enabled is True and not before.enabled)
    if redirects:
        _reject_lesser(request, stored)
    changed = msgspec.structs.replace(before, **changes)
    stored = await store.update(request.db, changed)
    if redirects:
        await store.change_creator(request.db, before.organisation_id, webhook_id, _maker_of(request))
    if changed.enabled and not before.enabled:
        await store.resume(request.db, before.organisation_id, webhook_id, MAX_DELIVERY_AGE)
    return Response(stored.webhook, etag=_make_etag(stored))


@operation("DELETE", "/webhooks/{webhookID}", summary="Remove a webhook", access=ACCESS, problems=(NotFound,))
async def delete_webhook(request: Request, webhook_id: UUID) -> None:
    """Its log of deliveries goes with it."""
    stored = await _read_existing_webhook(request, webhook_id, to_change=True)
    request.check_if_match(_make_etag(stored))
    await store.delete(request.db, request.caller.organisation_id, webhook_id)


@operation(
    "POST",
    "/webhooks/{webhookID}/secret",
    summary="Give a webhook a new secret",
    access=ACCESS,
    secret_response=True,
    problems=(NotFound,),
)
async def rotate_webhook_secret(
    request: Request, webhook_id: UUID, body: SecretRotation
) -> Response[WebhookWithSecret]:
    """Shown this once. While the overlap lasts, calls carry signatures with both secrets, so that the receiver can
    change over
    without losing a call."""
    _reject_lesser(request, await _read_existing_webhook(request, webhook_id))
    secret = new_secret()
    stored = await store.rotate_secret(
        request.db,
        request.caller.organisation_id,
        webhook_id,
        request.resources[Sealing].webhooks.close(secret),
        timedelta(seconds=body.overlap_seconds),
    )
    if stored is None:
        raise _miss_webhook(webhook_id)
    return Response(_with_secret(stored.webhook, secret), etag=_make_etag(stored))


@operation(
    "GET",
    "/webhooks/{webhookID}/deliveries",
    summary="Read what was sent to a webhook and what it answered",
    access=ACCESS,
    problems=(NotFound,),
    replica_read=True,
)
async def list_webhook_deliveries(request: Request, webhook_id: UUID, query: DeliveryQuery) -> Page[Delivery]:
    """The newest first, each with its attempts, as far as the caller may read the events; kept for 30 days."""
    await _read_existing_webhook(request, webhook_id)
    rows = await store.page_of_deliveries(
        request.db,
        request.caller.organisation_id,
        webhook_id,
        state=query.state,
        before=query.after(UUID),
        most=query.limit + 1,
        permissions=request.caller.permissions,
    )
    return query.page(rows, lambda delivery: delivery.id)


@operation(
    "POST",
    "/webhooks/{webhookID}/deliveries/{deliveryID}/replay",
    summary="Send an event to a webhook again",
    access=ACCESS,
    status=201,
    location="/webhooks/{webhookID}/deliveries",
    problems=(NotFound, Forbidden, WebhookDisabled),
)
async def replay_webhook_delivery(request: Request, webhook_id: UUID, delivery_id: UUID) -> Delivery:
    """Makes a new delivery of the same event, with the same body and `webhook-id`, at once."""
    stored = await _read_existing_webhook(request, webhook_id)
    if not stored.webhook.enabled:
        raise WebhookDisabled(f"The webhook {webhook_id} is disabled.")
    organisation_id = request.caller.organisation_id
    found = await store.permission_of_delivery(request.db, organisation_id, webhook_id, delivery_id)
    if found is None:
        raise NotFound(f"There is no delivery {delivery_id} of this webhook.")
    permission, is_open = found
    if not is_open or permission not in request.caller.permissions:
        raise Forbidden("The event of this delivery is not yours to read.")
    return await store.insert_replay(request.db, organisation_id, delivery_id, uuid7(), MAX_DELIVERY_AGE)


def _maker_of(request: Request) -> store.WebhookCreator:
    return store.WebhookCreator(request.caller.kind, request.caller.id, request.caller.permissions)


def _reject_lesser(request: Request, stored: store.StoredWebhook) -> None:
    """A caller with fewer permissions than the webhook has could otherwise redirect its deliveries."""
    missing = sorted(stored.permissions - request.caller.permissions)
    if missing:
        raise Forbidden(f"The webhook delivers what {', '.join(missing)} lets read, which you do not have.")


async def _read_existing_webhook(request: Request, webhook_id: UUID, *, to_change: bool = False) -> store.StoredWebhook:
    stored = await store.read(request.db, request.caller.organisation_id, webhook_id, to_change=to_change)
    if stored is None:
        raise _miss_webhook(webhook_id)
    return stored


def _miss_webhook(webhook_id: UUID) -> NotFound:
    """Another organisation's webhook is as unknown as one that never was."""
    return NotFound(f"Your organisation has no webhook {webhook_id}.")


def _check_types(types: list[str]) -> None:
    faults = [
        FieldError(f"/types/{index}", "is not a type of events")
        for index, type in enumerate(types)
        if type not in EVENT_TYPES
    ]
    if faults:
        raise BadRequest(f"There is no event type {types[int(faults[0].pointer.rsplit('/', 1)[1])]}.", errors=faults)


def _drop_repeated_types(types: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(types))


def _make_etag(stored: store.StoredWebhook) -> str:
    return entity_tag(stored.version, stored.webhook.id)


def _with_secret(webhook: Webhook, secret: bytes) -> WebhookWithSecret:
    return WebhookWithSecret(**msgspec.structs.asdict(webhook), secret=shown(secret))
