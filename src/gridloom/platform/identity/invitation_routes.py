"""Invitations to organisations: `/organisations/{organisationID}/invitations`."""

from __future__ import annotations

import math
from typing import Final
from uuid import UUID

from gridloom.kernel.copying import copy_fields
from gridloom.kernel.ids import InvitationID, uuid7
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Conflict, NotFound, TooManyRequests
from gridloom.kernel.shares import Share, ShareLimits
from gridloom.platform.database.commit import after_commit
from gridloom.platform.database.pool import Database
from gridloom.platform.http import Page, Paging, Request, Response, operation
from gridloom.platform.http.shares import ShareUse
from gridloom.platform.identity import views
from gridloom.platform.identity.authorization import ORGANISATION, authorize_organisation
from gridloom.platform.identity.login.throttling import Bucket, hash_subject
from gridloom.platform.identity.mail import Mailer
from gridloom.platform.identity.member_notices import ChangeAuthor, notify_invited
from gridloom.platform.identity.model import InvitationStatus, Organisation
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.person import PersonNeeded, ReauthenticationRequired, fresh_person_of
from gridloom.platform.identity.role_rules import reject_giving_more_than_held
from gridloom.platform.identity.store import invitations, organisations
from gridloom.platform.identity.store.login_throttle import count_attempt
from gridloom.platform.identity.tokens import INVITATION_LIFETIME, hash_of, new_invitation_token
from gridloom.platform.identity.views import NO_STORE, NewInvitation

TAG = "Organisations"
MANAGE = Permission.MANAGE_ORGANISATION

MAILS_PER_ORGANISATION: Final = 200
MAILS_PER_ADDRESS: Final = 5
HOUR_S: Final = 3600.0


class TooManyInvitations(Conflict, title="There are too many open invitations"):
    """The organisation has as many open invitations as it may. Revoke one that is not needed, or wait until one is
    accepted or has expired.

    `share` is `invitations`, and `limit` how many there may be. Renewing the one to an address is always possible.
    """


class TooManyInvitationMails(TooManyRequests, title="Too many invitations have been mailed"):
    """Within an hour an organisation has 200 invitations mailed, five of them to one address. Nothing was changed."""


class InvitationAccepted(Conflict, title="The invitation has been accepted"):
    """The invitation has been accepted and cannot be revoked. Remove the member instead."""


@operation(
    "POST",
    ORGANISATION + "/invitations",
    summary="Invite a person",
    access=MANAGE,
    status=201,
    location=ORGANISATION + "/invitations",
    problems=(PersonNeeded, ReauthenticationRequired, TooManyInvitations, TooManyInvitationMails),
    secret_response=True,
)
async def create_invitation(
    request: Request, organisation_id: UUID, body: NewInvitation
) -> Response[views.IssuedInvitation]:
    """Answers the token once, and sends it by e-mail where a mail server is configured. It works for seven days.

    An address has one open invitation: another one renews it, and the earlier token stops working. An ADMIN is invited
    by a person who has signed in within the last ten minutes. All ADMINs are notified.
    """
    await authorize_organisation(request.db, request.caller, organisation_id)
    if body.role is Role.ADMIN:
        await fresh_person_of(request)
    organisation = await organisations.lock_organisation(request.db, organisation_id)
    reject_giving_more_than_held(request.caller, body.role, organisation.kind)
    mailer = request.resources[Mailer]
    await _reject_too_many(request, organisation_id, body.email)
    if mailer.is_configured:
        await _count_mail(request.db, organisation_id, body.email)
    token = new_invitation_token()
    invitation = await invitations.put_invitation(
        request.db,
        invitation_id=InvitationID(uuid7()),
        organisation_id=organisation_id,
        email=body.email,
        role=body.role,
        token_hash=hash_of(token),
        invited_by=request.caller.id,
    )
    request.audit_details.update(invitationID=str(invitation.id), role=invitation.role)
    await notify_invited(request.db, mailer, ChangeAuthor.of(request.caller), invitation)
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
    await organisations.lock_organisation(request.db, organisation_id)
    invitation = await invitations.lock_invitation(request.db, organisation_id, invitation_id)
    if invitation is None:
        raise NotFound(f"There is no invitation {invitation_id} to this organisation.")
    if invitation.status is InvitationStatus.ACCEPTED:
        raise InvitationAccepted("The invitation has been accepted. Remove the member instead.")
    if invitation.status is not InvitationStatus.REVOKED:
        await invitations.revoke_invitation(request.db, invitation.id)


async def _reject_too_many(request: Request, organisation_id: UUID, email: str) -> None:
    if request.holder is None:
        return
    limit = request.shares.limits.invitations
    is_open = await invitations.count_open_invitations(request.db, organisation_id, besides=email)
    if is_open >= limit:
        raise TooManyInvitations(
            f"The organisation has {is_open} open invitations, of {limit} at most. Revoke one first.",
            share=Share.INVITATIONS.value,
            limit=limit,
        )


async def _count_mail(db: Database, organisation_id: UUID, email: str) -> None:
    at_address = f"{organisation_id}\0{email.lower()}"
    wait_s = await count_attempt(
        db,
        [
            Bucket(
                hash_subject("invitations-of", str(organisation_id)),
                MAILS_PER_ORGANISATION,
                HOUR_S / MAILS_PER_ORGANISATION,
            ),
            Bucket(hash_subject("invitations-to", at_address), MAILS_PER_ADDRESS, HOUR_S / MAILS_PER_ADDRESS),
        ],
    )
    if wait_s > 0:
        raise TooManyInvitationMails("Too many invitations were mailed.", retry_after_s=math.ceil(wait_s))


async def read_invitation_use(limits: ShareLimits, db: Database, organisation_id: UUID) -> ShareUse:
    return ShareUse(used=await invitations.count_open_invitations(db, organisation_id), limit=limits.invitations)


def _send_invitation(mailer: Mailer, email: str, organisation: Organisation, token: str) -> None:
    mailer.post(
        email,
        f"Invitation to {organisation.name}",
        f"You are invited to join {organisation.name} on Gridloom.\n\n"
        f"Accept within {INVITATION_LIFETIME.days} days with this token, a user name and a password of your choice:\n\n"
        f"{token}\n\n"
        "The token works once. If you did not expect this message, ignore it.\n",
    )
