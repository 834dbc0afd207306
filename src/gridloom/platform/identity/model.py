"""Organisations, members, sessions, keys and invitations as they are kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from gridloom.kernel.entity_tag import entity_tag
from gridloom.kernel.ids import APIKeyID, InvitationID, OrganisationID, SessionID, UserID, uuid7, uuid7_time
from gridloom.kernel.networks import Network
from gridloom.kernel.permission import Permission
from gridloom.platform.identity.permissions import OrganisationKind, Role, permissions_of


@dataclass(frozen=True, slots=True)
class Organisation:
    id: OrganisationID
    name: str
    kind: OrganisationKind
    version: int
    created_at: datetime
    updated_at: datetime
    require_second_factor: bool = False
    max_key_age_days: int = 365
    allowed_networks: tuple[str, ...] = ()
    telemetry_quota_bytes: int | None = None
    address: str = ""

    @property
    def etag(self) -> str:
        return entity_tag(self.version, self.id)


def new_organisation(name: str, kind: OrganisationKind) -> Organisation:
    """A new one. Lists are ordered by the time in its id, so that is when it was created."""
    organisation_id = OrganisationID(uuid7())
    instant = uuid7_time(organisation_id)
    return Organisation(organisation_id, name, kind, version=1, created_at=instant, updated_at=instant)


@dataclass(frozen=True, slots=True)
class Member:
    id: UserID
    organisation_id: OrganisationID
    organisation_kind: OrganisationKind
    username: str
    display_name: str
    role: Role
    version: int
    created_at: datetime
    email: str | None = None
    has_second_factor: bool = False

    @property
    def permissions(self) -> frozenset[Permission]:
        return permissions_of(self.role, self.organisation_kind)

    @property
    def etag(self) -> str:
        return entity_tag(self.version, self.id)


@dataclass(frozen=True, slots=True)
class Account:
    """A member with what a login is checked against."""

    member: Member
    password_hash: str | None
    """None for a member who signs in by single sign-on alone."""
    allowed_networks: tuple[Network, ...] = ()
    """Those of the organisation; none means any."""
    must_use_single_sign_on: bool = False


@dataclass(frozen=True, slots=True)
class NewSession:
    """A login that has just been recorded, by the database's clock."""

    id: SessionID
    began_at: datetime


class SessionKind(StrEnum):
    TOKEN = "TOKEN"  # noqa: S105 — a kind, not a token
    CONSOLE = "CONSOLE"


class SignInMethod(StrEnum):
    PASSWORD = "PASSWORD"  # noqa: S105 — a method, not a password
    SINGLE_SIGN_ON = "SINGLE_SIGN_ON"


@dataclass(frozen=True, slots=True)
class Session:
    """A login as its member sees it."""

    id: SessionID
    member_id: UserID
    kind: SessionKind
    created_at: datetime
    last_used_at: datetime
    address: str | None
    user_agent: str | None


class SessionEnd(StrEnum):
    LOGOUT = "LOGOUT"
    PASSWORD_CHANGED = "PASSWORD_CHANGED"  # noqa: S105 — a cause, not a password
    REFRESH_REUSED = "REFRESH_REUSED"
    ENDED_BY_USER = "ENDED_BY_USER"
    PASSWORDS_DISALLOWED = "PASSWORDS_DISALLOWED"


@dataclass(frozen=True, slots=True)
class APIKey:
    id: APIKeyID
    member_id: UserID
    name: str
    permissions: frozenset[str]
    """The requested permissions; those in force are never more than the creator's own."""
    created_at: datetime
    expires_at: datetime
    physical_asset_ids: tuple[UUID, ...] | None = None
    """The only assets it reaches; None for all that its creator's organisation reaches."""
    allowed_networks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemberKey:
    """An API key with the member who made it."""

    key: APIKey
    username: str
    held: frozenset[Permission]
    """The member's permissions now; the key has no more."""


class InvitationStatus(StrEnum):
    PENDING = "PENDING"
    ACCEPTED = "ACCEPTED"
    REVOKED = "REVOKED"
    EXPIRED = "EXPIRED"


@dataclass(frozen=True, slots=True)
class Invitation:
    id: InvitationID
    organisation_id: OrganisationID
    email: str
    role: Role
    invited_by: UUID
    created_at: datetime
    expires_at: datetime
    status: InvitationStatus


@dataclass(frozen=True, slots=True)
class GrantRecord:
    """Permissions of an organisation on an asset that it does not own."""

    asset_key: int
    organisation_id: OrganisationID
    organisation_name: str
    permissions: frozenset[str]
    granted_by: UUID
    version: int
    created_at: datetime
    updated_at: datetime

    @property
    def etag(self) -> str:
        # The time keeps a grant that was taken back and given again apart from the first one.
        return entity_tag(self.version, self.updated_at)
