"""Operations of an organisation's administrator on its members' credentials: API keys and second factors."""

from __future__ import annotations

from uuid import UUID

from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Forbidden, NotFound
from gridloom.platform.http import Page, Paging, Request, operation
from gridloom.platform.identity import views
from gridloom.platform.identity.authorization import ORGANISATION, authorize_organisation
from gridloom.platform.identity.organisation_routes import lock_member
from gridloom.platform.identity.person import PersonNeeded, ReauthenticationRequired, fresh_person_of
from gridloom.platform.identity.second_factor.routes import NoSecondFactor
from gridloom.platform.identity.store import api_keys
from gridloom.platform.identity.store import second_factors as store
from gridloom.platform.identity.store.organisations import lock_organisation

TAG = "Organisations"


@operation(
    "GET", ORGANISATION + "/api-keys", summary="List the members' API keys", access=Permission.MANAGE_ORGANISATION
)
async def list_organisation_api_keys(
    request: Request, organisation_id: UUID, query: Paging
) -> Page[views.MemberAPIKeyView]:
    """Every member's, the oldest first, without their secrets, with what each may do now."""
    await authorize_organisation(request.db, request.caller, organisation_id)
    found = await api_keys.list_organisation_keys(
        request.db, organisation_id, after=query.after(UUID), limit=query.limit + 1
    )
    page = query.page(found, lambda one: one.key.id)
    return Page([views.view_of_member_key(one) for one in page.items], page.next_cursor)


@operation(
    "DELETE",
    ORGANISATION + "/api-keys/{apiKeyID}",
    summary="Revoke a member's API key",
    access=Permission.MANAGE_ORGANISATION,
    problems=(PersonNeeded, ReauthenticationRequired),
)
async def delete_organisation_api_key(request: Request, organisation_id: UUID, api_key_id: UUID) -> None:
    """The key stops working everywhere within a second."""
    await fresh_person_of(request)
    await authorize_organisation(request.db, request.caller, organisation_id)
    username = await api_keys.find_organisation_key(request.db, organisation_id, api_key_id)
    if username is None:
        raise NotFound(f"No member of the organisation has an API key {api_key_id}.")
    await lock_organisation(request.db, organisation_id)
    await api_keys.delete_api_key(request.db, api_key_id)
    request.audit_details.update(username=username)


@operation(
    "DELETE",
    ORGANISATION + "/members/{userID}/second-factor",
    summary="Reset a member's second factor",
    access=Permission.MANAGE_ORGANISATION,
    problems=(PersonNeeded, ReauthenticationRequired, NoSecondFactor),
)
async def reset_second_factor(request: Request, organisation_id: UUID, user_id: UUID) -> None:
    """For a member who has lost device and recovery codes: the password alone signs in until a new one is set up."""
    caller = await fresh_person_of(request)
    member = await lock_member(request, organisation_id, user_id)
    if member.id == caller.id:
        raise Forbidden("Your own second factor is removed at /auth/totp, with a code of it.")
    if not await store.delete_second_factor(request.db, member.id):
        raise NoSecondFactor(f"{member.username} has no second factor.")
    request.audit_details.update(username=member.username)
