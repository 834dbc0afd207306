"""Credentials for machines: `/auth/api-keys`."""

from __future__ import annotations

from uuid import UUID

from gridloom.edge import SIGNED_IN, Answer, Call, Caller, Page, Paging, operation
from gridloom.identity import views
from gridloom.identity.permissions import in_order
from gridloom.identity.person import PersonNeeded, person_of
from gridloom.identity.store import api_keys
from gridloom.identity.tokens import hash_of, new_api_key
from gridloom.identity.views import NOT_KEPT, NewAPIKey
from gridloom.kernel.ids import APIKeyID, uuid7
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import FieldError, Forbidden, NotFound, Unprocessable

TAG = "Authentication"


class ExpiryPassed(Unprocessable):
    """The key would have expired before it was made."""

    status = 422
    title = "The expiry lies in the past"


@operation(
    "POST",
    "/auth/api-keys",
    summary="Make an API key",
    tag=TAG,
    access=SIGNED_IN,
    status=201,
    problems=(PersonNeeded, ExpiryPassed),
    secret_answer=True,
)
async def create_api_key(call: Call, body: NewAPIKey) -> Answer[views.IssuedAPIKey]:
    """A credential for a machine. It can never do more than its creator may at the moment of use."""
    caller = person_of(call)
    _refuse_more_than_held(body.permissions, caller)
    secret = new_api_key()
    key = await api_keys.insert_api_key(
        call.db,
        api_key_id=APIKeyID(uuid7()),
        member_id=caller.id,
        name=body.name,
        permissions=in_order(body.permissions),
        secret_hash=hash_of(secret),
        expires_at=body.expires_at,
    )
    if key is None:
        raise ExpiryPassed("expiresAt lies in the past.", errors=[FieldError("/expiresAt", "lies in the past")])
    call.audit_details.update(apiKeyID=str(key.id), permissions=in_order(key.permissions))
    issued = views.IssuedAPIKey(
        id=key.id,
        name=key.name,
        permissions=in_order(key.permissions),
        created_at=key.created_at,
        expires_at=key.expires_at,
        secret=secret,
    )
    return Answer(issued, headers=NOT_KEPT)


@operation("GET", "/auth/api-keys", summary="List my API keys", tag=TAG, access=SIGNED_IN, problems=(PersonNeeded,))
async def list_api_keys(call: Call, query: Paging) -> Page[views.APIKeyView]:
    """The caller's own, the oldest first, without their secrets, with what each may do now."""
    caller = person_of(call)
    found = await api_keys.list_api_keys(call.db, caller.id, after=query.after(UUID), limit=query.limit + 1)
    page = query.page(found, lambda key: key.id)
    return Page([views.view_of_key(key, caller.permissions) for key in page.items], page.next_cursor)


@operation(
    "DELETE",
    "/auth/api-keys/{apiKeyID}",
    summary="Revoke an API key",
    tag=TAG,
    access=SIGNED_IN,
    problems=(PersonNeeded,),
)
async def delete_api_key(call: Call, api_key_id: UUID) -> None:
    """The key stops working everywhere within a second."""
    caller = person_of(call)
    owner_id = await api_keys.find_key_owner(call.db, api_key_id)
    if owner_id is None:
        raise NotFound(f"There is no API key {api_key_id}.")
    if owner_id != caller.id:
        raise Forbidden(f"The API key {api_key_id} is not yours.")
    await api_keys.delete_api_key(call.db, api_key_id)


def _refuse_more_than_held(wanted: list[Permission], caller: Caller) -> None:
    missing = [word for word in in_order(wanted) if word not in caller.permissions]
    if missing:
        raise Forbidden(f"A key can do no more than its creator, and you do not hold {', '.join(missing)}.")
