"""From a person whom a provider vouches for to a member: bound before, invited, or let in by rule."""

from __future__ import annotations

from uuid import UUID

from gridloom.kernel.ids import InvitationID, UserID, uuid7
from gridloom.kernel.problem import Forbidden
from gridloom.kernel.text import find_forbidden
from gridloom.platform.database.pool import Database
from gridloom.platform.identity.login.usernames import canonical_username
from gridloom.platform.identity.mail import Mailer
from gridloom.platform.identity.member_notices import ChangeAuthor, notify_role_changed
from gridloom.platform.identity.model import Account
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.single_sign_on.model import ExternalPerson, IdentityProvider, role_in
from gridloom.platform.identity.store import identity_providers as store
from gridloom.platform.identity.store import invitations, members
from gridloom.platform.identity.store.organisations import lock_organisation
from gridloom.platform.identity.tokens import new_suffix


class SingleSignOnRefused(Forbidden, title="Single sign-on did not succeed"):
    """The identity provider's answer does not let this person in.

    Its token was not valid or came back to another browser, or the person is no member and has no pending invitation.
    The organisation's ADMIN sees the reason in the audit log.
    """


class PersonRefused(Exception):
    """Why a person whom the provider knows is not let in; for the audit log."""


async def find_or_admit_member(
    db: Database, mailer: Mailer, provider: IdentityProvider, person: ExternalPerson
) -> Account:
    """The member for a verified person, made and bound where the rules allow it, with the role its claims name.

    The organisation is locked: of two first sign-ins the second sees the first, and the last ADMIN stays.
    """
    organisation_id = provider.organisation_id
    await lock_organisation(db, organisation_id)
    member_id = await store.find_bound_member(db, organisation_id, person.issuer, person.subject)
    if member_id is None:
        member_id = await _match_member(db, provider, person)
        if not await store.bind_member(db, organisation_id, person.issuer, person.subject, member_id):
            raise PersonRefused("the member is bound to another subject of this provider")
    account = await members.read_account(db, member_id)
    assert account is not None, "a binding does not outlive its member"
    wanted = role_in(person.claims, provider.role_claim)
    if wanted is None or wanted is account.member.role:
        return account
    if account.member.role is Role.ADMIN and await members.count_admins(db, organisation_id) == 1:
        return account
    await members.change_role(db, member_id, wanted)
    author = ChangeAuthor("IDENTITY_PROVIDER", provider.issuer)
    await notify_role_changed(db, mailer, author, account.member, wanted)
    changed = await members.read_account(db, member_id)
    assert changed is not None
    return changed


async def _match_member(db: Database, provider: IdentityProvider, person: ExternalPerson) -> UserID:
    """By verified e-mail within the provider's domains, and by nothing else."""
    if person.email is None:
        raise PersonRefused("the provider has not verified an e-mail address")
    if not person.is_within(provider.domains):
        raise PersonRefused("the e-mail address is not of a domain of the provider")
    found = await store.list_members_by_email(db, provider.organisation_id, person.email)
    if len(found) > 1:
        raise PersonRefused("several members have this e-mail address")
    if found:
        return found[0]
    invitation = await invitations.find_pending_by_email(db, provider.organisation_id, person.email)
    if invitation is not None and await invitations.use_invitation(db, InvitationID(invitation.id)):
        return await _insert_member(db, provider.organisation_id, person, invitation.role)
    if provider.default_role is None:
        raise PersonRefused("the person is no member and has no pending invitation")
    return await _insert_member(db, provider.organisation_id, person, provider.default_role)


async def _insert_member(db: Database, organisation_id: UUID, person: ExternalPerson, role: Role) -> UserID:
    assert person.email is not None
    name = person.name if person.name and find_forbidden(person.name) is None else person.email
    for username in (person.email, f"{person.email}-{new_suffix()}"):
        member = await members.insert_member(
            db,
            member_id=UserID(uuid7()),
            organisation_id=organisation_id,
            username=canonical_username(username),
            display_name=" ".join(name.split())[:200],
            role=role,
            password_hash=None,
            email=person.email,
        )
        if member is not None:
            return member.id
    raise PersonRefused("the user name is taken")
