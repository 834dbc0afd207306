"""Organisations, their invitations and their members: `/organisations`."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import msgspec
from msgspec import UNSET

from gridloom.kernel.copying import copy_fields
from gridloom.kernel.ids import InvitationID, uuid7
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Conflict, Forbidden, NotFound
from gridloom.platform.database.clock import real_now
from gridloom.platform.database.commit.after_commit import after_commit
from gridloom.platform.http import SIGNED_IN, Caller, Page, Paging, Request, Response, operation
from gridloom.platform.identity import views
from gridloom.platform.identity.authorization import ORGANISATION, authorize_organisation
from gridloom.platform.identity.mail import Mailer
from gridloom.platform.identity.model import InvitationStatus, Member, Organisation, new_organisation
from gridloom.platform.identity.permissions import OrganisationKind, Role, in_order, permissions_of
from gridloom.platform.identity.person import PersonNeeded, ReauthenticationRequired, fresh_person_of
from gridloom.platform.identity.security_policy import WouldLockYouOut, parse_networks, reject_lockout
from gridloom.platform.identity.store import api_keys, invitations, members, organisations
from gridloom.platform.identity.tokens import INVITATION_LIFETIME, hash_of, new_invitation_token
from gridloom.platform.identity.views import NO_STORE, MemberChange, NewInvitation, NewOrganisation, OrganisationChange

TAG = "Organisations"
MANAGE = Permission.MANAGE_ORGANISATION


class LastAdministrator(Conflict, title="The last ADMIN has to stay"):
    """The member is the organisation's last ADMIN and can neither be removed nor given another role.

    Make another member ADMIN first.
    """


class InvitationAccepted(Conflict, title="The invitation has been accepted"):
    """The invitation has been accepted and cannot be revoked. Remove the member instead."""


@operation(
    "POST",
    "/organisations",
    summary="Create an organisation",
    access=MANAGE,
    status=201,
    transaction="single statement",
)
async def create_organisation(request: Request, body: NewOrganisation) -> Response[views.OrganisationView]:
    """The platform's operator only. Its first ADMIN comes by invitation."""
    if not request.caller.is_operator:
        raise Forbidden("Only the operator can create organisations.")
    organisation = new_organisation(body.name, body.kind)
    await organisations.insert_organisation(request.rows, organisation)
    request.audit_details.update(organisationID=str(organisation.id))
    return _answer_organisation(organisation)


@operation(
    "GET",
    "/organisations",
    summary="List organisations",
    access=SIGNED_IN,
    replica_read=True,
    asset_scope="free",
)
async def list_organisations(request: Request, query: Paging) -> Page[views.OrganisationView]:
    """The oldest first. The operator sees all of them, other callers their own."""
    own = None if request.caller.is_operator else request.caller.organisation_id
    found = await organisations.list_organisations(request.db, only=own, after=query.after(UUID), limit=query.limit + 1)
    page = query.page(found, lambda organisation: organisation.id)
    return Page([views.view_of_organisation(organisation) for organisation in page.items], page.next_cursor)


@operation("GET", ORGANISATION, summary="Read an organisation", access=SIGNED_IN, asset_scope="free")
async def read_organisation(request: Request, organisation_id: UUID) -> Response[views.OrganisationView]:
    """Members of an organisation read their own; the operator reads any."""
    await authorize_organisation(request.db, request.caller, organisation_id)
    organisation = await organisations.read_organisation(request.db, organisation_id)
    if organisation is None:
        organisations.raise_removed(organisation_id)
    return _answer_organisation(organisation)


@operation(
    "PATCH",
    ORGANISATION,
    summary="Change an organisation",
    access=MANAGE,
    problems=(PersonNeeded, ReauthenticationRequired, WouldLockYouOut),
)
async def update_organisation(
    request: Request, organisation_id: UUID, body: OrganisationChange
) -> Response[views.OrganisationView]:
    """Fields that are left out stay. What it demands of its members and keys is changed by a person who has signed in
    within the last ten minutes. A lower `maxKeyAgeDays` shortens the keys there are: each ends within so many days."""
    organisation = await _lock_organisation(request, organisation_id)
    request.check_if_match(organisation.etag)
    wanted = _apply_change(organisation, body)
    if wanted.telemetry_quota_bytes != organisation.telemetry_quota_bytes and not request.caller.is_operator:
        raise Forbidden("Only the operator sets telemetryQuota.")
    if _security_of(wanted) != _security_of(organisation):
        await fresh_person_of(request)
    if wanted.allowed_networks != organisation.allowed_networks and request.caller.organisation_id == organisation_id:
        reject_lockout(list(wanted.allowed_networks), request.address)
    if wanted == organisation:
        return _answer_organisation(organisation)
    before, after = (msgspec.to_builtins(views.view_of_organisation(one)) for one in (organisation, wanted))
    request.audit_details.update(
        before={name: value for name, value in before.items() if value != after[name]},
        after={name: value for name, value in after.items() if value != before[name]},
    )
    if wanted.max_key_age_days < organisation.max_key_age_days:
        ends_by = await real_now(request.db) + timedelta(days=wanted.max_key_age_days)
        await api_keys.shorten_keys(request.db, organisation_id, ends_by)
    return _answer_organisation(await organisations.update_organisation(request.db, wanted))


@operation(
    "POST", ORGANISATION + "/invitations", summary="Invite a person", access=MANAGE, status=201, secret_response=True
)
async def create_invitation(
    request: Request, organisation_id: UUID, body: NewInvitation
) -> Response[views.IssuedInvitation]:
    """Answers the token once, and sends it by e-mail where a mail server is configured. It works for seven days."""
    await authorize_organisation(request.db, request.caller, organisation_id)
    organisation = await organisations.read_organisation(request.db, organisation_id)
    if organisation is None:
        organisations.raise_removed(organisation_id)
    _reject_giving_more_than_held(request.caller, body.role, organisation.kind)
    token = new_invitation_token()
    invitation = await invitations.insert_invitation(
        request.db,
        invitation_id=InvitationID(uuid7()),
        organisation_id=organisation_id,
        email=body.email,
        role=body.role,
        token_hash=hash_of(token),
        invited_by=request.caller.id,
    )
    request.audit_details.update(invitationID=str(invitation.id), role=invitation.role)
    mailer = request.resources[Mailer]
    after_commit(request.db, lambda: _send_invitation(mailer, body.email, organisation, token))
    return Response(copy_fields(views.IssuedInvitation, invitation, token=token), headers=NO_STORE)


@operation("GET", ORGANISATION + "/invitations", summary="List invitations", access=MANAGE)
async def list_invitations(request: Request, organisation_id: UUID, query: Paging) -> Page[views.InvitationView]:
    """The oldest first, those that were accepted, revoked or have expired included; never with their tokens."""
    await authorize_organisation(request.db, request.caller, organisation_id)
    found = await invitations.list_invitations(
        request.db, organisation_id, after=query.after(UUID), limit=query.limit + 1
    )
    page = query.page(found, lambda invitation: invitation.id)
    return Page([views.view_of_invitation(invitation) for invitation in page.items], page.next_cursor)


@operation(
    "DELETE",
    ORGANISATION + "/invitations/{invitationID}",
    summary="Revoke an invitation",
    access=MANAGE,
    problems=(InvitationAccepted,),
)
async def revoke_invitation(request: Request, organisation_id: UUID, invitation_id: UUID) -> None:
    """Its token stops working at once. Revoking it again changes nothing."""
    await authorize_organisation(request.db, request.caller, organisation_id)
    invitation = await invitations.lock_invitation(request.db, organisation_id, invitation_id)
    if invitation is None:
        raise NotFound(f"There is no invitation {invitation_id} to this organisation.")
    if invitation.status is InvitationStatus.ACCEPTED:
        raise InvitationAccepted("The invitation has been accepted. Remove the member instead.")
    if invitation.status is not InvitationStatus.REVOKED:
        await invitations.revoke_invitation(request.db, invitation.id)


@operation("GET", ORGANISATION + "/members", summary="List members", access=SIGNED_IN, replica_read=True)
async def list_members(request: Request, organisation_id: UUID, query: Paging) -> Page[views.MemberView]:
    """In the order of their joining. An API key needs the permission to manage the organisation."""
    if request.caller.kind != "USER" and MANAGE not in request.caller.permissions:
        raise Forbidden(f"An API key needs {MANAGE} to see who the members are.")
    await authorize_organisation(request.db, request.caller, organisation_id)
    found = await members.list_members(request.db, organisation_id, after=query.after(UUID), limit=query.limit + 1)
    page = query.page(found, lambda member: member.id)
    return Page(
        [views.view_of_member(member, with_email=MANAGE in request.caller.permissions) for member in page.items],
        page.next_cursor,
    )


@operation(
    "PATCH",
    ORGANISATION + "/members/{userID}",
    summary="Give a member another role",
    access=MANAGE,
    problems=(LastAdministrator,),
)
async def update_member(
    request: Request, organisation_id: UUID, user_id: UUID, body: MemberChange
) -> Response[views.MemberView]:
    """Holds for the member's sessions and API keys within a second."""
    member = await lock_member(request, organisation_id, user_id)
    request.check_if_match(member.etag)
    if body.role is not UNSET and body.role is not member.role:
        _reject_giving_more_than_held(request.caller, body.role, member.organisation_kind)
        await _reject_losing_last_admin(request, member)
        await members.change_role(request.db, member.id, body.role)
        request.audit_details.update(before={"role": member.role}, after={"role": body.role})
        changed = await members.read_member(request.db, organisation_id, user_id)
        assert changed is not None
        member = changed
    return Response(views.view_of_member(member, with_email=True), etag=member.etag)


@operation(
    "DELETE",
    ORGANISATION + "/members/{userID}",
    summary="Remove a member",
    access=MANAGE,
    problems=(LastAdministrator,),
)
async def delete_member(request: Request, organisation_id: UUID, user_id: UUID) -> None:
    """Their sessions and API keys stop working everywhere within a second."""
    member = await lock_member(request, organisation_id, user_id)
    request.check_if_match(member.etag)
    await _reject_losing_last_admin(request, member)
    await members.delete_member(request.db, member.id)
    request.audit_details.update(username=member.username, role=member.role)


async def _lock_organisation(request: Request, organisation_id: UUID) -> Organisation:
    await authorize_organisation(request.db, request.caller, organisation_id)
    return await organisations.lock_organisation(request.db, organisation_id)


async def lock_member(request: Request, organisation_id: UUID, user_id: UUID) -> Member:
    """The member, with the organisation locked: of two changes to its members the second waits for the first."""
    await _lock_organisation(request, organisation_id)
    member = await members.read_member(request.db, organisation_id, user_id)
    if member is None:
        raise NotFound(f"The organisation has no member {user_id}.")
    return member


def _reject_giving_more_than_held(caller: Caller, role: Role, kind: OrganisationKind) -> None:
    """A key made for managing members alone could otherwise make itself a member who may do everything."""
    missing = in_order(permissions_of(role, kind) - caller.permissions)
    if missing:
        raise Forbidden(f"You cannot assign {role}: you lack {', '.join(missing)}.")


async def _reject_losing_last_admin(request: Request, member: Member) -> None:
    if member.role is Role.ADMIN and await members.count_admins(request.db, member.organisation_id) == 1:
        raise LastAdministrator(f"{member.username} is the last ADMIN of the organisation.")


def _apply_change(organisation: Organisation, body: OrganisationChange) -> Organisation:
    changes = {name: value for name, value in msgspec.structs.asdict(body).items() if value is not UNSET}
    if body.allowed_networks is not UNSET:
        changes["allowed_networks"] = tuple(parse_networks(body.allowed_networks, "/allowedNetworks"))
    if body.telemetry_quota is not UNSET:
        changes["telemetry_quota_bytes"] = changes.pop("telemetry_quota")
    if body.address is not UNSET:
        changes["address"] = body.address.strip()
    return replace(organisation, **changes)


def _security_of(organisation: Organisation) -> tuple[object, ...]:
    return organisation.require_second_factor, organisation.max_key_age_days, organisation.allowed_networks


def _answer_organisation(organisation: Organisation) -> Response[views.OrganisationView]:
    return Response(views.view_of_organisation(organisation), etag=organisation.etag)


def _send_invitation(mailer: Mailer, email: str, organisation: Organisation, token: str) -> None:
    mailer.post(
        email,
        f"Invitation to {organisation.name}",
        f"You are invited to join {organisation.name} on Gridloom.\n\n"
        f"Accept within {INVITATION_LIFETIME.days} days with this token, a user name and a password of your choice:\n\n"
        f"{token}\n\n"
        "The token works once. If you did not expect this message, ignore it.\n",
    )
