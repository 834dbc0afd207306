"""Exchange notifications over HTTP."""

from __future__ import annotations

from uuid import UUID

from msgspec import UNSET

from gridloom.capacity.store import lock_batteries
from gridloom.exchange_notifications import documents, rules, store
from gridloom.exchange_notifications.message import DocumentReceiver, EventStatus
from gridloom.exchange_notifications.model import (
    DocumentFormat,
    DocumentQuery,
    ExchangeNotification,
    IntervalView,
    NewNotification,
    NotificationsQuery,
    Revision,
    VersionQuery,
)
from gridloom.exchange_notifications.publishing import apply_revision, compose, publish
from gridloom.exchange_notifications.rules import (
    AssetEicMissing,
    CapacityMismatch,
    IntervalsDoNotCoverEvent,
    MessageIdTaken,
    NotificationClosed,
    RemarksTooLong,
    UnknownUnavailabilities,
)
from gridloom.kernel.entity_tag import entity_tag
from gridloom.kernel.ids import uuid7
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import NotFound
from gridloom.physical_assets.rules import InvalidCode
from gridloom.physical_assets.window_query import check_order
from gridloom.platform.http import XML, Content, Page, Request, Response, operation
from gridloom.platform.http.fields import view_of
from gridloom.platform.identity.authorization import PHYSICAL_ASSET, authorize_asset

TAG = "Exchange notifications"
READ = Permission.READ_PHYSICAL_ASSETS
CREATE = Permission.CREATE_EXCHANGE_NOTIFICATIONS
PROBLEMS = (
    CapacityMismatch,
    IntervalsDoNotCoverEvent,
    AssetEicMissing,
    RemarksTooLong,
    UnknownUnavailabilities,
    InvalidCode,
)


@operation(
    "POST",
    PHYSICAL_ASSET + "/exchange-notifications",
    summary="Publish a market message",
    access=CREATE,
    status=201,
    problems=(*PROBLEMS, MessageIdTaken),
)
async def publish_notification(
    request: Request, physical_asset_id: UUID, body: NewNotification
) -> Response[ExchangeNotification]:
    """A REMIT urgent market message in its first version. Capacities are kW; instants are rounded to whole minutes.

    Without `capacityIntervals` the same capacity is missing over the whole event; with them, they follow each other
    from its start to its end.
    """
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, CREATE)
    await lock_batteries(request.db, [authorized.key])
    notification_id = uuid7()
    message_id = notification_id.hex if body.message_id is UNSET else body.message_id
    new = await compose(request.db, authorized.key, notification_id, message_id, 1, EventStatus.ACTIVE, body)
    if not await store.insert_notification(request.db, authorized.key, notification_id, message_id):
        raise MessageIdTaken.at("/messageID", f"The asset has another notification with the message id {message_id}.")
    await publish(request.db, authorized, physical_asset_id, new, request.caller.id)
    return Response(_show_notification(physical_asset_id, new), etag=_make_etag(new))


@operation(
    "GET", PHYSICAL_ASSET + "/exchange-notifications", summary="List market messages", access=READ, replica_read=True
)
async def list_notifications(
    request: Request, physical_asset_id: UUID, query: NotificationsQuery
) -> Page[ExchangeNotification]:
    """The newest first, each in its latest version."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    check_order(query.start, query.end)
    rows = await store.list_notifications(request.db, authorized.key, query, query.after(UUID), query.limit + 1)
    page = query.page(rows, lambda row: row.id)
    return Page([_show_notification(physical_asset_id, row) for row in page.items], page.next_cursor)


@operation(
    "GET", PHYSICAL_ASSET + "/exchange-notifications/{notificationID}", summary="Read a market message", access=READ
)
async def read_notification(
    request: Request, physical_asset_id: UUID, notification_id: UUID, query: VersionQuery
) -> Response[ExchangeNotification]:
    """In its latest version, or in the one asked for."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    stored = await _require_notification(request, authorized.key, notification_id, query.version)
    return Response(_show_notification(physical_asset_id, stored), etag=_make_etag(stored))


@operation(
    "POST",
    PHYSICAL_ASSET + "/exchange-notifications/{notificationID}/revisions",
    summary="Revise a market message",
    access=CREATE,
    status=201,
    location=PHYSICAL_ASSET + "/exchange-notifications/{id}",
    problems=(*PROBLEMS, NotificationClosed),
)
async def revise_notification(
    request: Request, physical_asset_id: UUID, notification_id: UUID, body: Revision
) -> Response[ExchangeNotification]:
    """Adds a version and dismisses the one before. What is left out is as it was in that one."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, CREATE)
    await lock_batteries(request.db, [authorized.key])
    before = await _require_notification(request, authorized.key, notification_id)
    request.check_if_match(_make_etag(before))
    if before.message.event_status is not EventStatus.ACTIVE:
        raise NotificationClosed(f"Version {before.message.version} of the message is {before.message.event_status}.")
    if before.message.version == rules.MAX_VERSIONS:
        raise NotificationClosed(f"The message has {rules.MAX_VERSIONS} versions, more than documents can count.")
    new = await compose(
        request.db,
        authorized.key,
        notification_id,
        before.message.message_id,
        before.message.version + 1,
        body.event_status,
        apply_revision(before, body),
    )
    await publish(request.db, authorized, physical_asset_id, new, request.caller.id)
    return Response(_show_notification(physical_asset_id, new), etag=_make_etag(new))


@operation(
    "GET",
    PHYSICAL_ASSET + "/exchange-notifications/{notificationID}/document",
    summary="Read a market message as a document",
    access=READ,
    produces=(XML,),
)
async def read_notification_document(
    request: Request, physical_asset_id: UUID, notification_id: UUID, query: DocumentQuery
) -> Content:
    """`format=acer-umm` gives ACER's UMM, `format=entsoe` the unavailability document of ENTSO-E (A77 or A80).

    The latter's sender is the `marketParticipantEic` of the asset's `market` metadata, as it was when the version was
    published.
    """
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    stored = await _require_notification(request, authorized.key, notification_id, query.version)
    if query.format is DocumentFormat.ACER_UMM:
        document = documents.acer_umm(stored.message)
    else:
        document = documents.entsoe_unavailability(stored.message, request.resources[DocumentReceiver].eic)
    name = f"{stored.message.message_id}_{stored.message.version:03}-{query.format}.xml"
    return Content(document, XML, headers={"Content-Disposition": f'attachment; filename="{name}"'})


async def _require_notification(
    request: Request, asset_key: int, notification_id: UUID, version: int | None = None
) -> store.StoredNotification:
    stored = await store.read_notification(request.db, asset_key, notification_id, version)
    if stored is None:
        which = "" if version is None else f" in version {version}"
        raise NotFound(f"The asset has no exchange notification {notification_id}{which}.")
    return stored


def _make_etag(stored: store.StoredNotification) -> str:
    """A version is dismissed by the next one, and unavailabilities come and go from their own side."""
    return entity_tag(stored.message.version, str(stored.message.event_status), *stored.unavailability_ids)


def _show_notification(asset_id: UUID, stored: store.StoredNotification) -> ExchangeNotification:
    message = stored.message
    return view_of(
        ExchangeNotification,
        message,
        id=stored.id,
        physical_asset_id=asset_id,
        available_capacity=stored.available_capacity_kw,
        unavailable_capacity=stored.unavailable_capacity_kw,
        capacity_intervals=[view_of(IntervalView, interval) for interval in message.intervals],
        event_start=message.start,
        event_end=message.end,
        unavailability_ids=stored.unavailability_ids,
    )
