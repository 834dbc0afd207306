"""May this caller do this here: the one question every asset and organisation path asks before anything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from gridloom.kernel.ids import OrganisationID
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Forbidden, NotFound
from gridloom.platform.database.pool import Database
from gridloom.platform.http import Request
from gridloom.platform.http.admit import OutsideKeyAssets
from gridloom.platform.http.caller import Caller
from gridloom.platform.identity.store.grants import AssetRights, read_rights
from gridloom.platform.identity.store.organisations import organisation_exists

PHYSICAL_ASSET: Final = "/physical-assets/{physicalAssetID}"
ORGANISATION: Final = "/organisations/{organisationID}"
"""Where the paths of all operations on one asset or one organisation begin."""


@dataclass(frozen=True, slots=True)
class AuthorizedAsset:
    """An asset that the caller may use as asked."""

    key: int
    """The small key under which every table keeps this asset."""
    organisation_id: OrganisationID
    """Its owner."""
    kind: str


async def authorize_asset(
    db: Database, caller: Caller, asset_id: UUID, permission: Permission, kind: str | None = "PHYSICAL"
) -> AuthorizedAsset:
    """The asset, if the caller's role and the owner's grant both allow `permission` on it.

    kind: `PHYSICAL`, `VIRTUAL`, or None where either will do.
    """
    rights = await read_rights(db, asset_id, caller.organisation_id, may_be_cached=not caller.is_operator)
    if rights is None or (kind is not None and rights.kind != kind):
        raise NotFound(f"There is no {_name_kind(kind)} {asset_id}.")
    reached = caller.physical_asset_ids
    if reached is not None and asset_id not in reached:
        raise OutsideKeyAssets(f"The API key was not made for the {_name_kind(rights.kind)} {asset_id}.")
    if permission not in caller.permissions:
        raise Forbidden(f"The {caller.bearer_name} does not have {permission}.")
    if not _is_open_to(caller, rights, permission):
        raise Forbidden(f"Your organisation has no grant of {permission} on the {_name_kind(rights.kind)} {asset_id}.")
    return AuthorizedAsset(rights.key, rights.organisation_id, rights.kind)


async def authorize_organisation(db: Database, caller: Caller, organisation_id: UUID) -> OrganisationID:
    """The organisation, if it is the caller's own or the caller is the platform's operator."""
    if caller.organisation_id == organisation_id:
        return OrganisationID(organisation_id)
    if not await organisation_exists(db, organisation_id):
        raise NotFound(f"There is no organisation {organisation_id}.")
    if not caller.is_operator:
        raise Forbidden(f"The organisation {organisation_id} is not yours.")
    return OrganisationID(organisation_id)


async def reauthorize_replay(request: Request) -> None:
    """Refuse to repeat an answer about an asset or organisation that the caller no longer reaches."""
    caller, named = request.caller_if_known, request.path_values
    if caller is None:
        return
    if "physical_asset_id" in named:
        permission = request.operation.access.permission or Permission.READ_PHYSICAL_ASSETS
        await authorize_asset(request.pool, caller, named["physical_asset_id"], permission)
    elif "organisation_id" in named:
        await authorize_organisation(request.pool, caller, named["organisation_id"])


def _is_open_to(caller: Caller, rights: AssetRights, permission: Permission) -> bool:
    if rights.organisation_id == caller.organisation_id:
        return True
    # Virtual batteries are the operator's product: it allocates, splits and settles them for their holders.
    if rights.kind == "VIRTUAL" and caller.is_operator:
        return True
    # It settles what batteries earn, and reads their owners' side of it.
    if permission is Permission.READ_REVENUE and caller.is_operator:
        return True
    return permission in rights.granted


def _name_kind(kind: str | None) -> str:
    return "asset" if kind is None else f"{kind.lower()} asset"
