"""Physical assets and their parameters over HTTP."""

from __future__ import annotations

from uuid import UUID

from msgspec import UNSET, structs

from gridloom.capacity.store import lock_batteries
from gridloom.kernel.codes import EicKind
from gridloom.kernel.entity_tag import entity_tag
from gridloom.kernel.ids import uuid7
from gridloom.kernel.market_time import format_instant
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import NotFound
from gridloom.kernel.window import Window
from gridloom.physical_assets import store
from gridloom.physical_assets.availability.changes import (
    EMIT_AVAILABILITY_CHANGED,
    READ_BACKED_AVAILABILITY,
    enqueue_revalidation_if_held,
)
from gridloom.physical_assets.conflicts import MAX_WINDOW
from gridloom.physical_assets.model import (
    AssetsQuery,
    AssetStatus,
    NewParametersVersion,
    NewPhysicalAsset,
    Parameters,
    ParametersQuery,
    PhysicalAsset,
    PhysicalAssetChange,
    VersionCursor,
)
from gridloom.physical_assets.retirement import (
    AssetCommitted,
    check_retirable,
    check_still_retirable,
    list_uncovered_of_retired,
)
from gridloom.physical_assets.rules import (
    DeliveryZoneHeld,
    InconsistentParameters,
    InvalidCode,
    UnknownFleet,
    check_eic_code,
    check_parameters,
    first_valid_from,
)
from gridloom.platform.events.outbox import record_event
from gridloom.platform.http import Page, Paging, Request, Response, given_fields, operation
from gridloom.platform.identity.authorization import PHYSICAL_ASSET, authorize_asset, authorize_organisation
from gridloom.platform.identity.permissions import GRANTABLE, in_order
from gridloom.platform.identity.store.grants import insert_asset, put_grant
from gridloom.platform.identity.store.organisations import lock_organisation

TAG = "Physical assets"
READ = Permission.READ_PHYSICAL_ASSETS
UPDATE = Permission.UPDATE_PHYSICAL_ASSETS


@operation(
    "GET",
    "/physical-assets",
    summary="List the assets you may read",
    access=READ,
    replica_read=True,
    asset_scope="filtered",
)
async def list_physical_assets(request: Request, query: AssetsQuery) -> Page[PhysicalAsset]:
    """Those that your organisation owns and those it holds a grant on, in the order of registration."""
    rows = await store.list_assets(
        request.db,
        request.caller.organisation_id,
        organisation_id=query.organisation_id,
        fleet_id=query.fleet_id,
        after=query.after(UUID),
        limit=query.limit + 1,
        only=request.caller.physical_asset_ids,
    )
    return query.page(rows, lambda asset: asset.id)


@operation(
    "POST",
    "/physical-assets",
    summary="Register an asset",
    access=UPDATE,
    status=201,
    problems=(InvalidCode, InconsistentParameters, UnknownFleet, NotFound),
)
async def register_physical_asset(request: Request, body: NewPhysicalAsset) -> Response[PhysicalAsset]:
    """For your own organisation, or, as the platform's operator, for any; the operator then holds a revocable grant.

    The parameters hold from the day of commissioning; without such a day they have always held.
    """
    owner_id = await authorize_organisation(request.db, request.caller, body.organisation_id)
    check_eic_code(body.eic_code, "/eicCode", EicKind.RESOURCE)
    check_parameters(body.parameters, "/parameters")
    await lock_organisation(request.db, owner_id)
    await _check_fleet(request, body.fleet_id, owner_id)
    asset_id = uuid7()
    key = await insert_asset(request.db, asset_id, "PHYSICAL", owner_id)
    await store.insert_physical_asset(request.db, key, body)
    await store.insert_parameters(
        request.db, key, first_valid_from(body.commissioned_on), body.parameters, request.caller.id
    )
    if owner_id != request.caller.organisation_id:
        await put_grant(request.db, key, request.caller.organisation_id, in_order(GRANTABLE), request.caller.id)
    return _answer_asset(await store.read_asset(request.db, key))


@operation("GET", PHYSICAL_ASSET, summary="Read an asset", access=READ)
async def read_physical_asset(request: Request, physical_asset_id: UUID) -> Response[PhysicalAsset]:
    """With the parameters in force now. Where another organisation owns it, a grant is needed."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    return _answer_asset(await store.read_asset(request.db, authorized.key))


@operation(
    "PATCH",
    PHYSICAL_ASSET,
    summary="Change an asset",
    access=UPDATE,
    problems=(InvalidCode, UnknownFleet, DeliveryZoneHeld, AssetCommitted),
)
async def update_physical_asset(
    request: Request, physical_asset_id: UUID, body: PhysicalAssetChange
) -> Response[PhysicalAsset]:
    """Fields that are left out stay as they are. Ratings change with `PUT …/parameters`.

    An asset is set `INACTIVE` or `DECOMMISSIONED` when it has nothing promised any more, or when an unavailability of
    its whole volume covers all of that; it takes on nothing new.
    """
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, UPDATE)
    await lock_organisation(request.db, authorized.organisation_id)
    locked = await lock_batteries(request.db, [authorized.key])
    before = await store.read_asset(request.db, authorized.key)
    request.check_if_match(_make_etag(before))
    if body.eic_code is not UNSET:
        check_eic_code(body.eic_code, "/eicCode", EicKind.RESOURCE)
    if body.fleet_id is not UNSET:
        await _check_fleet(request, body.fleet_id, authorized.organisation_id)
    if body.delivery_zone not in (UNSET, before.asset.delivery_zone) and await store.has_backing(
        request.db, authorized.key
    ):
        detail = f"The asset backs virtual assets in the delivery zone {before.asset.delivery_zone}."
        raise DeliveryZoneHeld.at("/deliveryZone", detail)
    if body.status not in (UNSET, AssetStatus.ACTIVE, before.asset.status):
        await check_retirable(request.db, locked, authorized.key)
    after = structs.replace(before.asset, **given_fields(body))
    if after != before.asset:
        await store.update_physical_asset(request.db, authorized.key, after)
    return _answer_asset(await store.read_asset(request.db, authorized.key))


@operation("GET", PHYSICAL_ASSET + "/parameters", summary="Read the parameters in force", access=READ)
async def read_parameters(request: Request, physical_asset_id: UUID, query: ParametersQuery) -> Response[Parameters]:
    """Those in force at `at`; without it those in force now, or, before the first come into force, the first."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    latest = await store.latest_parameters_version(request.db, authorized.key)
    if query.at is None:
        return Response((await store.read_asset(request.db, authorized.key)).asset.parameters, etag=entity_tag(latest))
    found = await store.read_parameters_at(request.db, authorized.key, query.at)
    if found is None:
        raise NotFound(f"No parameters of the asset were in force at {format_instant(query.at)}.")
    return Response(found, etag=entity_tag(latest))


@operation(
    "PUT",
    PHYSICAL_ASSET + "/parameters",
    summary="Add a version of the parameters",
    access=UPDATE,
    problems=(InconsistentParameters, AssetCommitted),
)
async def put_parameters(
    request: Request, physical_asset_id: UUID, body: NewParametersVersion, query: ParametersQuery
) -> Response[Parameters]:
    """Holds from `validFrom` (or `at`; now, when both are left out) until a version with a later one. Nothing recorded
    before is changed.

    `If-Match` takes the ETag of the latest version. What was offered or scheduled and no longer fits shows in the
    asset's health.
    """
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, UPDATE)
    check_parameters(body)
    locked = await lock_batteries(request.db, [authorized.key])
    request.check_if_match(entity_tag(await store.latest_parameters_version(request.db, authorized.key)))
    now = locked.since
    valid_from = body.valid_from or query.at or now
    ahead = max(valid_from, now)
    # From where they hold, which may be long ago: what stood at gates that have closed is stored for accounts.
    backed = await READ_BACKED_AVAILABILITY.get()(request.db, authorized.key, Window(valid_from, ahead + MAX_WINDOW))
    uncovered = await list_uncovered_of_retired(request.db, locked, authorized.key)
    added = await store.insert_parameters(request.db, authorized.key, valid_from, body, request.caller.id)
    await check_still_retirable(request.db, locked, authorized.key, uncovered)
    await enqueue_revalidation_if_held(request.db, locked, authorized.key)
    await EMIT_AVAILABILITY_CHANGED.get()(request.db, backed, now)
    await record_event(
        request.db,
        type="physical-asset.parameters-changed",
        organisation_id=authorized.organisation_id,
        subject=f"physical-assets/{physical_asset_id}/parameters",
        permission=READ,
        asset_key=authorized.key,
        data={"version": added.version, "validFrom": valid_from, "authorID": request.caller.id},
    )
    return Response(added, etag=entity_tag(added.version))


@operation(
    "GET",
    PHYSICAL_ASSET + "/parameters/history",
    summary="List all versions of the parameters",
    access=READ,
    replica_read=True,
)
async def list_parameters_history(request: Request, physical_asset_id: UUID, query: Paging) -> Page[Parameters]:
    """As they were recorded, the latest first."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    after = query.after(VersionCursor)
    before = None if after is None else after.version
    rows = await store.list_parameters(request.db, authorized.key, before=before, limit=query.limit + 1)
    return query.page(rows, lambda parameters: VersionCursor(parameters.version))


async def _check_fleet(request: Request, fleet_id: UUID | None, organisation_id: UUID) -> None:
    if fleet_id is None or await store.fleet_belongs_to(request.db, fleet_id, organisation_id):
        return
    raise UnknownFleet.at("/fleetID", f"The asset's owner has no fleet {fleet_id}.")


def _make_etag(stored: store.StoredAsset) -> str:
    """The parameters are part of the asset and change with time as well."""
    return entity_tag(stored.version, stored.asset.parameters.version)


def _answer_asset(stored: store.StoredAsset) -> Response[PhysicalAsset]:
    return Response(stored.asset, etag=_make_etag(stored))
