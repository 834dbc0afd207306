"""Fleets over HTTP."""

from __future__ import annotations

from uuid import UUID

from msgspec import UNSET

from gridloom.kernel.entity_tag import entity_tag
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import FieldError, Forbidden, NotFound, Problem
from gridloom.physical_assets.fleets import store
from gridloom.physical_assets.fleets.model import Fleet, FleetChange, FleetsQuery, NewFleet
from gridloom.physical_assets.fleets.store import StoredFleet
from gridloom.platform.database.pool import Database
from gridloom.platform.http import Caller, Page, Request, Response, operation
from gridloom.platform.identity.authorization import authorize_organisation
from gridloom.platform.identity.store.organisations import lock_organisation

TAG = "Fleets"
READ = Permission.READ_PHYSICAL_ASSETS
UPDATE = Permission.UPDATE_PHYSICAL_ASSETS


class NotAssetsOfTheOrganisation(Problem, status=422, title="Some assets are not the organisation's own"):
    """A fleet groups the physical assets of one organisation, and some of those given are not its own, or do not exist.

    `errors` names each of them.
    """


@operation("GET", "/fleets", summary="List fleets", access=READ, replica_read=True)
async def list_fleets(request: Request, query: FleetsQuery) -> Page[Fleet]:
    """Your organisation's; the platform's operator sees those of all, or of the one asked for."""
    organisation_id = query.organisation_id
    if organisation_id is not None:
        await authorize_organisation(request.db, request.caller, organisation_id)
    elif not request.caller.is_operator:
        organisation_id = request.caller.organisation_id
    rows = await store.list_fleets(request.db, organisation_id, after=query.after(UUID), limit=query.limit + 1)
    return query.page(rows, lambda fleet: fleet.id)


@operation(
    "POST",
    "/fleets",
    summary="Create a fleet",
    access=UPDATE,
    status=201,
    problems=(NotAssetsOfTheOrganisation, NotFound),
)
async def create_fleet(request: Request, body: NewFleet) -> Response[Fleet]:
    """An asset that was in another fleet leaves it."""
    owner_id = await authorize_organisation(request.db, request.caller, body.organisation_id)
    await lock_organisation(request.db, owner_id)
    keys = await _member_keys(request, owner_id, body.physical_asset_ids)
    fleet_id = await store.insert_fleet(request.db, owner_id, body.name)
    await store.set_members(request.db, fleet_id, keys)
    return await _answer_fleet(request, fleet_id)


@operation("GET", "/fleets/{fleetID}", summary="Read a fleet", access=READ)
async def read_fleet(request: Request, fleet_id: UUID) -> Response[Fleet]:
    """With the identifiers of its physical assets."""
    stored = await authorize_fleet(request.db, request.caller, fleet_id)
    return Response(stored.fleet, etag=_make_etag(stored))


@operation(
    "PATCH",
    "/fleets/{fleetID}",
    summary="Change a fleet",
    access=UPDATE,
    problems=(NotAssetsOfTheOrganisation,),
)
async def update_fleet(request: Request, fleet_id: UUID, body: FleetChange) -> Response[Fleet]:
    """Only the given fields change; `physicalAssetIDs` replaces the whole list."""
    stored = await authorize_fleet(request.db, request.caller, fleet_id, for_change=True)
    request.check_if_match(_make_etag(stored))
    if body.name is not UNSET:
        await store.rename_fleet(request.db, fleet_id, body.name)
    if body.physical_asset_ids is not UNSET:
        keys = await _member_keys(request, stored.fleet.organisation_id, body.physical_asset_ids)
        await store.set_members(request.db, fleet_id, keys)
    await store.bump_fleet_version(request.db, fleet_id)
    return await _answer_fleet(request, fleet_id)


@operation("DELETE", "/fleets/{fleetID}", summary="Delete a fleet", access=UPDATE)
async def delete_fleet(request: Request, fleet_id: UUID) -> None:
    """Its assets stay, in no fleet."""
    stored = await authorize_fleet(request.db, request.caller, fleet_id, for_change=True)
    request.check_if_match(_make_etag(stored))
    await store.delete_fleet(request.db, fleet_id)


async def _member_keys(request: Request, organisation_id: UUID, asset_ids: list[UUID]) -> list[int]:
    owned = await store.read_owned_asset_keys(request.db, organisation_id, asset_ids)
    unknown_ids = [
        FieldError(f"/physicalAssetIDs/{position}", f"{asset_id} is not an asset of the organisation")
        for position, asset_id in enumerate(asset_ids)
        if asset_id not in owned
    ]
    if unknown_ids:
        raise NotAssetsOfTheOrganisation(
            f"{len(unknown_ids)} of the assets are not those of the organisation {organisation_id}.", errors=unknown_ids
        )
    return list(owned.values())


def _make_etag(stored: store.StoredFleet) -> str:
    """Assets may leave by themselves, so the members count as well."""
    return entity_tag(stored.version, *stored.fleet.physical_asset_ids)


async def _answer_fleet(request: Request, fleet_id: UUID) -> Response[Fleet]:
    stored = await store.read_fleet(request.db, fleet_id)
    assert stored is not None, "held by this transaction"
    return Response(stored.fleet, etag=_make_etag(stored))


async def authorize_fleet(db: Database, caller: Caller, fleet_id: UUID, *, for_change: bool = False) -> StoredFleet:
    """For its organisation's members, and the platform's operator. For a change it is locked, after its
    organisation."""
    stored = await store.read_fleet(db, fleet_id)
    if stored is not None and stored.fleet.organisation_id != caller.organisation_id and not caller.is_operator:
        raise Forbidden(f"The fleet {fleet_id} belongs to another organisation.")
    if stored is not None and for_change:
        await lock_organisation(db, stored.fleet.organisation_id)
        stored = await store.read_fleet(db, fleet_id, for_change=True)
    if stored is None:
        raise NotFound(f"There is no fleet {fleet_id}.")
    return stored
