"""Composing and publishing a version of a market message."""

from __future__ import annotations

from uuid import UUID

from msgspec import UNSET, structs

from gridloom.exchange_notifications import rules, store
from gridloom.exchange_notifications.message import CapacityInterval, EventStatus, MarketMessage
from gridloom.exchange_notifications.model import NewCapacityInterval, NewNotification, Revision
from gridloom.exchange_notifications.rules import AssetEicMissing
from gridloom.kernel.codes import BIDDING_ZONE_DE_LU_EIC, EicKind
from gridloom.kernel.permission import Permission
from gridloom.physical_assets.rules import check_eic_code
from gridloom.platform.database.pool import Database
from gridloom.platform.events.outbox import record_event
from gridloom.platform.http import given_fields
from gridloom.platform.identity.authorization import AuthorizedAsset

READ = Permission.READ_PHYSICAL_ASSETS


async def compose(
    db: Database,
    asset_key: int,
    notification_id: UUID,
    message_id: str,
    version: int,
    status: EventStatus,
    draft: NewNotification,
) -> store.StoredNotification:
    """The version to publish, completed from the asset and checked."""
    start, end = rules.event_window(draft.event_start, draft.event_end)
    publisher = await store.read_publisher(db, asset_key, start)
    asset_eic = publisher.asset_eic if draft.asset_eic is UNSET else draft.asset_eic
    if asset_eic is None:
        raise AssetEicMissing.at("/assetEic", "Neither the request nor the asset has an EIC.")
    check_eic_code(asset_eic, "/assetEic", EicKind.RESOURCE)
    bidding_zone = BIDDING_ZONE_DE_LU_EIC if draft.bidding_zone is UNSET else draft.bidding_zone
    check_eic_code(bidding_zone, "/biddingZone", EicKind.AREA)
    installed_kw = publisher.installed_capacity_kw if draft.installed_capacity is UNSET else draft.installed_capacity
    unavailable_kw = draft.unavailable_capacity
    available_kw = rules.available_capacity_kw(installed_kw, unavailable_kw, draft.available_capacity)
    if draft.capacity_intervals:
        intervals = rules.intervals_of(draft.capacity_intervals, start, end, installed_kw)
        rules.check_peak_capacity(unavailable_kw, intervals)
    else:
        intervals = [CapacityInterval(start, end, available_kw, unavailable_kw)]
    known = await store.existing_unavailability_ids(db, asset_key, draft.unavailability_ids)
    rules.check_unavailabilities(draft.unavailability_ids, known)
    message = MarketMessage(
        message_id=message_id,
        version=version,
        event_status=status,
        unavailability_type=draft.unavailability_type,
        event_type=draft.event_type,
        reason_code=draft.reason_code or rules.default_reason(draft.unavailability_type),
        unit_type=draft.unit_type,
        asset_name=publisher.asset_name,
        asset_eic=asset_eic,
        bidding_zone=bidding_zone,
        participant_name=publisher.participant_name,
        participant_code=publisher.participant_code,
        participant_eic=publisher.participant_eic,
        installed_capacity_kw=installed_kw,
        intervals=tuple(intervals),
        start=start,
        end=end,
        duration_uncertainty=draft.duration_uncertainty,
        cause=draft.cause,
        remarks=draft.remarks,
        published_at=publisher.published_at,
    )
    rules.check_remarks(message)
    return store.StoredNotification(
        notification_id, message, available_kw, unavailable_kw, sorted(set(draft.unavailability_ids))
    )


def draft_of(stored: store.StoredNotification) -> NewNotification:
    """A version as the request that would publish the same; a single interval says no more than the event."""
    message = stored.message
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
        reason_code=message.reason_code,
        unit_type=message.unit_type,
        asset_eic=message.asset_eic,
        bidding_zone=message.bidding_zone,
        installed_capacity=message.installed_capacity_kw,
        capacity_intervals=intervals if len(intervals) > 1 else [],
        duration_uncertainty=message.duration_uncertainty,
        remarks=message.remarks,
        unavailability_ids=stored.unavailability_ids,
    )


def apply_revision(before: store.StoredNotification, revision: Revision) -> NewNotification:
    """The next version: fields that the revision omits stay, or follow from those that it has."""
    draft = draft_of(before)
    changes = {name: value for name, value in given_fields(revision).items() if name != "event_status"}
    if revision.capacity_intervals and revision.unavailable_capacity is UNSET:
        changes["unavailable_capacity"] = max(each.unavailable_capacity for each in revision.capacity_intervals)
    if revision.reason_code is UNSET and draft.reason_code is rules.default_reason(draft.unavailability_type):
        changes["reason_code"] = UNSET
    return structs.replace(draft, **changes)


async def publish(
    db: Database, authorized: AuthorizedAsset, asset_id: UUID, new: store.StoredNotification, published_by: UUID
) -> None:
    """Store the version and emit its event."""
    await store.insert_version(db, authorized.key, new, published_by)
    await store.set_unavailabilities(db, authorized.key, new.id, new.unavailability_ids)
    await record_event(
        db,
        type="exchange-notification.published",
        organisation_id=authorized.organisation_id,
        subject=f"physical-assets/{asset_id}/exchange-notifications/{new.id}",
        permission=READ,
        asset_key=authorized.key,
        data={"notificationID": new.id, "version": new.message.version},
    )
