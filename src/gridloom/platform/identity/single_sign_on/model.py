"""An identity provider as an organisation has set it up, and what it says of a person."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from gridloom.kernel.entity_tag import entity_tag
from gridloom.platform.identity.permissions import Role


@dataclass(frozen=True, slots=True)
class IdentityProvider:
    organisation_id: UUID
    issuer: str
    client_id: str
    sealed_client_secret: bytes = field(repr=False)
    domains: tuple[str, ...]
    required: bool
    role_claim: str | None
    default_role: Role | None
    version: int = 1
    created_at: datetime | None = None

    @property
    def etag(self) -> str:
        """With the time at which it was set up: versions start again after a deletion."""
        assert self.created_at is not None, "only a stored provider has one"
        return entity_tag(self.version, self.organisation_id, self.created_at)


@dataclass(frozen=True, slots=True)
class SignOnAttempt:
    """A sign-in that has gone to the provider and not come back yet."""

    organisation_id: UUID
    issuer: str
    nonce: str
    code_verifier: str = field(repr=False)
    browser_hash: bytes
    redirect: str
    client_challenge: str | None


@dataclass(frozen=True, slots=True)
class ExternalPerson:
    """Claims that were verified."""

    issuer: str
    subject: str
    email: str | None
    """Only if the provider says that it has verified it."""
    name: str | None
    claims: dict[str, Any]

    def is_within(self, domains: tuple[str, ...]) -> bool:
        return self.email is not None and self.email.rpartition("@")[2].lower() in domains


def role_in(claims: dict[str, Any], claim: str | None) -> Role | None:
    """The first of our roles, from the highest, that a claim names; None where it names none."""
    value = claims.get(claim) if claim is not None else None
    named = (
        {value}
        if isinstance(value, str)
        else {one for one in value if isinstance(one, str)}
        if isinstance(value, list)
        else set()
    )
    return next((role for role in Role if role in {one.upper() for one in named}), None)
