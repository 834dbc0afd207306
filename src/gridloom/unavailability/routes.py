"""Unavailabilities over HTTP: every change moves availability, writes the logbook and says what no longer fits."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from msgspec import UNSET, structs

from gridloom.capacity.rules import Standing
from gridloom.capacity.store import LockedBatteries, load_standing, lock_batteries, whole_periods
from gridloom.database.pool import Connection
from gridloom.edge import Answer, Call, Page, operation
from gridloom.events.outbox import record_event
from gridloom.identity.reach import Reach, asset_reach
from gridloom.identity.store.names import read_organisation_names
from gridloom.kernel.ids import uuid7
from gridloom.kernel.market_time import period_number, period_number_from, period_start
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import NotFound
from gridloom.kernel.window import Window
from gridloom.logbook.model import Impact
from gridloom.logbook.store import write_system_entry
from gridloom.physical_assets.availability.changes import announce_change
from gridloom.physical_assets.commitments.routes import holding_organisations
from gridloom.physical_assets.conflicts import LONGEST, ripple
from gridloom.physical_assets.glance_store import Glance, read_glance
from gridloom.physical_assets.retirement import AssetCommitted, check_still_retirable
from gridloom.physical_assets.window_query import check_order
from gridloom.unavailability import rules, store
from gridloom.unavailability.model import (
    ChangedUnavailability,
    MissingPower,
    NewUnavailability,
    UnavailabilitiesQuery,
    Unavailability,
    UnavailabilityChange,
    UnavailabilityPlace,
    Volume,
)
from gridloom.unavailability.preview import PreviewedCut, UnavailabilityPreview, preview_of
from gridloom.unavailability.rules import UnknownNotifications, VolumeBeyondRated
from gridloom.virtual_assets.gate_closure.availability_news import (
    MOST_TOLD,
    expected_cuts,
    look_at_backed,
    tell_holders,
)
from gridloom.virtual_assets.store import read_assets_backed_by

TAG = "Unavailabilities"
READ = Permission.READ_PHYSICAL_ASSETS
CREATE = Permission.CREATE_UNAVAILABILITIES


@operation(
    "POST",
    "/physical-assets/{physicalAssetID}/unavailability",
    summary="Create an unavailability",
    tag=TAG,
    access=CREATE,
    status=201,
    problems=(VolumeBeyondRated, UnknownNotifications),
)
async def create_unavailability(
    call: Call, physical_asset_id: UUID, body: NewUnavailability
) -> Answer[ChangedUnavailability]:
    """The volume is what is missing, in kWh and kW. Unavailabilities that overlap add up, capped at the rating.

    `conflicts` names what was offered or scheduled in the window and asks for more than is available now.
    """
    reach = await asset_reach(call.db, call.caller, physical_asset_id, CREATE)
    window = rules.unavailable_window(body)
    await _check_notifications(call, reach.key, body)
    unavailability_id = uuid7()
    locked = await lock_batteries(call.db, [reach.key])
    glance = await read_glance(call.db, reach.key, window, locked.since)
    rules.check_volume(body.volume, glance.ratings, window)
    # What backs a virtual asset is held for all its life: without anything held there is nobody to look at.
    backed = await look_at_backed(call.db, reach.key, window) if glance.is_promised else None
    is_last = backed is None and not body.exchange_notification_ids
    insert = store.leave_unavailability if is_last else store.insert_unavailability
    await insert(call.db, locked, reach.key, unavailability_id, body, call.caller.id)
    await _tell_change(call, reach, physical_asset_id, unavailability_id, "created", body)
    if backed is not None:
        await tell_holders(call.db, backed, glance.now)
    headers = {"Location": f"/physical-assets/{physical_asset_id}/unavailability/{unavailability_id}"}
    changed = await _view_change(call, locked, reach.key, physical_asset_id, unavailability_id, body, glance)
    return Answer(changed, headers=headers, etag="1")


@operation(
    "GET",
    "/physical-assets/{physicalAssetID}/unavailability",
    summary="List unavailabilities",
    tag=TAG,
    access=READ,
    from_replica=True,
)
async def list_unavailabilities(
    call: Call, physical_asset_id: UUID, query: UnavailabilitiesQuery
) -> Page[Unavailability]:
    """By start, the earliest first."""
    reach = await asset_reach(call.db, call.caller, physical_asset_id, READ)
    check_order(query.start, query.end)
    rows = await store.list_unavailabilities(
        call.db, reach.key, query, query.after(UnavailabilityPlace), query.limit + 1
    )
    page = query.page(rows, lambda row: UnavailabilityPlace(row.content.start, row.id))
    return Page(
        [Unavailability(**_list_fields(physical_asset_id, row.id, row.content)) for row in page.items], page.next_cursor
    )


@operation(
    "GET",
    "/physical-assets/{physicalAssetID}/unavailability/{unavailabilityID}",
    summary="Read an unavailability",
    tag=TAG,
    access=READ,
)
async def read_unavailability(call: Call, physical_asset_id: UUID, unavailability_id: UUID) -> Answer[Unavailability]:
    """With the exchange notifications linked to it."""
    reach = await asset_reach(call.db, call.caller, physical_asset_id, READ)
    stored = await _find_known(call, reach.key, unavailability_id)
    view = Unavailability(**_list_fields(physical_asset_id, unavailability_id, stored.content))
    return Answer(view, etag=str(stored.version))


@operation(
    "PATCH",
    "/physical-assets/{physicalAssetID}/unavailability/{unavailabilityID}",
    summary="Change an unavailability",
    tag=TAG,
    access=CREATE,
    problems=(VolumeBeyondRated, UnknownNotifications, AssetCommitted),
)
async def update_unavailability(
    call: Call, physical_asset_id: UUID, unavailability_id: UUID, body: UnavailabilityChange
) -> Answer[ChangedUnavailability]:
    """What is left out stays. To end one early, give it an earlier `end`."""
    reach = await asset_reach(call.db, call.caller, physical_asset_id, CREATE)
    locked = await lock_batteries(call.db, [reach.key])
    before = await _find_known(call, reach.key, unavailability_id)
    call.check_if_match(str(before.version))
    changes = {name: value for name in body.__struct_fields__ if (value := getattr(body, name)) is not UNSET}
    after = structs.replace(before.content, **changes)
    window = rules.unavailable_window(after, "/start" if body.end is UNSET else "/end")
    await _check_notifications(call, reach.key, after)
    glance = await read_glance(call.db, reach.key, window, locked.since)
    if rules.takes_more(before.content, after):
        rules.check_volume(after.volume, glance.ratings, window)
    version = before.version
    if after != before.content:
        old = before.content
        hull = Window(min(old.start, after.start), max(old.end, after.end))
        backed = await look_at_backed(call.db, reach.key, hull)
        version = await store.update_unavailability(call.db, reach.key, unavailability_id, after)
        await check_still_retirable(call.db, locked, reach.key)
        await _tell_change(call, reach, physical_asset_id, unavailability_id, "changed", after)
        await tell_holders(call.db, backed, glance.now)
    changed = await _view_change(call, locked, reach.key, physical_asset_id, unavailability_id, after, glance)
    return Answer(changed, etag=str(version))


@operation(
    "DELETE",
    "/physical-assets/{physicalAssetID}/unavailability/{unavailabilityID}",
    summary="Cancel an unavailability",
    tag=TAG,
    access=CREATE,
    problems=(AssetCommitted,),
)
async def cancel_unavailability(call: Call, physical_asset_id: UUID, unavailability_id: UUID) -> None:
    """Its volume is available again at once; the logbook keeps that it was announced and cancelled."""
    reach = await asset_reach(call.db, call.caller, physical_asset_id, CREATE)
    locked = await lock_batteries(call.db, [reach.key])
    before = await _find_known(call, reach.key, unavailability_id)
    call.check_if_match(str(before.version))
    backed = await look_at_backed(call.db, reach.key, Window(before.content.start, before.content.end))
    await store.delete_unavailability(call.db, reach.key, unavailability_id)
    await check_still_retirable(call.db, locked, reach.key)
    await announce_change(call.db, locked, reach.key)
    await _tell_change(call, reach, physical_asset_id, unavailability_id, "cancelled", before.content)
    await tell_holders(call.db, backed, locked.since)


class _TriedOut(Exception):
    """Undoes what was only tried."""


@operation(
    "POST",
    "/physical-assets/{physicalAssetID}/unavailability-previews",
    summary="See what an unavailability would do",
    tag=TAG,
    access=CREATE,
    status=200,
    problems=(VolumeBeyondRated, UnknownNotifications),
)
async def preview_unavailability(call: Call, physical_asset_id: UUID, body: NewUnavailability) -> UnavailabilityPreview:
    """The body is that of an unavailability; nothing is changed. Free capacity is lost first, then the own schedule,
    then bids without a result, then promises, open auctions and accepted capacity alike."""
    reach = await asset_reach(call.db, call.caller, physical_asset_id, CREATE)
    window = rules.unavailable_window(body)
    await _check_notifications(call, reach.key, body)
    locked = await lock_batteries(call.db, [reach.key])
    glance = await read_glance(call.db, reach.key, window, locked.since)
    rules.check_volume(body.volume, glance.ratings, window)
    hull = whole_periods(window)
    first, end = period_number(hull.start), min(period_number_from(hull.end), period_number(hull.start + LONGEST))
    before = (await load_standing(call.db, [reach.key], first, end))[reach.key]
    cuts: list[PreviewedCut] = []
    try:
        async with cast(Connection, call.db).transaction():
            await store.insert_unavailability(call.db, locked, reach.key, uuid7(), body, call.caller.id)
            after = (await load_standing(call.db, [reach.key], first, end))[reach.key]
            for asset in await read_assets_backed_by(call.db, reach.key, window):
                cuts += [
                    PreviewedCut(
                        virtual_asset_id=asset.id,
                        timestamp=period_start(cut.period),
                        accepted_schedule=cut.accepted_kw,
                        adjusted_schedule=cut.adjusted_kw,
                        reason=cut.reason.value,
                    )
                    for cut in (await expected_cuts(call.db, asset, glance.now))[:MOST_TOLD]
                ]
            raise _TriedOut
    except _TriedOut:
        names = await _read_holder_names(call, reach, before)
        free_kw, cut_kw, holders = preview_of(before, after, first, end, names)
    return UnavailabilityPreview(free=free_kw, cut=cut_kw, holders=holders, expected_cuts=cuts)


async def _read_holder_names(call: Call, reach: Reach, standing: Standing) -> dict[UUID, str]:
    """Who holds capacity is named to the asset's owner and to the operator."""
    if not call.caller.is_operator and reach.organisation_id != call.caller.organisation_id:
        return {}
    return await read_organisation_names(call.db, holding_organisations(standing))


async def _find_known(call: Call, asset_key: int, unavailability_id: UUID) -> store.StoredUnavailability:
    stored = await store.read_unavailability(call.db, asset_key, unavailability_id)
    if stored is None:
        raise NotFound(f"The asset has no unavailability {unavailability_id}.")
    return stored


async def _check_notifications(call: Call, asset_key: int, content: NewUnavailability) -> None:
    """They are never removed, so this holds without the asset's lock."""
    known = await store.known_notifications(call.db, asset_key, content.exchange_notification_ids)
    rules.check_notifications(content.exchange_notification_ids, known)


async def _tell_change(
    call: Call, reach: Reach, asset_id: UUID, unavailability_id: UUID, what: str, content: NewUnavailability
) -> None:
    """The logbook and the event stream, in the transaction of the change."""
    await write_system_entry(
        call.db,
        reach.key,
        type="UNAVAILABILITY",
        title=f"Unavailability {what}: {content.type}",
        description=rules.in_words(content),
        impact=Impact.POSITIVE if what == "cancelled" else Impact.NEGATIVE,
        start=content.start,
        end=content.end,
        tags=["unavailability", str(unavailability_id)],
        author_id=call.caller.id,
    )
    data: dict[str, Any] = {"unavailabilityID": unavailability_id}
    if what != "cancelled":
        data |= {"type": content.type, "start": content.start, "end": content.end}
    await record_event(
        call.db,
        type=f"unavailability.{what}",
        organisation_id=reach.organisation_id,
        subject=f"physical-assets/{asset_id}/unavailability/{unavailability_id}",
        permission=READ,
        asset_key=reach.key,
        data=data,
    )


async def _view_change(
    call: Call,
    locked: LockedBatteries,
    asset_key: int,
    asset_id: UUID,
    unavailability_id: UUID,
    content: NewUnavailability,
    glance: Glance,
) -> ChangedUnavailability:
    """With what it sets off."""
    conflicts = await ripple(call.db, locked, asset_key, glance)
    return ChangedUnavailability(**_list_fields(asset_id, unavailability_id, content), conflicts=conflicts)


def _list_fields(asset_id: UUID, unavailability_id: UUID, content: NewUnavailability) -> dict[str, Any]:
    power = content.volume.power_capacity
    return {
        "id": unavailability_id,
        "physical_asset_id": asset_id,
        "description": content.description,
        "type": content.type,
        "start": content.start,
        "end": content.end,
        "volume": Volume(
            energy_capacity=content.volume.energy_capacity,
            power_capacity=MissingPower(charge=power.charge, discharge=power.discharge),
        ),
        "exchange_notification_ids": list(dict.fromkeys(content.exchange_notification_ids)),
    }
