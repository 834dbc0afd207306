"""Credentials for machines: `/auth/api-keys`."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from gridloom.kernel.copying import copy_fields
from gridloom.kernel.ids import APIKeyID, uuid7
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Conflict, FieldError, Forbidden, NotFound, Unprocessable
from gridloom.kernel.shares import Share, ShareLimits
from gridloom.platform.database.pool import Database
from gridloom.platform.http import SIGNED_IN, Caller, Page, Paging, Request, Response, operation
from gridloom.platform.http.shares import ShareUse
from gridloom.platform.identity import views
from gridloom.platform.identity.permissions import in_order
from gridloom.platform.identity.person import PersonNeeded, ReauthenticationRequired, fresh_person_of, require_user
from gridloom.platform.identity.security_policy import parse_networks
from gridloom.platform.identity.store import api_keys, grants
from gridloom.platform.identity.store.organisations import lock_organisation
from gridloom.platform.identity.tokens import hash_of, new_api_key
from gridloom.platform.identity.views import NO_STORE, NewAPIKey

TAG = "Authentication"


CLOCK_TOLERANCE = timedelta(minutes=5)
"""A caller that asks for the whole time goes by a clock of its own."""


class KeyLivesTooLong(Unprocessable, title="The key would live too long"):
    """The key would live longer than the organisation's `maxKeyAgeDays` allow."""


class UnknownKeyAssets(Unprocessable, title="The key names assets that cannot be reached"):
    """The key is meant for physical assets that the caller's organisation neither owns nor was granted."""


class TooManyKeys(Conflict, title="There are too many API keys"):
    """The member or the organisation has as many API keys as it may. Revoke one that is not needed.

    `share` is `api-keys`, and `limit` how many there may be.
    """


class ExpiryPassed(Unprocessable, title="The expiry lies in the past"):
    """The key would have expired before it was made."""


@operation(
    "POST",
    "/auth/api-keys",
    summary="Create an API key",
    access=SIGNED_IN,
    status=201,
    location="/auth/api-keys",
    problems=(PersonNeeded, ReauthenticationRequired, TooManyKeys, ExpiryPassed, KeyLivesTooLong, UnknownKeyAssets),
    secret_response=True,
)
async def create_api_key(request: Request, body: NewAPIKey) -> Response[views.IssuedAPIKey]:
    """A credential for a machine. It can never do more than its creator may at the instant of use."""
    caller = await fresh_person_of(request)
    _reject_more_than_held(body.permissions, caller)
    networks = parse_networks(body.allowed_networks or [], "/allowedNetworks")
    if body.physical_asset_ids is not None:
        await _reject_unreached_assets(request, caller, body.physical_asset_ids)
    age = await api_keys.lock_key_age(request.db, caller.organisation_id)
    await _reject_too_many(request, caller)
    secret = new_api_key()
    key = await api_keys.insert_api_key(
        request.db,
        api_key_id=APIKeyID(uuid7()),
        member_id=caller.id,
        name=body.name,
        permissions=in_order(body.permissions),
        secret_hash=hash_of(secret),
        expires_at=_choose_expiry(body.expires_at, age),
        physical_asset_ids=None if body.physical_asset_ids is None else list(dict.fromkeys(body.physical_asset_ids)),
        allowed_networks=networks,
    )
    request.audit_details.update(apiKeyID=str(key.id), permissions=in_order(key.permissions))
    issued = copy_fields(views.IssuedAPIKey, views.view_of_key(key, key.permissions), secret=secret)
    return Response(issued, headers=NO_STORE)


@operation("GET", "/auth/api-keys", summary="List my API keys", access=SIGNED_IN, problems=(PersonNeeded,))
async def list_api_keys(request: Request, query: Paging) -> Page[views.APIKeyView]:
    """The caller's own, the oldest first, without their secrets, with what each may do now."""
    caller = require_user(request)
    found = await api_keys.list_api_keys(request.db, caller.id, after=query.after(UUID), limit=query.limit + 1)
    page = query.page(found, lambda key: key.id)
    return Page([views.view_of_key(key, caller.permissions) for key in page.items], page.next_cursor)


@operation(
    "DELETE",
    "/auth/api-keys/{apiKeyID}",
    summary="Revoke an API key",
    access=SIGNED_IN,
    problems=(PersonNeeded, ReauthenticationRequired),
)
async def delete_api_key(request: Request, api_key_id: UUID) -> None:
    """The key stops working everywhere within a second."""
    caller = await fresh_person_of(request)
    owner_id = await api_keys.find_key_owner(request.db, api_key_id)
    if owner_id is None:
        raise NotFound(f"There is no API key {api_key_id}.")
    if owner_id != caller.id:
        raise Forbidden(f"The API key {api_key_id} is not yours.")
    await lock_organisation(request.db, caller.organisation_id)
    await api_keys.delete_api_key(request.db, api_key_id)


def _choose_expiry(wanted: datetime | None, age: api_keys.KeyAge) -> datetime:
    latest = age.now + timedelta(days=age.max_days)
    if wanted is None:
        return latest
    if wanted <= age.now:
        raise ExpiryPassed.at("/expiresAt", "expiresAt lies in the past.", "lies in the past")
    if wanted > latest + CLOCK_TOLERANCE:
        error = f"lies more than {age.max_days} days ahead"
        raise KeyLivesTooLong.at("/expiresAt", f"expiresAt {error}.", error)
    return wanted


async def _reject_unreached_assets(request: Request, caller: Caller, asset_ids: list[UUID]) -> None:
    reached = await grants.list_reached_assets(request.db, caller.organisation_id, asset_ids)
    faults = [
        FieldError(f"/physicalAssetIDs/{index}", "is no physical asset of your organisation, or granted to it")
        for index, asset_id in enumerate(asset_ids)
        if asset_id not in reached
    ]
    if faults:
        raise UnknownKeyAssets(f"{len(faults)} of the assets cannot be reached.", errors=faults[:50])


async def _reject_too_many(request: Request, caller: Caller) -> None:
    """Keys that have ended count until they are revoked."""
    if request.holder is None:
        return
    await api_keys.lock_key_count(request.db, caller.organisation_id)
    own, all_keys = await api_keys.count_keys(request.db, caller.organisation_id, caller.id)
    limits = request.shares.limits
    for held, limit, whose in (
        (own, limits.api_keys_per_user, "You have"),
        (all_keys, limits.api_keys, "Your organisation has"),
    ):
        if held >= limit:
            raise TooManyKeys(
                f"{whose} {held} API keys, of {limit} at most. Revoke one first.",
                share=Share.API_KEYS.value,
                limit=limit,
            )


async def read_key_use(limits: ShareLimits, db: Database, organisation_id: UUID) -> ShareUse:
    _, held = await api_keys.count_keys(db, organisation_id, None)
    return ShareUse(used=held, limit=limits.api_keys, per_user=limits.api_keys_per_user)


def _reject_more_than_held(wanted: list[Permission], caller: Caller) -> None:
    missing = [word for word in in_order(wanted) if word not in caller.permissions]
    if missing:
        raise Forbidden(f"A key can do no more than its creator, and you do not hold {', '.join(missing)}.")
