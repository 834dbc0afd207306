"""Grants over HTTP: the owner gives and takes, the organisation concerned may look."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta

from gridloom.capacity.store import lock_batteries
from gridloom.kernel.copying import copy_fields
from gridloom.kernel.dependency import Dependency
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import FieldError, Forbidden, NotFound, PreconditionFailed, Problem
from gridloom.platform.database.pool import Database
from gridloom.platform.http import Caller, Page, Paging, Request, RequestBody, Response, ResponseBody, operation
from gridloom.platform.identity import model as identity
from gridloom.platform.identity.authorization import PHYSICAL_ASSET
from gridloom.platform.identity.permissions import GRANTABLE, in_order
from gridloom.platform.identity.store import grants as store
from gridloom.platform.identity.store.organisations import lock_organisation, organisation_exists


class NewGrant(RequestBody):
    """Everything the organisation may do with the asset from now on."""

    permissions: Annotated[list[Permission], Meta(min_length=1, max_length=100)]


class Grant(ResponseBody):
    physical_asset_id: UUID
    organisation_id: UUID
    organisation_name: str
    permissions: list[Permission]
    created_at: datetime
    updated_at: datetime


TAG = "Physical assets"
READ = Permission.READ_PHYSICAL_ASSETS
MANAGE = Permission.MANAGE_ORGANISATION


class NotGrantable(Problem, status=422, title="The permission cannot be granted on an asset"):
    """A grant concerns one asset, and some of the permissions given concern a whole organisation or the platform."""


class OwnerNeedsNoGrant(Problem, status=422, title="The owner needs no grant"):
    """The organisation owns the asset and may do everything with it."""


class RevenueWouldTellPrice(Problem, status=409, title="The organisation was invited to an auction on the asset"):
    """`Read:revenue` on a battery is not granted to an organisation that was invited to an auction on it: the battery's
    reports would tell what others have paid."""


WAS_INVITED: Dependency[Callable[[Database, UUID, UUID], Awaitable[bool]]] = Dependency(
    "whether an organisation was invited to an auction on a physical asset"
)


@operation("GET", PHYSICAL_ASSET + "/grants", summary="List the grants on an asset", access=READ)
async def list_grants(request: Request, physical_asset_id: UUID, query: Paging) -> Page[Grant]:
    """For its owner, by organisation."""
    rights = await _read_owned_rights(request, physical_asset_id)
    rows = await store.list_grants(request.db, rights.key, after=query.after(UUID), limit=query.limit + 1)
    return query.page([_show_grant(physical_asset_id, row) for row in rows], lambda grant: grant.organisation_id)


@operation(
    "GET",
    PHYSICAL_ASSET + "/grants/{organisationID}",
    summary="Read what an organisation may do with an asset",
    access=READ,
)
async def read_grant(request: Request, physical_asset_id: UUID, organisation_id: UUID) -> Response[Grant]:
    """For the asset's owner and for that organisation itself."""
    rights = await _read_rights(request, physical_asset_id)
    if request.caller.organisation_id not in (rights.organisation_id, organisation_id):
        raise Forbidden("Grants are shown to the asset's owner and to the organisation that holds them.")
    grant = await store.read_grant(request.db, rights.key, organisation_id)
    if grant is None:
        raise NotFound(f"The organisation {organisation_id} has no grant on this asset.")
    return Response(_show_grant(physical_asset_id, grant), etag=grant.etag)


@operation(
    "PUT",
    PHYSICAL_ASSET + "/grants/{organisationID}",
    summary="Set what an organisation may do with an asset",
    access=MANAGE,
    problems=(NotGrantable, OwnerNeedsNoGrant, RevenueWouldTellPrice),
)
async def put_grant(
    request: Request, physical_asset_id: UUID, organisation_id: UUID, body: NewGrant
) -> Response[Grant]:
    """Only the owner's administrators may. A user of that organisation needs the permission in its role as well. A
    caller, person or API key, gives no permission that it does not hold."""
    rights = await _read_owned_rights(request, physical_asset_id)
    if organisation_id == rights.organisation_id:
        raise OwnerNeedsNoGrant(f"The organisation {organisation_id} owns the asset.")
    if not await organisation_exists(request.db, organisation_id):
        raise NotFound(f"There is no organisation {organisation_id}.")
    faults = [
        FieldError(f"/permissions/{position}", f"{permission} does not concern a single asset")
        for position, permission in enumerate(body.permissions)
        if permission not in GRANTABLE
    ]
    if faults:
        raise NotGrantable(faults[0].detail + ".", errors=faults)
    _reject_giving_more_than_held(request.caller, body.permissions)
    await lock_organisation(request.db, rights.organisation_id)
    await lock_batteries(request.db, [rights.key])
    if Permission.READ_REVENUE in body.permissions and await WAS_INVITED.get()(
        request.db, physical_asset_id, organisation_id
    ):
        raise RevenueWouldTellPrice(f"The organisation {organisation_id} was invited to an auction on this asset.")
    before = await store.read_grant(request.db, rights.key, organisation_id)
    if before is not None:
        request.check_if_match(before.etag)
    elif request.header("if-match") is not None:
        raise PreconditionFailed("There is no grant yet, so no condition on one can hold.")
    grant = await store.put_grant(
        request.db, rights.key, organisation_id, in_order(body.permissions), request.caller.id
    )
    return Response(_show_grant(physical_asset_id, grant), etag=grant.etag)


@operation("DELETE", PHYSICAL_ASSET + "/grants/{organisationID}", summary="Revoke a grant", access=MANAGE)
async def delete_grant(request: Request, physical_asset_id: UUID, organisation_id: UUID) -> None:
    """At once, on every replica."""
    rights = await _read_owned_rights(request, physical_asset_id)
    await lock_organisation(request.db, rights.organisation_id)
    await lock_batteries(request.db, [rights.key])
    before = await store.read_grant(request.db, rights.key, organisation_id)
    if before is None:
        raise NotFound(f"The organisation {organisation_id} has no grant on this asset.")
    request.check_if_match(before.etag)
    await store.delete_grant(request.db, rights.key, organisation_id)


def _reject_giving_more_than_held(caller: Caller, given: list[Permission]) -> None:
    faults = [
        FieldError(f"/permissions/{position}", f"{permission} is not yours to give: you do not hold it")
        for position, permission in enumerate(given)
        if permission not in caller.permissions
    ]
    if faults:
        raise Forbidden(faults[0].detail + ".", errors=faults)


async def _read_rights(request: Request, asset_id: UUID) -> store.AssetRights:
    rights = await store.read_rights(request.db, asset_id, request.caller.organisation_id)
    if rights is None or rights.kind != "PHYSICAL":
        raise NotFound(f"There is no physical asset {asset_id}.")
    return rights


async def _read_owned_rights(request: Request, asset_id: UUID) -> store.AssetRights:
    rights = await _read_rights(request, asset_id)
    if rights.organisation_id != request.caller.organisation_id:
        raise Forbidden("Only the asset's owner manages its grants.")
    return rights


def _show_grant(asset_id: UUID, grant: identity.GrantRecord) -> Grant:
    return copy_fields(Grant, grant, physical_asset_id=asset_id, permissions=in_order(grant.permissions))
