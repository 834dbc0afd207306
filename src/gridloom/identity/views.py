"""What crosses the wire about identity."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gridloom.edge import Caller, Instant, Name, RequestBody, ResponseBody
from gridloom.identity.login.password_rules import LONGEST, SHORTEST
from gridloom.identity.login.sessions import TokenPair
from gridloom.identity.model import (
    APIKey,
    Invitation,
    InvitationStatus,
    Member,
    MemberKey,
    Organisation,
    Session,
    SessionKind,
)
from gridloom.identity.permissions import OrganisationKind, Role, in_order
from gridloom.identity.tokens import ACCESS_LIFETIME, SigningKey, public_part
from gridloom.kernel.networks import network_of
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
NO_STORE: Final = {"Cache-Control": "no-store"}
"""No cache on the way may keep an answer with a secret in it."""

Code = Annotated[str, Meta(pattern=r"^[0-9]{6}(?!\n)$", description="Six digits", examples=["492039"])]
Networks = Annotated[
    list[Annotated[str, Meta(max_length=50, examples=["203.0.113.0/24"])]],
    Meta(max_length=100, description="In CIDR notation; none means any"),
]
KeyAgeDays = Annotated[int, Meta(ge=1, le=3650, description="Within how many days a new API key ends")]
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
    code: Annotated[str, Meta(min_length=1, max_length=40, description="Of the device, or a recovery code")]


class PasswordChange(RequestBody):
    current_password: Annotated[str, Meta(min_length=1, max_length=LONGEST)]
    new_password: NewPassword
    keep_api_keys: Annotated[
        bool, Meta(description="Whether the user's API keys go on working; otherwise they are revoked")
    ] = msgspec.field(name="keepAPIKeys", default=False)


class NewAPIKey(RequestBody):
    name: Name
    permissions: PermissionList
    expires_at: Annotated[
        Instant | None, Meta(description="Within the organisation's `maxKeyAgeDays`, which is also the default")
    ] = None
    physical_asset_ids: (
        Annotated[
            list[UUID],
            Meta(min_length=1, max_length=1000, description="The only assets the key reaches; all when left out"),
        ]
        | None
    ) = None
    allowed_networks: Networks | None = None


QuotaBytes = Annotated[
    int, Meta(ge=0, le=2**62, description="Bytes of telemetry that its batteries may store. The operator sets it")
]


class NewOrganisation(RequestBody):
    name: Name
    kind: OrganisationKind


Address = Annotated[
    str,
    Meta(
        max_length=500,
        description="Up to six lines, as statements show it; an empty one is none",
        examples=["Fleetinsel 7\n20459 Hamburg"],
    ),
]


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
    expires_in: Annotated[int, Meta(description="Seconds")]
    refresh_token: str
    scope: Annotated[str, Meta(description="The permissions, separated by spaces")]


class PublicKey(ResponseBody):
    """One of them (RFC 8037)."""

    kty: Literal["OKP"]
    crv: Literal["Ed25519"]
    alg: Literal["EdDSA"]
    use: Literal["sig"]
    kid: str
    x: Annotated[str, Meta(description="The key itself in base64url")]


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
    must_enrol_second_factor: Annotated[
        bool, Meta(description="Whether the organisation demands a second factor that is still missing")
    ]


class SessionView(ResponseBody):
    """Where the caller is signed in."""

    id: UUID
    kind: SessionKind
    created_at: datetime
    last_used_at: Annotated[datetime, Meta(description="Exact to five minutes")]
    network: Annotated[str | None, Meta(description="Where the sign-in came from", examples=["203.0.113.7"])]
    user_agent: Annotated[str | None, Meta(description="What the signing-in program called itself")]
    current: Annotated[bool, Meta(description="Whether this request belongs to it")]


class APIKeyView(ResponseBody):
    """A key without its secret."""

    id: UUID
    name: str
    permissions: list[Permission]
    created_at: datetime
    expires_at: datetime
    physical_asset_ids: Annotated[list[UUID] | None, Meta(description="null: all that its creator reaches")]
    allowed_networks: list[str]


class MemberAPIKeyView(APIKeyView):
    """A member's key without its secret."""

    user_id: UUID
    username: str


class IssuedAPIKey(APIKeyView):
    """A new key with its secret, which is shown this once."""

    secret: Annotated[str, Meta(description="Send it as a Bearer token. It cannot be shown again")]


class OrganisationView(ResponseBody):
    id: UUID
    name: str
    kind: OrganisationKind
    created_at: datetime
    require_second_factor: bool
    max_key_age_days: int
    allowed_networks: list[str]
    telemetry_quota: Annotated[
        int | None, Meta(description="Bytes of telemetry that its batteries may store; null: no limit")
    ]
    address: Annotated[str, Meta(description="As statements show it; empty where it is not given")]


class InvitationView(ResponseBody):
    id: UUID
    organisation_id: UUID
    email: str
    role: Role
    status: InvitationStatus
    created_at: datetime
    expires_at: datetime


class IssuedInvitation(ResponseBody):
    """A new invitation with its token, which is shown this once."""

    id: UUID
    organisation_id: UUID
    email: str
    role: Role
    status: InvitationStatus
    created_at: datetime
    expires_at: datetime
    token: Annotated[str, Meta(description="What the invited person sends when accepting. It cannot be shown again")]


class MemberView(ResponseBody):
    id: UUID
    organisation_id: UUID
    username: str
    display_name: str
    role: Role
    created_at: datetime
    email: Annotated[str | None, Meta(description="Of the invitation; shown to ADMINs")]
    has_second_factor: bool


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
        has_second_factor=caller.has_second_factor,
        must_enrol_second_factor=caller.must_enrol,
    )


def view_of_session(session: Session, current_id: UUID) -> SessionView:
    return SessionView(
        id=session.id,
        kind=session.kind,
        created_at=session.created_at,
        last_used_at=session.last_used_at,
        network=None if session.address is None else network_of(session.address),
        user_agent=session.user_agent,
        current=session.id == current_id,
    )


def view_of_key(key: APIKey, held: frozenset[str]) -> APIKeyView:
    """held: what the creator may do now; the key can do no more."""
    return APIKeyView(
        id=key.id,
        name=key.name,
        permissions=in_order(key.permissions & held),
        created_at=key.created_at,
        expires_at=key.expires_at,
        physical_asset_ids=None if key.physical_asset_ids is None else list(key.physical_asset_ids),
        allowed_networks=list(key.allowed_networks),
    )


def view_of_member_key(found: MemberKey) -> MemberAPIKeyView:
    shown = view_of_key(found.key, found.held)
    return MemberAPIKeyView(**msgspec.structs.asdict(shown), user_id=found.key.member_id, username=found.username)


def view_of_organisation(organisation: Organisation) -> OrganisationView:
    return OrganisationView(
        id=organisation.id,
        name=organisation.name,
        kind=organisation.kind,
        created_at=organisation.created_at,
        require_second_factor=organisation.require_second_factor,
        max_key_age_days=organisation.max_key_age_days,
        allowed_networks=list(organisation.allowed_networks),
        telemetry_quota=organisation.telemetry_quota_bytes,
        address=organisation.address,
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


def view_of_member(member: Member, *, with_email: bool) -> MemberView:
    return MemberView(
        id=member.id,
        organisation_id=member.organisation_id,
        username=member.username,
        display_name=member.display_name,
        role=member.role,
        created_at=member.created_at,
        email=member.email if with_email else None,
        has_second_factor=member.has_second_factor,
    )


def view_of_signing_key(key: SigningKey) -> PublicKey:
    return PublicKey(kty="OKP", crv="Ed25519", alg="EdDSA", use="sig", kid=key.kid, x=public_part(key))
