"""Request and response bodies of identity."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gridloom.kernel.copying import copy_fields
from gridloom.kernel.networks import network_of
from gridloom.kernel.permission import Permission
from gridloom.platform.http import Caller, Instant, Name, RequestBody, ResponseBody, pattern_meta
from gridloom.platform.identity.login.password_rules import LONGEST, SHORTEST
from gridloom.platform.identity.login.sessions import TokenPair
from gridloom.platform.identity.model import (
    APIKey,
    Invitation,
    InvitationStatus,
    Member,
    MemberKey,
    Organisation,
    Session,
    SessionKind,
)
from gridloom.platform.identity.permissions import OrganisationKind, Role, in_order
from gridloom.platform.identity.tokens import ACCESS_LIFETIME, SigningKey, public_part

Username = Annotated[
    str,
    pattern_meta(
        r"^\S+( \S+)*(?!\n)$",
        "a user name without spaces at its ends or two in a row, such as ada",
        min_length=1,
        max_length=200,
    ),
]
NewPassword = Annotated[str, Meta(min_length=SHORTEST, max_length=LONGEST)]
Email = Annotated[
    str,
    pattern_meta(r"^[^@\s]{1,64}@[^@\s]{1,189}(?!\n)$", "an e-mail address, such as ada@example.org", max_length=254),
]
OpaqueToken = Annotated[str, Meta(min_length=1, max_length=200)]
NO_STORE: Final = {"Cache-Control": "no-store"}
"""No cache on the way may keep an answer with a secret in it."""

Code = Annotated[str, pattern_meta(r"^[0-9]{6}(?!\n)$", "six digits, such as 492039")]
Networks = Annotated[list[Annotated[str, Meta(max_length=50)]], Meta(max_length=100)]
KeyAgeDays = Annotated[int, Meta(ge=1, le=3650)]
PermissionList = Annotated[list[Permission], Meta(min_length=1, max_length=100)]


class Credentials(RequestBody):
    username: Annotated[str, Meta(min_length=1, max_length=200)]
    password: Annotated[str, Meta(min_length=1, max_length=LONGEST)]


class RefreshRequest(RequestBody):
    refresh_token: OpaqueToken = msgspec.field(name="refresh_token")


class Acceptance(RequestBody):
    token: OpaqueToken
    username: Username
    password: NewPassword
    display_name: Name


class SecondFactorCode(RequestBody):
    challenge: OpaqueToken
    code: Annotated[str, Meta(min_length=1, max_length=40)]


class PasswordChange(RequestBody):
    current_password: Annotated[str, Meta(min_length=1, max_length=LONGEST)]
    new_password: NewPassword
    keep_api_keys: bool = msgspec.field(name="keepAPIKeys", default=False)


class NewAPIKey(RequestBody):
    name: Name
    permissions: PermissionList
    expires_at: Instant | None = None
    physical_asset_ids: Annotated[list[UUID], Meta(min_length=1, max_length=1000)] | None = None
    allowed_networks: Networks | None = None


QuotaBytes = Annotated[int, Meta(ge=0, le=2**62)]


class NewOrganisation(RequestBody):
    name: Name
    kind: OrganisationKind


Address = Annotated[str, Meta(max_length=500)]


class OrganisationChange(RequestBody):
    name: Name | UnsetType = UNSET
    require_second_factor: bool | UnsetType = UNSET
    max_key_age_days: KeyAgeDays | UnsetType = UNSET
    allowed_networks: Networks | UnsetType = UNSET
    telemetry_quota: QuotaBytes | UnsetType = UNSET
    address: Address | UnsetType = UNSET


class NewInvitation(RequestBody):
    email: Email
    role: Role


class MemberChange(RequestBody):
    role: Role | UnsetType = UNSET


class Tokens(msgspec.Struct, kw_only=True, frozen=True):
    """A pair of tokens, in the words of OAuth 2."""

    access_token: str
    token_type: Literal["Bearer"] = "Bearer"  # noqa: S105 — the word of the protocol
    expires_in: int
    refresh_token: str
    scope: str


class PublicKey(ResponseBody):
    """One of them (RFC 8037)."""

    kty: Literal["OKP"]
    crv: Literal["Ed25519"]
    alg: Literal["EdDSA"]
    use: Literal["sig"]
    kid: str
    x: str


class KeySet(ResponseBody):
    """The public keys that verify access tokens (RFC 7517)."""

    keys: list[PublicKey]


class User(ResponseBody):
    id: UUID
    username: str
    display_name: str
    organisation_id: UUID
    role: Role
    permissions: list[Permission]
    has_second_factor: bool
    must_enrol_second_factor: bool


class SessionView(ResponseBody):
    """Where the caller is signed in."""

    id: UUID
    kind: SessionKind
    created_at: datetime
    last_used_at: datetime
    network: str | None
    user_agent: str | None
    current: bool


class APIKeyView(ResponseBody):
    """A key without its secret."""

    id: UUID
    name: str
    permissions: list[Permission]
    created_at: datetime
    expires_at: datetime
    physical_asset_ids: list[UUID] | None
    allowed_networks: list[str]


class MemberAPIKeyView(APIKeyView):
    """A member's key without its secret."""

    user_id: UUID
    username: str


class IssuedAPIKey(APIKeyView):
    """A new key with its secret, which is shown this once."""

    secret: str


class OrganisationView(ResponseBody):
    id: UUID
    name: str
    kind: OrganisationKind
    created_at: datetime
    require_second_factor: bool
    max_key_age_days: int
    allowed_networks: list[str]
    telemetry_quota: int | None
    address: str


class InvitationView(ResponseBody):
    id: UUID
    organisation_id: UUID
    email: str
    role: Role
    status: InvitationStatus
    created_at: datetime
    expires_at: datetime


class IssuedInvitation(InvitationView):
    """A new invitation with its token, which is shown this once."""

    token: str


class MemberView(ResponseBody):
    id: UUID
    organisation_id: UUID
    username: str
    display_name: str
    role: Role
    created_at: datetime
    email: str | None
    has_second_factor: bool


def tokens_of(pair: TokenPair) -> Tokens:
    return Tokens(
        access_token=pair.access,
        expires_in=int(ACCESS_LIFETIME.total_seconds()),
        refresh_token=pair.refresh,
        scope=" ".join(in_order(pair.caller.permissions)),
    )


def user_of(caller: Caller) -> User:
    return copy_fields(
        User,
        caller,
        role=Role(caller.role),
        permissions=in_order(caller.permissions),
        must_enrol_second_factor=caller.must_enrol,
    )


def view_of_session(session: Session, current_id: UUID) -> SessionView:
    network = None if session.address is None else network_of(session.address)
    return copy_fields(SessionView, session, network=network, current=session.id == current_id)


def view_of_key(key: APIKey, held: frozenset[str]) -> APIKeyView:
    """held: what the creator may do now; the key can do no more."""
    return copy_fields(APIKeyView, key, permissions=in_order(key.permissions & held))


def view_of_member_key(found: MemberKey) -> MemberAPIKeyView:
    shown = view_of_key(found.key, found.held)
    return copy_fields(MemberAPIKeyView, shown, user_id=found.key.member_id, username=found.username)


def view_of_organisation(organisation: Organisation) -> OrganisationView:
    return copy_fields(OrganisationView, organisation, telemetry_quota=organisation.telemetry_quota_bytes)


def view_of_invitation(invitation: Invitation) -> InvitationView:
    return copy_fields(InvitationView, invitation)


def view_of_member(member: Member, *, with_email: bool) -> MemberView:
    return copy_fields(MemberView, member, email=member.email if with_email else None)


def view_of_signing_key(key: SigningKey) -> PublicKey:
    return PublicKey(kty="OKP", crv="Ed25519", alg="EdDSA", use="sig", kid=key.kid, x=public_part(key))
