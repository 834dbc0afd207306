"""Exchange notifications over HTTP."""

from __future__ import annotations

from uuid import UUID

from msgspec import UNSET, structs

from gridloom.edge import XML, Answer, Call, Content, Page, operation
from gridloom.events.outbox import record_event
from gridloom.exchange_notifications import documents, rules, store
from gridloom.exchange_notifications.message import EventStatus, MarketMessage
from gridloom.exchange_notifications.model import (
    DocumentFormat,
    DocumentQuery,
    ExchangeNotification,
    IntervalView,
    NewCapacityInterval,
    NewNotification,
    NotificationsQuery,
    Revision,
    VersionQuery,
)
from gridloom.exchange_notifications.rules import (
    AssetEicMissing,
    CapacityMismatch,
    IntervalsDoNotCoverEvent,
    MessageIdTaken,
    NotificationClosed,
    UnknownUnavailabilities,
)
from gridloom.identity.reach import Reach, asset_reach
from gridloom.kernel.codes import BIDDING_ZONE_DE_LU_EIC, EicKind
from gridloom.kernel.ids import uuid7
from gridloom.kernel.problem import FieldError, NotFound
from gridloom.physical_assets.rules import InvalidCode, check_eic_code
from gridloom.physical_assets.store import lock_asset

TAG = "Exchange notifications"
READ = "Read:physical-assets"
CREATE = "Create:exchange-notifications"
PROBLEMS = (CapacityMismatch, IntervalsDoNotCoverEvent, AssetEicMissing, UnknownUnavailabilities, InvalidCode)


@operation(
    "POST",
    "/physical-assets/{physicalAssetID}/exchange-notifications",
    summary="Publish a market message",
    tag=TAG,
    access=CREATE,
    status=201,
    problems=(*PROBLEMS, MessageIdTaken),
)
async def publish_notification(
    call: Call, physical_asset_id: UUID, body: NewNotification
) -> Answer[ExchangeNotification]:
    """A REMIT urgent market message in its first version. Capacities are kW; moments are rounded to whole minutes.

    Without `capacityIntervals` the same capacity is missing over the whole event; with them, they follow each other
    from its start to its end.
    """
    reach = await asset_reach(call.db, call.caller, physical_asset_id, CREATE)
    await lock_asset(call.db, reach.key)
    notification_id = uuid7()
    message_id = notification_id.hex if body.message_id is UNSET else body.message_id
    new = await _compose(call, reach.key, notification_id, message_id, 1, EventStatus.ACTIVE, body)
    if not await store.insert_notification(call.db, reach.key, notification_id, message_id):
        detail = f"The asset has another notification with the message id {message_id}."
        raise MessageIdTaken(detail, errors=[FieldError("/messageID", detail)])
    await _publish(call, reach, physical_asset_id, new)
    headers = {"Location": f"/physical-assets/{physical_asset_id}/exchange-notifications/{notification_id}"}
    return Answer(_view(physical_asset_id, new), headers=headers, etag="1")


@operation(
    "GET",
    "/physical-assets/{physicalAssetID}/exchange-notifications",
    summary="List market messages",
    tag=TAG,
    access=READ,
)
async def list_notifications(
    call: Call, physical_asset_id: UUID, query: NotificationsQuery
) -> Page[ExchangeNotification]:
    """The newest first, each in its latest version."""
    reach = await asset_reach(call.db, call.caller, physical_asset_id, READ)
    rows = await store.list_notifications(call.db, reach.key, query, query.after(UUID), query.limit + 1)
    page = query.page(rows, lambda row: row.id)
    return Page([_view(physical_asset_id, row) for row in page.items], page.next_cursor)


@operation(
    "GET",
    "/physical-assets/{physicalAssetID}/exchange-notifications/{notificationID}",
    summary="Read a market message",
    tag=TAG,
    access=READ,
)
async def read_notification(
    call: Call, physical_asset_id: UUID, notification_id: UUID, query: VersionQuery
) -> Answer[ExchangeNotification]:
    """In its latest version, or in the one asked for."""
    reach = await asset_reach(call.db, call.caller, physical_asset_id, READ)
    stored = await _known(call, reach.key, notification_id, query.version)
    return Answer(_view(physical_asset_id, stored), etag=_etag(stored))


@operation(
    "POST",
    "/physical-assets/{physicalAssetID}/exchange-notifications/{notificationID}/revisions",
    summary="Revise a market message",
    tag=TAG,
    access=CREATE,
    status=201,
    problems=(*PROBLEMS, NotificationClosed),
)
async def revise_notification(
    call: Call, physical_asset_id: UUID, notification_id: UUID, body: Revision
) -> Answer[ExchangeNotification]:
    """Adds a version and dismisses the one before. What is left out is as it was in that one."""
    reach = await asset_reach(call.db, call.caller, physical_asset_id, CREATE)
    await lock_asset(call.db, reach.key)
    before = await _known(call, reach.key, notification_id)
    call.check_if_match(_etag(before))
    if before.message.event_status is not EventStatus.ACTIVE:
        raise NotificationClosed(f"Version {before.message.version} of the message is {before.message.event_status}.")
    if before.message.version == rules.MOST_VERSIONS:
        raise NotificationClosed(f"The message has {rules.MOST_VERSIONS} versions, more than documents can count.")
    names = [name for name in body.__struct_fields__ if name != "event_status"]
    changes = {name: value for name in names if (value := getattr(body, name)) is not UNSET}
    draft = structs.replace(_as_draft(before), **changes)
    new = await _compose(
        call,
        reach.key,
        notification_id,
        before.message.message_id,
        before.message.version + 1,
        body.event_status,
        draft,
    )
    await _publish(call, reach, physical_asset_id, new)
    return Answer(_view(physical_asset_id, new), etag=_etag(new))


@operation(
    "GET",
    "/physical-assets/{physicalAssetID}/exchange-notifications/{notificationID}/document",
    summary="Read a market message as a document",
    tag=TAG,
    access=READ,
    produces=(XML,),
)
async def read_notification_document(
    call: Call, physical_asset_id: UUID, notification_id: UUID, query: DocumentQuery
) -> Content:
    """`format=acer-umm` gives ACER's UMM, `format=entsoe` the unavailability document of ENTSO-E (A77 or A80)."""
    reach = await asset_reach(call.db, call.caller, physical_asset_id, READ)
    stored = await _known(call, reach.key, notification_id, query.version)
    write = documents.acer_umm if query.format is DocumentFormat.ACER_UMM else documents.entsoe_unavailability
    name = f"{stored.message.message_id}_{stored.message.version:03}-{query.format}.xml"
    return Content(write(stored.message), XML, headers={"Content-Disposition": f'attachment; filename="{name}"'})


async def _known(
    call: Call, asset_key: int, notification_id: UUID, version: int | None = None
) -> store.StoredNotification:
    stored = await store.read_notification(call.db, asset_key, notification_id, version)
    if stored is None:
        which = "" if version is None else f" in version {version}"
        raise NotFound(f"The asset has no exchange notification {notification_id}{which}.")
    return stored


async def _compose(
    call: Call,
    asset_key: int,
    notification_id: UUID,
    message_id: str,
    version: int,
    status: EventStatus,
    draft: NewNotification,
) -> store.StoredNotification:
    """The version to publish, completed from the asset and checked."""
    start, end = rules.event_window(draft.event_start, draft.event_end)
    publisher = await store.read_publisher(call.db, asset_key, start)
    asset_eic = publisher.asset_eic if draft.asset_eic is UNSET else draft.asset_eic
    if asset_eic is None:
        detail = "Neither the request nor the asset has an EIC."
        raise AssetEicMissing(detail, errors=[FieldError("/assetEic", detail)])
    check_eic_code(asset_eic, "/assetEic")
    bidding_zone = BIDDING_ZONE_DE_LU_EIC if draft.bidding_zone is UNSET else draft.bidding_zone
    check_eic_code(bidding_zone, "/biddingZone", EicKind.AREA)
    installed_kw = publisher.installed_capacity_kw if draft.installed_capacity is UNSET else draft.installed_capacity
    given_kw = None if draft.available_capacity is UNSET else draft.available_capacity
    available_kw = rules.available_capacity_kw(installed_kw, draft.unavailable_capacity, given_kw)
    if draft.capacity_intervals:
        intervals = rules.intervals_of(draft.capacity_intervals, start, end, installed_kw)
    else:
        intervals = rules.whole_event(start, end, installed_kw, draft.unavailable_capacity)
    known = await store.known_unavailabilities(call.db, asset_key, draft.unavailability_ids)
    rules.check_unavailabilities(draft.unavailability_ids, known)
    message = MarketMessage(
        message_id=message_id,
        version=version,
        event_status=status,
        unavailability_type=draft.unavailability_type,
        event_type=draft.event_type,
        reason_code=draft.reason_code or rules.usual_reason(draft.unavailability_type),
        unit_type=draft.unit_type,
        asset_name=publisher.asset_name,
        asset_eic=asset_eic,
        bidding_zone=bidding_zone,
        participant_name=publisher.participant_name,
        installed_capacity_kw=installed_kw,
        intervals=tuple(intervals),
        start=start,
        end=end,
        duration_uncertainty=draft.duration_uncertainty,
        cause=draft.cause,
        remarks=draft.remarks,
        published_at=publisher.published_at,
    )
    return store.StoredNotification(
        notification_id, message, available_kw, draft.unavailable_capacity, sorted(set(draft.unavailability_ids))
    )


def _as_draft(stored: store.StoredNotification) -> NewNotification:
    """A version as the request that would publish the same; a single interval says no more than the event."""
    message = stored.message
    assert message.event_type is not None, "only documents leave it out"
    assert message.unit_type is not None, "only documents leave it out"
    intervals = [
        NewCapacityInterval(start=each.start, end=each.end, unavailable_capacity=each.unavailable_capacity_kw)
        for each in message.intervals
    ]
    return NewNotification(
        unavailability_type=message.unavailability_type,
        event_start=message.start,
        event_end=message.end,
        unavailable_capacity=stored.unavailable_capacity_kw,
        cause=message.cause,
        event_type=message.event_type,
        reason_code=message.reason_code or UNSET,
        unit_type=message.unit_type,
        asset_eic=message.asset_eic,
        bidding_zone=message.bidding_zone,
        installed_capacity=message.installed_capacity_kw,
        capacity_intervals=intervals if len(intervals) > 1 else [],
        duration_uncertainty=message.duration_uncertainty,
        remarks=message.remarks,
        unavailability_ids=stored.unavailability_ids,
    )


async def _publish(call: Call, reach: Reach, asset_id: UUID, new: store.StoredNotification) -> None:
    await store.insert_version(call.db, reach.key, new, call.caller.id)
    await store.set_unavailabilities(call.db, reach.key, new.id, new.unavailability_ids)
    await record_event(
        call.db,
        type="exchange-notification.published",
        organisation_id=reach.organisation_id,
        subject=f"physical-assets/{asset_id}/exchange-notifications/{new.id}",
        permission=READ,
        asset_key=reach.key,
        data={"notificationID": new.id, "version": new.message.version},
    )


def _etag(stored: store.StoredNotification) -> str:
    return str(stored.message.version)


def _view(asset_id: UUID, stored: store.StoredNotification) -> ExchangeNotification:
    message = stored.message
    assert message.event_type is not None, "only documents leave it out"
    assert message.reason_code is not None, "only documents leave it out"
    assert message.unit_type is not None, "only documents leave it out"
    return ExchangeNotification(
        id=stored.id,
        physical_asset_id=asset_id,
        message_id=message.message_id,
        version=message.version,
        event_status=message.event_status,
        unavailability_type=message.unavailability_type,
        event_type=message.event_type,
        reason_code=message.reason_code,
        unit_type=message.unit_type,
        asset_eic=message.asset_eic,
        bidding_zone=message.bidding_zone,
        installed_capacity=message.installed_capacity_kw,
        available_capacity=stored.available_capacity_kw,
        unavailable_capacity=stored.unavailable_capacity_kw,
        capacity_intervals=[
            IntervalView(
                start=interval.start,
                end=interval.end,
                available_capacity=interval.available_capacity_kw,
                unavailable_capacity=interval.unavailable_capacity_kw,
            )
            for interval in message.intervals
        ],
        event_start=message.start,
        event_end=message.end,
        duration_uncertainty=message.duration_uncertainty,
        cause=message.cause,
        remarks=message.remarks,
        published_at=message.published_at,
        unavailability_ids=stored.unavailability_ids,
    )
