"""What crosses the wire about identity."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gridloom.edge import Caller, Instant, Name, RequestBody, View
from gridloom.identity.model import APIKey, Invitation, InvitationStatus, Member, Organisation
from gridloom.identity.permissions import OrganisationKind, Role, in_order
from gridloom.identity.signing_in.password_rules import LONGEST, SHORTEST
from gridloom.identity.signing_in.sessions import TokenPair
from gridloom.identity.tokens import ACCESS_LIFETIME, SigningKey, public_part
from gridloom.kernel.permission import Permission

Username = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        pattern=r"^\S+( \S+)*(?!\n)$",
        description="Unique, whatever the case of its letters",
    ),
]
NewPassword = Annotated[
    str, Meta(min_length=SHORTEST, max_length=LONGEST, description="At least 12 characters and hard to guess")
]
Email = Annotated[
    str, Meta(max_length=254, pattern=r"^[^@\s]{1,64}@[^@\s]{1,189}(?!\n)$", examples=["ada@example.org"])
]
OpaqueToken = Annotated[str, Meta(min_length=1, max_length=200)]
NOT_KEPT: Final = {"Cache-Control": "no-store"}
"""No cache on the way may keep an answer with a secret in it."""

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


class PasswordChange(RequestBody):
    current_password: Annotated[str, Meta(min_length=1, max_length=LONGEST)]
    new_password: NewPassword


class NewAPIKey(RequestBody):
    name: Name
    permissions: PermissionList
    expires_at: Instant | None = None


class NewOrganisation(RequestBody):
    name: Name
    kind: OrganisationKind


class OrganisationChange(RequestBody):
    name: Name | UnsetType = UNSET


class NewInvitation(RequestBody):
    email: Email
    role: Role


class MemberChange(RequestBody):
    role: Role | UnsetType = UNSET


class Tokens(msgspec.Struct, kw_only=True, frozen=True):
    """A pair of tokens, in the words of OAuth 2."""

    access_token: str
    token_type: Literal["Bearer"] = "Bearer"  # noqa: S105 — the word of the protocol
    expires_in: Annotated[int, Meta(description="Seconds")]
    refresh_token: str
    scope: Annotated[str, Meta(description="The permissions, separated by spaces")]


class PublicKey(View):
    """One of them (RFC 8037)."""

    kty: Literal["OKP"]
    crv: Literal["Ed25519"]
    alg: Literal["EdDSA"]
    use: Literal["sig"]
    kid: str
    x: Annotated[str, Meta(description="The key itself in base64url")]


class KeySet(View):
    """The public keys that verify access tokens (RFC 7517)."""

    keys: list[PublicKey]


class User(View):
    id: UUID
    username: str
    display_name: str
    organisation_id: UUID
    role: Role
    permissions: list[Permission]


class APIKeyView(View):
    """A key without its secret."""

    id: UUID
    name: str
    permissions: list[Permission]
    created_at: datetime
    expires_at: datetime | None


class IssuedAPIKey(View):
    """A new key with its secret, which is shown this once."""

    id: UUID
    name: str
    permissions: list[Permission]
    created_at: datetime
    expires_at: datetime | None
    secret: Annotated[str, Meta(description="Send it as a Bearer token. It cannot be shown again")]


class OrganisationView(View):
    id: UUID
    name: str
    kind: OrganisationKind
    created_at: datetime


class InvitationView(View):
    id: UUID
    organisation_id: UUID
    email: str
    role: Role
    status: InvitationStatus
    created_at: datetime
    expires_at: datetime


class IssuedInvitation(View):
    """A new invitation with its token, which is shown this once."""

    id: UUID
    organisation_id: UUID
    email: str
    role: Role
    status: InvitationStatus
    created_at: datetime
    expires_at: datetime
    token: Annotated[str, Meta(description="What the invited person sends when accepting. It cannot be shown again")]


class MemberView(View):
    id: UUID
    organisation_id: UUID
    username: str
    display_name: str
    role: Role
    created_at: datetime


def tokens_of(pair: TokenPair) -> Tokens:
    return Tokens(
        access_token=pair.access,
        expires_in=int(ACCESS_LIFETIME.total_seconds()),
        refresh_token=pair.refresh,
        scope=" ".join(in_order(pair.caller.permissions)),
    )


def user_of(caller: Caller) -> User:
    return User(
        id=caller.id,
        username=caller.username,
        display_name=caller.display_name,
        organisation_id=caller.organisation_id,
        role=Role(caller.role),
        permissions=in_order(caller.permissions),
    )


def view_of_key(key: APIKey, held: frozenset[str]) -> APIKeyView:
    """held: what the creator may do now; the key can do no more."""
    return APIKeyView(
        id=key.id,
        name=key.name,
        permissions=in_order(key.permissions & held),
        created_at=key.created_at,
        expires_at=key.expires_at,
    )


def view_of_organisation(organisation: Organisation) -> OrganisationView:
    return OrganisationView(
        id=organisation.id, name=organisation.name, kind=organisation.kind, created_at=organisation.created_at
    )


def view_of_invitation(invitation: Invitation) -> InvitationView:
    return InvitationView(
        id=invitation.id,
        organisation_id=invitation.organisation_id,
        email=invitation.email,
        role=invitation.role,
        status=invitation.status,
        created_at=invitation.created_at,
        expires_at=invitation.expires_at,
    )


def view_of_member(member: Member) -> MemberView:
    return MemberView(
        id=member.id,
        organisation_id=member.organisation_id,
        username=member.username,
        display_name=member.display_name,
        role=member.role,
        created_at=member.created_at,
    )


def view_of_signing_key(key: SigningKey) -> PublicKey:
    return PublicKey(kty="OKP", crv="Ed25519", alg="EdDSA", use="sig", kid=key.kid, x=public_part(key))
