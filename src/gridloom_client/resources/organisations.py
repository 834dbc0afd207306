"""Organisations, their invitations and members, and the audit log."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from gridloom_client.answers import (
    AuditEntry,
    IdentityProvider,
    Invitation,
    IssuedInvitation,
    Member,
    MemberApiKey,
    Organisation,
    Usage,
)
from gridloom_client.literals import OrganisationKind, Role
from gridloom_client.operations import M, Resource, collection, operation
from gridloom_client.resources.queries import PagedWindow
from gridloom_client.wire import ID, UNSET, UnsetType


class Organisations(Resource[M]):
    """Who takes part."""

    @collection("/organisations")
    def list(self, *, page_size: int | None = None) -> Organisation:
        """All of them for the operator, one's own for others."""

    @operation("POST", "/organisations")
    def create(self, *, name: str, kind: OrganisationKind = "PARTICIPANT") -> Organisation:
        """Operator only."""

    @operation("GET", "/organisations/{organisationID}")
    def get(self, organisation_id: ID) -> Organisation: ...

    @operation("PATCH", "/organisations/{organisationID}")
    def update(
        self,
        organisation_id: ID,
        *,
        name: str | UnsetType = UNSET,
        require_second_factor: bool | UnsetType = UNSET,
        max_key_age_days: int | UnsetType = UNSET,
        allowed_networks: Sequence[str] | UnsetType = UNSET,
        telemetry_quota: int | UnsetType = UNSET,
        address: str | UnsetType = UNSET,
        if_match: str | None = None,
    ) -> Organisation:
        """Fields that are left out stay."""

    @operation("GET", "/organisations/{organisationID}/usage")
    def usage(self, organisation_id: ID) -> Usage:
        """Every share of the organisation and its use."""

    @collection("/organisations/{organisationID}/invitations")
    def invitations(self, organisation_id: ID, *, page_size: int | None = None) -> Invitation: ...

    @operation("POST", "/organisations/{organisationID}/invitations")
    def invite(self, organisation_id: ID, *, email: str, role: Role) -> IssuedInvitation:
        """The invitation's token is shown this once."""

    @operation("DELETE", "/organisations/{organisationID}/invitations/{invitationID}")
    def revoke_invitation(self, organisation_id: ID, invitation_id: ID) -> None: ...

    @collection("/organisations/{organisationID}/members")
    def members(self, organisation_id: ID, *, page_size: int | None = None) -> Member: ...

    @operation("PATCH", "/organisations/{organisationID}/members/{userID}")
    def change_role(self, organisation_id: ID, user_id: ID, *, role: Role, if_match: str | None = None) -> Member: ...

    @operation("DELETE", "/organisations/{organisationID}/members/{userID}")
    def remove_member(self, organisation_id: ID, user_id: ID, *, if_match: str | None = None) -> None: ...

    @operation("DELETE", "/organisations/{organisationID}/members/{userID}/second-factor")
    def reset_second_factor(self, organisation_id: ID, user_id: ID) -> None:
        """For a member who has lost it."""

    @collection("/organisations/{organisationID}/api-keys")
    def api_keys(self, organisation_id: ID, *, page_size: int | None = None) -> MemberApiKey:
        """Every member's, for ADMINs."""

    @operation("DELETE", "/organisations/{organisationID}/api-keys/{apiKeyID}")
    def revoke_api_key(self, organisation_id: ID, api_key_id: ID) -> None: ...

    @operation("GET", "/organisations/{organisationID}/identity-provider")
    def identity_provider(self, organisation_id: ID) -> IdentityProvider: ...

    @operation("PUT", "/organisations/{organisationID}/identity-provider")
    def set_identity_provider(
        self,
        organisation_id: ID,
        *,
        issuer: str,
        client_id: str,
        domains: Sequence[str],
        client_secret: str | None = None,
        required: bool | None = None,
        role_claim: str | None = None,
        default_role: Role | None = None,
        if_match: str | None = None,
    ) -> IdentityProvider:
        """Single sign-on by OpenID Connect."""

    @operation("DELETE", "/organisations/{organisationID}/identity-provider")
    def remove_identity_provider(self, organisation_id: ID, *, if_match: str | None = None) -> None: ...

    @collection("/audit-log")
    def audit_log(
        self,
        *,
        actor_id: ID | None = None,
        resource: str | None = None,
        action: str | None = None,
        **window: Unpack[PagedWindow],
    ) -> AuditEntry:
        """Who did what, when, from where; newest first."""
