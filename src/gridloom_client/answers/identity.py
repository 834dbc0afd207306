"""Answers about people, organisations and what they did."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import msgspec

from gridloom_client.answers.answered import Answered, Record


class SignedIn(msgspec.Struct, kw_only=True, frozen=True):
    """A pair of tokens. Clients obtain and renew theirs by themselves."""

    access_token: str
    token_type: str = "Bearer"  # noqa: S105 — a scheme, not a secret
    expires_in: float = 900.0
    refresh_token: str | None = None
    scope: str | None = None

    def __repr__(self) -> str:
        return f"SignedIn(expires_in={self.expires_in})"


class Me(Answered):
    id: UUID
    organisation_id: UUID
    username: str | None = None
    display_name: str | None = None
    role: str | None = None
    permissions: tuple[str, ...] = ()
    has_second_factor: bool = False
    must_enrol_second_factor: bool = False


class User(Answered):
    id: UUID
    username: str
    display_name: str | None = None
    organisation_id: UUID | None = None
    role: str | None = None


class NewTotp(Answered):
    """The one answer that shows the secret of a second factor."""

    secret: str
    uri: str


class RecoveryCodes(Answered):
    """The one answer that shows them."""

    recovery_codes: tuple[str, ...]


class SessionEntry(Answered):
    """`kind` is TOKEN or CONSOLE."""

    id: UUID
    kind: str
    created_at: datetime
    last_used_at: datetime
    current: bool
    network: str | None = None
    user_agent: str | None = None


class ApiKeyEntry(Answered):
    id: UUID
    name: str
    permissions: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None = None
    physical_asset_ids: tuple[UUID, ...] | None = None
    allowed_networks: tuple[str, ...] = ()


class MemberApiKey(Answered):
    """A member's key."""

    id: UUID
    user_id: UUID
    username: str
    name: str
    permissions: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None = None
    physical_asset_ids: tuple[UUID, ...] | None = None
    allowed_networks: tuple[str, ...] = ()


class IssuedApiKey(Answered):
    """The one answer that shows the secret."""

    id: UUID
    name: str
    secret: str
    permissions: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None = None
    physical_asset_ids: tuple[UUID, ...] | None = None
    allowed_networks: tuple[str, ...] = ()


class Organisation(Answered):
    id: UUID
    name: str
    kind: str
    created_at: datetime | None = None
    require_second_factor: bool = False
    max_key_age_days: int = 365
    allowed_networks: tuple[str, ...] = ()
    telemetry_quota: int | None = None
    address: str = ""


class ShareUsage(Answered):
    """`counted` is REPLICA or PLATFORM, `unit` COUNT or BYTES."""

    share: str
    used: int
    limit: int | None
    unit: str
    counted: str
    per_minute: int | None = None
    per_user: int | None = None
    waiting: int | None = None
    max_waiting: int | None = None
    as_of: datetime | None = None


class Usage(Answered):
    organisation_id: UUID
    shares: tuple[ShareUsage, ...] = ()


class IdentityProvider(Answered):
    """Without its client secret."""

    issuer: str
    client_id: str
    domains: tuple[str, ...]
    required: bool = False
    role_claim: str | None = None
    default_role: str | None = None


class Invitation(Answered):
    """`status` is PENDING, ACCEPTED, REVOKED or EXPIRED."""

    id: UUID
    organisation_id: UUID
    email: str
    role: str
    status: str
    created_at: datetime
    expires_at: datetime


class IssuedInvitation(Answered):
    """The one answer that shows the token."""

    id: UUID
    organisation_id: UUID
    email: str
    role: str
    token: str
    expires_at: datetime


class Member(Answered):
    id: UUID
    username: str
    role: str
    display_name: str | None = None
    email: str | None = None
    has_second_factor: bool = False


class AuditEntry(Answered):
    """Who did what to which resource, when, from where, and how it ended."""

    id: UUID
    time: datetime
    actor_kind: str
    action: str
    method: str
    resource: str
    status: int
    organisation_id: UUID | None = None
    actor_id: UUID | None = None
    actor_name: str | None = None
    address: str | None = None
    details: Record | None = None
