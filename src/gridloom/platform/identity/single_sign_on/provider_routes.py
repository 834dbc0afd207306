"""An organisation's identity provider: `/organisations/{organisationID}/identity-provider`."""

from __future__ import annotations

import re
from typing import Annotated
from uuid import UUID

from msgspec import Meta

from gridloom.kernel.copying import copy_fields
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import BadRequest, FieldError, Forbidden, NotFound
from gridloom.platform.database.sealing import Sealing
from gridloom.platform.http import Request, RequestBody, Response, ResponseBody, operation
from gridloom.platform.identity.authorization import ORGANISATION, authorize_organisation
from gridloom.platform.identity.permissions import Role, in_order, permissions_of
from gridloom.platform.identity.person import PersonNeeded, ReauthenticationRequired, fresh_person_of
from gridloom.platform.identity.single_sign_on.model import IdentityProvider
from gridloom.platform.identity.store import identity_providers as store
from gridloom.platform.identity.store.organisations import lock_organisation
from gridloom.platform.identity.store.sessions import end_password_sessions
from gridloom.platform.outbound.url_policy import AddressNotAllowed, UrlPolicy

TAG = "Organisations"
MANAGE = Permission.MANAGE_ORGANISATION
_DOMAIN = re.compile(r"(?=.{3,253}\Z)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]")


class NewIdentityProvider(RequestBody):
    issuer: Annotated[str, Meta(min_length=8, max_length=500)]
    client_id: Annotated[str, Meta(min_length=1, max_length=300)]
    domains: Annotated[list[Annotated[str, Meta(max_length=253)]], Meta(min_length=1, max_length=50)]
    client_secret: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None
    required: bool = False
    role_claim: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    default_role: Role | None = None


class IdentityProviderView(ResponseBody):
    issuer: str
    client_id: str
    domains: list[str]
    required: bool
    role_claim: str | None
    default_role: Role | None


@operation(
    "GET", ORGANISATION + "/identity-provider", summary="Read an organisation's identity provider", access=MANAGE
)
async def read_identity_provider(request: Request, organisation_id: UUID) -> Response[IdentityProviderView]:
    """Without its client secret."""
    await authorize_organisation(request.db, request.caller, organisation_id)
    provider = await store.find_provider(request.db, organisation_id)
    if provider is None:
        raise NotFound("The organisation has no identity provider.")
    return _answer_provider(provider)


@operation(
    "PUT",
    ORGANISATION + "/identity-provider",
    summary="Set an organisation's identity provider",
    access=MANAGE,
    problems=(PersonNeeded, ReauthenticationRequired, AddressNotAllowed),
)
async def put_identity_provider(
    request: Request, organisation_id: UUID, body: NewIdentityProvider
) -> Response[IdentityProviderView]:
    """OpenID Connect. A first sign-in matches a member or a pending invitation by verified e-mail within `domains`,
    then binds the subject for good. Left out, `clientSecret` stays. `required` ends passwords, and the sessions begun
    with one, for all but ADMINs."""
    await fresh_person_of(request)
    await authorize_organisation(request.db, request.caller, organisation_id)
    organisation = await lock_organisation(request.db, organisation_id)
    request.resources[UrlPolicy].check_url(body.issuer)
    if "?" in body.issuer:
        raise BadRequest.at("/issuer", "/issuer: has a query", "has a query")
    if body.default_role is not None:
        missing = in_order(permissions_of(body.default_role, organisation.kind) - request.caller.permissions)
        if missing:
            raise Forbidden(f"{body.default_role} may do what you may not: {', '.join(missing)}.")
    before = await store.find_provider(request.db, organisation_id)
    if before is not None:
        request.check_if_match(before.etag)
    stored = await store.put_provider(request.db, _make_provider(request, organisation_id, body, before))
    if stored.required and (before is None or not before.required):
        await end_password_sessions(request.db, organisation_id)
    request.audit_details.update(issuer=stored.issuer, domains=list(stored.domains), required=stored.required)
    return _answer_provider(stored)


@operation(
    "DELETE",
    ORGANISATION + "/identity-provider",
    summary="Remove an organisation's identity provider",
    access=MANAGE,
    problems=(PersonNeeded, ReauthenticationRequired),
)
async def delete_identity_provider(request: Request, organisation_id: UUID) -> None:
    """Members without a password cannot sign in until they are invited anew or there is a provider again."""
    await fresh_person_of(request)
    await authorize_organisation(request.db, request.caller, organisation_id)
    await lock_organisation(request.db, organisation_id)
    provider = await store.find_provider(request.db, organisation_id)
    if provider is None:
        raise NotFound("The organisation has no identity provider.")
    request.check_if_match(provider.etag)
    await store.delete_provider(request.db, organisation_id)
    request.audit_details.update(issuer=provider.issuer)


def _make_provider(
    request: Request, organisation_id: UUID, body: NewIdentityProvider, before: IdentityProvider | None
) -> IdentityProvider:
    domains = [domain.lower().removeprefix("@") for domain in body.domains]
    faults = [
        FieldError(f"/domains/{index}", "is not a domain")
        for index, domain in enumerate(domains)
        if _DOMAIN.fullmatch(domain) is None
    ]
    same = before is not None and (before.issuer, before.client_id) == (body.issuer, body.client_id)
    if body.client_secret is None and not same:
        faults.append(FieldError("/clientSecret", "is missing"))
    if faults:
        raise BadRequest(f"{faults[0].pointer}: {faults[0].detail}", errors=faults)
    if body.client_secret is not None:
        sealed = request.resources[Sealing].identity_providers.close(body.client_secret.encode())
    else:
        assert before is not None
        sealed = before.sealed_client_secret
    return IdentityProvider(
        organisation_id=organisation_id,
        issuer=body.issuer,
        client_id=body.client_id,
        sealed_client_secret=sealed,
        domains=tuple(dict.fromkeys(domains)),
        required=body.required,
        role_claim=body.role_claim,
        default_role=body.default_role,
    )


def _answer_provider(provider: IdentityProvider) -> Response[IdentityProviderView]:
    return Response(copy_fields(IdentityProviderView, provider), etag=provider.etag)
