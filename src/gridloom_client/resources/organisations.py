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
        """List organisations.

        The oldest first. The operator sees all of them, other callers their own.

        Args:
            page_size: How many items are fetched at a time
        """

    @operation("POST", "/organisations")
    def create(self, *, name: str, kind: OrganisationKind = "PARTICIPANT") -> Organisation:
        """Create an organisation.

        The platform's operator only. Its first ADMIN comes by invitation.

        Args:
            name: Name of the organisation, in one line
            kind: OPERATOR: runs the platform; PARTICIPANT: any other

        Example:
            client.organisations.create(name="Nordlicht Trading")
        """

    @operation("GET", "/organisations/{organisationID}")
    def get(self, organisation_id: ID) -> Organisation:
        """Read an organisation.

        Members of an organisation read their own; the operator reads any.

        Args:
            organisation_id: The organisation
        """

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
        """Change an organisation.

        Fields that are left out stay. What it demands of its members and keys is changed by a person who has signed in
        within the last ten minutes. A lower `maxKeyAgeDays` shortens the keys there are: each ends within so many days.

        Args:
            organisation_id: The organisation
            name: Name of the organisation, in one line
            require_second_factor: Whether every member must have a second factor
            max_key_age_days: Days after which an API key expires at the latest
            allowed_networks: Networks from which calls are taken, in CIDR notation; an empty list means any
            telemetry_quota: Bytes of telemetry that its batteries may store; set by the operator
            address: Postal address on statements, up to six lines; an empty text removes it
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
        """

    @operation("GET", "/organisations/{organisationID}/usage")
    def usage(self, organisation_id: ID) -> Usage:
        """Read what an organisation uses of its shares.

        For any member. Beyond a share requests are answered 429 `share-exceeded` with its name; API keys and stored
        telemetry 409.

        Args:
            organisation_id: The organisation
        """

    @collection("/organisations/{organisationID}/invitations")
    def invitations(self, organisation_id: ID, *, page_size: int | None = None) -> Invitation:
        """List invitations.

        The oldest first, those that were accepted, revoked or have expired included; never with their tokens.

        Args:
            organisation_id: The organisation
            page_size: How many items are fetched at a time
        """

    @operation("POST", "/organisations/{organisationID}/invitations")
    def invite(self, organisation_id: ID, *, email: str, role: Role) -> IssuedInvitation:
        """Invite a person.

        Answers the token once, and sends it by e-mail where a mail server is configured. It works for seven days. An
        address has one open invitation: another one renews it, and the earlier token stops working. An ADMIN is invited
        by a person who has signed in within the last ten minutes. All ADMINs are notified.

        Args:
            organisation_id: The organisation
            email: E-mail address of the invited person
            role: Role of the member, a bundle of permissions

        Example:
            client.organisations.invite("01890a5d-ac96-774b-bcce-b302099a8057", email="ada@example.org", role="TRADER")
        """

    @operation("DELETE", "/organisations/{organisationID}/invitations/{invitationID}")
    def revoke_invitation(self, organisation_id: ID, invitation_id: ID) -> None:
        """Revoke an invitation.

        Its token stops working at once. Revoking it again changes nothing.

        Args:
            organisation_id: The organisation
            invitation_id: The invitation
        """

    @collection("/organisations/{organisationID}/members")
    def members(self, organisation_id: ID, *, page_size: int | None = None) -> Member:
        """List members.

        In the order of their joining. An API key needs the permission to manage the organisation.

        Args:
            organisation_id: The organisation
            page_size: How many items are fetched at a time
        """

    @operation("PATCH", "/organisations/{organisationID}/members/{userID}")
    def change_role(self, organisation_id: ID, user_id: ID, *, role: Role, if_match: str | None = None) -> Member:
        """Give a member another role.

        Holds for the member's sessions and API keys within a second. A member becomes ADMIN, or ceases to be one, by a
        person who has signed in within the last ten minutes. All ADMINs are notified.

        Args:
            organisation_id: The organisation
            user_id: The member
            role: Role of the member, a bundle of permissions
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise

        Example:
            client.organisations.change_role(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                "01890a5d-ac96-774b-bcce-b302099a8057",
                role="TRADER",
            )
        """

    @operation("DELETE", "/organisations/{organisationID}/members/{userID}")
    def remove_member(self, organisation_id: ID, user_id: ID, *, if_match: str | None = None) -> None:
        """Remove a member.

        Their sessions and API keys stop working everywhere within a second. Removed by a person who has signed in
        within the last ten minutes. All ADMINs are notified.

        Args:
            organisation_id: The organisation
            user_id: The member
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
        """

    @operation("DELETE", "/organisations/{organisationID}/members/{userID}/second-factor")
    def reset_second_factor(self, organisation_id: ID, user_id: ID) -> None:
        """Reset a member's second factor.

        For a member who has lost device and recovery codes: the password alone signs in until a new one is set up.

        Args:
            organisation_id: The organisation
            user_id: The member
        """

    @collection("/organisations/{organisationID}/api-keys")
    def api_keys(self, organisation_id: ID, *, page_size: int | None = None) -> MemberApiKey:
        """List the members' API keys.

        Every member's, the oldest first, without their secrets, with what each may do now.

        Args:
            organisation_id: The organisation
            page_size: How many items are fetched at a time
        """

    @operation("DELETE", "/organisations/{organisationID}/api-keys/{apiKeyID}")
    def revoke_api_key(self, organisation_id: ID, api_key_id: ID) -> None:
        """Revoke a member's API key.

        The key stops working everywhere within a second.

        Args:
            organisation_id: The organisation
            api_key_id: The API key
        """

    @operation("GET", "/organisations/{organisationID}/identity-provider")
    def identity_provider(self, organisation_id: ID) -> IdentityProvider:
        """Read an organisation's identity provider.

        Without its client secret.

        Args:
            organisation_id: The organisation
        """

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
        """Set an organisation's identity provider.

        OpenID Connect. A first sign-in matches a member or a pending invitation by verified e-mail within `domains`,
        then binds the subject for good. Left out, `clientSecret` stays. `required` ends passwords, and the sessions
        begun with one, for all but ADMINs.

        Args:
            organisation_id: The organisation
            issuer: The identity provider's issuer as its tokens name it, an https address
            client_id: Identifier of this service at the identity provider
            domains: Domains of e-mail addresses that this provider vouches for
            client_secret: Stored encrypted and never shown
            required: Whether members other than ADMINs can no longer sign in with a password
            role_claim: The claim of the provider's token that names a role
            default_role: Role of a person who signs in without an invitation; without it, only invited persons can sign
                in
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise

        Example:
            client.organisations.set_identity_provider(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                issuer="https://login.example.com",
                client_id="gridloom",
                domains=['example.com'],
            )
        """

    @operation("DELETE", "/organisations/{organisationID}/identity-provider")
    def remove_identity_provider(self, organisation_id: ID, *, if_match: str | None = None) -> None:
        """Remove an organisation's identity provider.

        Members without a password cannot sign in until they are invited anew or there is a provider again.

        Args:
            organisation_id: The organisation
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
        """

    @collection("/audit-log")
    def audit_log(
        self,
        *,
        actor_id: ID | None = None,
        resource: str | None = None,
        action: str | None = None,
        **window: Unpack[PagedWindow],
    ) -> AuditEntry:
        """List the audit log.

        The newest first. The operator sees everything but bids and valuations; any other organisation what it did and
        what was done to it. A table (CSV, NDJSON, Parquet) has every entry the filters leave, whatever `limit` says;
        `details` is JSON text.

        Args:
            actor_id: Only actions of this user or API key
            resource: Only actions on this resource, as a path without the leading slash
            action: Only calls of this operation, by its operationId
            start: Only actions at this instant or later
            end: Only actions before this instant
            page_size: How many items are fetched at a time
        """
