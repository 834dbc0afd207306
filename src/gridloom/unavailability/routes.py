"""Unavailabilities over HTTP: every change moves availability, writes the logbook and says what no longer fits."""

from __future__ import annotations

from typing import Any, TypeVar, cast
from uuid import UUID

from msgspec import UNSET, convert, structs

from gridloom.capacity.rules import BatteryCapacity
from gridloom.capacity.store import LockedBatteries, load_battery_capacity, lock_batteries
from gridloom.kernel.copying import copy_fields
from gridloom.kernel.entity_tag import entity_tag
from gridloom.kernel.ids import uuid7
from gridloom.kernel.market_time import PERIOD, period_start
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import NotFound
from gridloom.kernel.window import Window
from gridloom.logbook.model import Impact
from gridloom.logbook.store import write_system_entry
from gridloom.market_calendar import touched_periods
from gridloom.physical_assets.availability.changes import enqueue_assessment_if_begun, enqueue_revalidation_if_held
from gridloom.physical_assets.commitments.routes import holding_organisations
from gridloom.physical_assets.conflicts import MAX_WINDOW, propagate_change
from gridloom.physical_assets.precheck_store import ChangePrecheck, read_precheck
from gridloom.physical_assets.retirement import AssetCommitted, check_still_retirable, list_uncovered_of_retired
from gridloom.physical_assets.window_query import check_order
from gridloom.platform.database.pool import Connection
from gridloom.platform.events.outbox import record_event
from gridloom.platform.http import Page, Request, Response, given_fields, operation
from gridloom.platform.identity.authorization import PHYSICAL_ASSET, AuthorizedAsset, authorize_asset
from gridloom.platform.identity.store.organisations import read_organisation_names
from gridloom.unavailability import rules, store
from gridloom.unavailability.model import (
    ChangedUnavailability,
    NewUnavailability,
    UnavailabilitiesQuery,
    Unavailability,
    UnavailabilityChange,
    UnavailabilityCursor,
    Volume,
)
from gridloom.unavailability.preview import (
    READ_STORED_KWH,
    PreviewedCut,
    UnavailabilityPreview,
    find_unreachable_kwh,
    preview_of,
)
from gridloom.unavailability.rules import UnknownNotifications, VolumeBeyondRated
from gridloom.virtual_assets.backing.store import read_assets_backed_by
from gridloom.virtual_assets.gate_closure.notifications import (
    MAX_EVENT_ITEMS,
    emit_availability_changed,
    expected_cuts,
    read_backed_availability,
)

TAG = "Unavailabilities"
READ = Permission.READ_PHYSICAL_ASSETS
CREATE = Permission.CREATE_UNAVAILABILITIES
U = TypeVar("U", bound=Unavailability)


@operation(
    "POST",
    PHYSICAL_ASSET + "/unavailability",
    summary="Create an unavailability",
    access=CREATE,
    status=201,
    problems=(VolumeBeyondRated, UnknownNotifications),
)
async def create_unavailability(
    request: Request, physical_asset_id: UUID, body: NewUnavailability
) -> Response[ChangedUnavailability]:
    """The volume is what is missing, in kWh and kW. Unavailabilities that overlap add up, capped at the rating.

    `conflicts` names what was offered or scheduled in the window and asks for more than is available now.
    """
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, CREATE)
    window = rules.unavailable_window(body)
    await _check_notifications(request, authorized.key, body)
    unavailability_id = uuid7()
    locked = await lock_batteries(request.db, [authorized.key])
    precheck = await read_precheck(request.db, authorized.key, window, locked.since)
    rules.check_volume(body.volume, precheck.ratings, window)
    # What backs a virtual asset is held for all its life: without anything held there is no holder to read.
    backed = (
        await read_backed_availability(request.db, authorized.key, window)
        if precheck.has_commitments_in_window
        else None
    )
    await store.insert_unavailability(
        *(request.db, locked, authorized.key, unavailability_id, body, request.caller.id, precheck.now),
        is_read_again=backed is not None,
    )
    await enqueue_assessment_if_begun(request.db, authorized.key, window, precheck.now)
    await _record_change(request, authorized, physical_asset_id, unavailability_id, "created", body)
    if backed is not None:
        await emit_availability_changed(request.db, backed, precheck.now)
    changed = await _view_change(request, locked, authorized.key, physical_asset_id, unavailability_id, body, precheck)
    return Response(changed, etag=entity_tag(1))


@operation("GET", PHYSICAL_ASSET + "/unavailability", summary="List unavailabilities", access=READ, replica_read=True)
async def list_unavailabilities(
    request: Request, physical_asset_id: UUID, query: UnavailabilitiesQuery
) -> Page[Unavailability]:
    """By start, the latest first."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    check_order(query.start, query.end)
    rows = await store.list_unavailabilities(
        request.db, authorized.key, query, query.after(UnavailabilityCursor), query.limit + 1
    )
    page = query.page(rows, lambda row: UnavailabilityCursor(row.content.start, row.id))
    views = [_view_as(Unavailability, physical_asset_id, row.id, row.content) for row in page.items]
    return Page(views, page.next_cursor)


@operation("GET", PHYSICAL_ASSET + "/unavailability/{unavailabilityID}", summary="Read an unavailability", access=READ)
async def read_unavailability(
    request: Request, physical_asset_id: UUID, unavailability_id: UUID
) -> Response[Unavailability]:
    """With the exchange notifications linked to it."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    stored = await _require_unavailability(request, authorized.key, unavailability_id)
    view = _view_as(Unavailability, physical_asset_id, unavailability_id, stored.content)
    return Response(view, etag=entity_tag(stored.version))


@operation(
    "PATCH",
    PHYSICAL_ASSET + "/unavailability/{unavailabilityID}",
    summary="Change an unavailability",
    access=CREATE,
    problems=(VolumeBeyondRated, UnknownNotifications, AssetCommitted),
)
async def update_unavailability(
    request: Request, physical_asset_id: UUID, unavailability_id: UUID, body: UnavailabilityChange
) -> Response[ChangedUnavailability]:
    """An omitted field stays. To end one early, give it an earlier `end`."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, CREATE)
    locked = await lock_batteries(request.db, [authorized.key])
    before = await _require_unavailability(request, authorized.key, unavailability_id)
    request.check_if_match(entity_tag(before.version))
    after = structs.replace(before.content, **given_fields(body))
    window = rules.unavailable_window(after, "/start" if body.end is UNSET else "/end")
    await _check_notifications(request, authorized.key, after)
    precheck = await read_precheck(request.db, authorized.key, window, locked.since)
    if rules.reduces_further(before.content, after):
        rules.check_volume(after.volume, precheck.ratings, window)
    version = before.version
    if after != before.content:
        old = before.content
        hull = Window(min(old.start, after.start), max(old.end, after.end))
        backed = await read_backed_availability(request.db, authorized.key, hull)
        uncovered = await list_uncovered_of_retired(request.db, locked, authorized.key)
        grown_at = precheck.now if rules.reduces_further(old, after) else None
        version = await store.update_unavailability(request.db, authorized.key, unavailability_id, after, grown_at)
        await check_still_retirable(request.db, locked, authorized.key, uncovered)
        await enqueue_assessment_if_begun(request.db, authorized.key, hull, precheck.now)
        await _record_change(request, authorized, physical_asset_id, unavailability_id, "changed", after)
        await emit_availability_changed(request.db, backed, precheck.now)
    changed = await _view_change(request, locked, authorized.key, physical_asset_id, unavailability_id, after, precheck)
    return Response(changed, etag=entity_tag(version))


@operation(
    "DELETE",
    PHYSICAL_ASSET + "/unavailability/{unavailabilityID}",
    summary="Cancel an unavailability",
    access=CREATE,
    problems=(AssetCommitted,),
)
async def cancel_unavailability(request: Request, physical_asset_id: UUID, unavailability_id: UUID) -> None:
    """Its volume is available again at once; the logbook has that it was announced and cancelled."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, CREATE)
    locked = await lock_batteries(request.db, [authorized.key])
    before = await _require_unavailability(request, authorized.key, unavailability_id)
    request.check_if_match(entity_tag(before.version))
    backed = await read_backed_availability(
        request.db, authorized.key, Window(before.content.start, before.content.end)
    )
    uncovered = await list_uncovered_of_retired(request.db, locked, authorized.key)
    await store.delete_unavailability(request.db, authorized.key, unavailability_id)
    await check_still_retirable(request.db, locked, authorized.key, uncovered)
    await enqueue_revalidation_if_held(request.db, locked, authorized.key)
    window = Window(before.content.start, before.content.end)
    await enqueue_assessment_if_begun(request.db, authorized.key, window, locked.since)
    await _record_change(request, authorized, physical_asset_id, unavailability_id, "cancelled", before.content)
    await emit_availability_changed(request.db, backed, locked.since)


class _RollbackPreview(Exception):
    """Undoes what was only tried."""


@operation(
    "POST",
    PHYSICAL_ASSET + "/unavailability-previews",
    summary="See what an unavailability would do",
    access=CREATE,
    status=200,
    problems=(VolumeBeyondRated, UnknownNotifications),
)
async def preview_unavailability(
    request: Request, physical_asset_id: UUID, body: NewUnavailability
) -> UnavailabilityPreview:
    """The body is that of an unavailability; nothing is changed. Free capacity is lost first, then the own schedule,
    then bids without a result, then promises, open auctions and accepted capacity alike."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, CREATE)
    window = rules.unavailable_window(body)
    await _check_notifications(request, authorized.key, body)
    locked = await lock_batteries(request.db, [authorized.key])
    precheck = await read_precheck(request.db, authorized.key, window, locked.since)
    rules.check_volume(body.volume, precheck.ratings, window)
    first, end = touched_periods(window)
    end = min(end, first + MAX_WINDOW // PERIOD)
    before = (await load_battery_capacity(request.db, [authorized.key], first, end))[authorized.key]
    cuts: list[PreviewedCut] = []
    try:
        async with cast(Connection, request.db).transaction():
            await store.insert_unavailability(
                request.db, locked, authorized.key, uuid7(), body, request.caller.id, precheck.now
            )
            after = (await load_battery_capacity(request.db, [authorized.key], first, end))[authorized.key]
            for asset in await read_assets_backed_by(request.db, authorized.key, window):
                cuts += [
                    PreviewedCut(
                        virtual_asset_id=asset.id,
                        timestamp=period_start(cut.period),
                        accepted_schedule=cut.accepted_kw,
                        adjusted_schedule=cut.adjusted_kw,
                        reason=cut.reason.value,
                    )
                    for cut in (await expected_cuts(request.db, asset, precheck.now))[:MAX_EVENT_ITEMS]
                ]
            raise _RollbackPreview
    except _RollbackPreview:
        names = await _read_holder_names(request, authorized, before)
        free_kw, cut_kw, holders = preview_of(before, after, first, end, names)
    stored_kwh = await READ_STORED_KWH.get()(request.db, authorized.key, first, end)
    unreachable_kwh = UNSET if stored_kwh is None else round(find_unreachable_kwh(stored_kwh, before, after, first), 6)
    return UnavailabilityPreview(
        free=free_kw, cut=cut_kw, holders=holders, expected_cuts=cuts, unreachable_energy=unreachable_kwh
    )


async def _read_holder_names(
    request: Request, authorized: AuthorizedAsset, capacity: BatteryCapacity
) -> dict[UUID, str]:
    """Who holds capacity is named to the asset's owner and to the operator."""
    if not request.caller.is_operator and authorized.organisation_id != request.caller.organisation_id:
        return {}
    return await read_organisation_names(request.db, holding_organisations(capacity))


async def _require_unavailability(
    request: Request, asset_key: int, unavailability_id: UUID
) -> store.StoredUnavailability:
    stored = await store.read_unavailability(request.db, asset_key, unavailability_id)
    if stored is None:
        raise NotFound(f"The asset has no unavailability {unavailability_id}.")
    return stored


async def _check_notifications(request: Request, asset_key: int, content: NewUnavailability) -> None:
    """They are never removed, so this holds without the asset's lock."""
    known = await store.known_notifications(request.db, asset_key, content.exchange_notification_ids)
    rules.check_notifications(content.exchange_notification_ids, known)


async def _record_change(
    request: Request,
    authorized: AuthorizedAsset,
    asset_id: UUID,
    unavailability_id: UUID,
    what: str,
    content: NewUnavailability,
) -> None:
    """The logbook and the event stream, in the transaction of the change."""
    await write_system_entry(
        request.db,
        authorized.key,
        type="UNAVAILABILITY",
        title=f"Unavailability {what}: {content.type}",
        description=rules.logbook_text(content),
        impact=Impact.POSITIVE if what == "cancelled" else Impact.NEGATIVE,
        start=content.start,
        end=content.end,
        tags=["unavailability", str(unavailability_id)],
        author_id=request.caller.id,
    )
    data: dict[str, Any] = {"unavailabilityID": unavailability_id}
    if what != "cancelled":
        data |= {"type": content.type, "start": content.start, "end": content.end, "authorID": request.caller.id}
    await record_event(
        request.db,
        type=f"unavailability.{what}",
        organisation_id=authorized.organisation_id,
        subject=f"physical-assets/{asset_id}/unavailability/{unavailability_id}",
        permission=READ,
        asset_key=authorized.key,
        data=data,
    )


async def _view_change(
    request: Request,
    locked: LockedBatteries,
    asset_key: int,
    asset_id: UUID,
    unavailability_id: UUID,
    content: NewUnavailability,
    precheck: ChangePrecheck,
) -> ChangedUnavailability:
    """With what it sets off."""
    conflicts = await propagate_change(request.db, locked, asset_key, precheck)
    return _view_as(ChangedUnavailability, asset_id, unavailability_id, content, conflicts=conflicts)


def _view_as(kind: type[U], asset_id: UUID, unavailability_id: UUID, content: NewUnavailability, **more: Any) -> U:
    return copy_fields(
        kind,
        content,
        id=unavailability_id,
        physical_asset_id=asset_id,
        volume=convert(content.volume, Volume, from_attributes=True),
        exchange_notification_ids=list(dict.fromkeys(content.exchange_notification_ids)),
        **more,
    )
