"""Organisations and their members: `/organisations`."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import msgspec
from msgspec import UNSET

from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Conflict, Forbidden, NotFound
from gridloom.platform.database.clock import real_now
from gridloom.platform.http import SIGNED_IN, Page, Paging, Request, Response, given_fields, operation
from gridloom.platform.identity import views
from gridloom.platform.identity.authorization import ORGANISATION, authorize_organisation
from gridloom.platform.identity.mail import Mailer
from gridloom.platform.identity.member_notices import ChangeAuthor, notify_removed, notify_role_changed
from gridloom.platform.identity.model import Member, Organisation, new_organisation
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.person import PersonNeeded, ReauthenticationRequired, fresh_person_of
from gridloom.platform.identity.role_rules import reject_giving_more_than_held
from gridloom.platform.identity.security_policy import WouldLockYouOut, parse_networks, reject_lockout
from gridloom.platform.identity.store import api_keys, members, organisations
from gridloom.platform.identity.views import MemberChange, NewOrganisation, OrganisationChange

TAG = "Organisations"
MANAGE = Permission.MANAGE_ORGANISATION


class LastAdministrator(Conflict, title="The last ADMIN has to stay"):
    """The member is the organisation's last ADMIN and can neither be removed nor given another role.

    Make another member ADMIN first.
    """


@operation(
    "POST",
    "/organisations",
    summary="Create an organisation",
    access=MANAGE,
    status=201,
)
async def create_organisation(request: Request, body: NewOrganisation) -> Response[views.OrganisationView]:
    """The platform's operator only. Its first ADMIN comes by invitation."""
    if not request.caller.is_operator:
        raise Forbidden("Only the operator can create organisations.")
    organisation = new_organisation(body.name, body.kind)
    await organisations.insert_organisation(request.db, organisation)
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
    problems=(LastAdministrator, PersonNeeded, ReauthenticationRequired),
)
async def update_member(
    request: Request, organisation_id: UUID, user_id: UUID, body: MemberChange
) -> Response[views.MemberView]:
    """Holds for the member's sessions and API keys within a second. A member becomes ADMIN, or ceases to be one, by a
    person who has signed in within the last ten minutes. All ADMINs are notified."""
    member = await lock_member(request, organisation_id, user_id)
    request.check_if_match(member.etag)
    if body.role is not UNSET and body.role is not member.role:
        if Role.ADMIN in (body.role, member.role):
            await fresh_person_of(request)
        reject_giving_more_than_held(request.caller, body.role, member.organisation_kind)
        await _reject_losing_last_admin(request, member)
        await members.change_role(request.db, member.id, body.role)
        await notify_role_changed(
            request.db, request.resources[Mailer], ChangeAuthor.of(request.caller), member, body.role
        )
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
    problems=(LastAdministrator, PersonNeeded, ReauthenticationRequired),
)
async def delete_member(request: Request, organisation_id: UUID, user_id: UUID) -> None:
    """Their sessions and API keys stop working everywhere within a second. Removed by a person who has signed in within
    the last ten minutes. All ADMINs are notified."""
    member = await lock_member(request, organisation_id, user_id)
    await fresh_person_of(request)
    request.check_if_match(member.etag)
    await _reject_losing_last_admin(request, member)
    await members.delete_member(request.db, member.id)
    await notify_removed(request.db, request.resources[Mailer], ChangeAuthor.of(request.caller), member)
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


async def _reject_losing_last_admin(request: Request, member: Member) -> None:
    if member.role is Role.ADMIN and await members.count_admins(request.db, member.organisation_id) == 1:
        raise LastAdministrator(f"{member.username} is the last ADMIN of the organisation.")


def _apply_change(organisation: Organisation, body: OrganisationChange) -> Organisation:
    changes = given_fields(body)
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
