"""Notices to an organisation's ADMINs of changes of its members: by event and, where it is set up, by e-mail."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import UUID

from gridloom.kernel.dependency import Dependency
from gridloom.kernel.permission import Permission
from gridloom.platform.database.commit import after_commit
from gridloom.platform.database.pool import Database
from gridloom.platform.http.caller import Caller
from gridloom.platform.identity.login.throttling import Bucket, hash_subject
from gridloom.platform.identity.mail import Mailer
from gridloom.platform.identity.model import Invitation, Member
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.store import members
from gridloom.platform.identity.store.login_throttle import count_attempt

NOTICES_PER_ORGANISATION: Final = 60
NOTICE_EVERY_S: Final = 60.0
"""Mailed at once, and then one in so many seconds; the event is emitted every time."""

RECORD_EVENT: Dependency[Callable[..., Awaitable[UUID]]] = Dependency("recording an event in the change's transaction")


@dataclass(frozen=True, slots=True)
class ChangeAuthor:
    """Made a change: a caller, an identity provider by a claim, or a command of the platform's operator."""

    kind: str
    """`USER`, `API_KEY`, `IDENTITY_PROVIDER` or `COMMAND`."""
    name: str
    id: UUID | None = None

    @classmethod
    def of(cls, caller: Caller) -> ChangeAuthor:
        return cls(caller.kind, caller.username, caller.id)


async def notify_invited(db: Database, mailer: Mailer | None, author: ChangeAuthor, invitation: Invitation) -> None:
    subject = f"organisations/{invitation.organisation_id}/invitations/{invitation.id}"
    data = {"invitationID": str(invitation.id), "email": invitation.email, "role": invitation.role.value}
    text = f"{invitation.email} was invited as {invitation.role}"
    await _notify_admins(db, mailer, author, invitation.organisation_id, "member.invited", subject, data, text)


async def notify_role_changed(
    db: Database, mailer: Mailer | None, author: ChangeAuthor, member: Member, role: Role
) -> None:
    """member: as it was before."""
    data = {**_describe_member(member), "previousRole": member.role.value, "role": role.value}
    text = f"{member.username} has the role {role} now, and had {member.role}"
    await _notify_admins(
        db, mailer, author, member.organisation_id, "member.role-changed", _subject_of(member), data, text
    )


async def notify_removed(db: Database, mailer: Mailer | None, author: ChangeAuthor, member: Member) -> None:
    data = {**_describe_member(member), "role": member.role.value}
    text = f"{member.username}, {member.role}, was removed"
    await _notify_admins(db, mailer, author, member.organisation_id, "member.removed", _subject_of(member), data, text)


def _subject_of(member: Member) -> str:
    return f"organisations/{member.organisation_id}/members/{member.id}"


def _describe_member(member: Member) -> dict[str, str]:
    return {"userID": str(member.id), "username": member.username}


async def _notify_admins(
    db: Database,
    mailer: Mailer | None,
    author: ChangeAuthor,
    organisation_id: UUID,
    type: str,
    subject: str,
    data: dict[str, Any],
    text: str,
) -> None:
    by = {
        "authorKind": author.kind,
        "authorName": author.name,
        "authorID": None if author.id is None else str(author.id),
    }
    await RECORD_EVENT.get()(
        db,
        type=type,
        organisation_id=organisation_id,
        subject=subject,
        permission=Permission.MANAGE_ORGANISATION,
        data={**data, **by},
    )
    if mailer is None or not mailer.is_configured:
        return
    bucket = Bucket(hash_subject("notices", str(organisation_id)), NOTICES_PER_ORGANISATION, NOTICE_EVERY_S)
    if await count_attempt(db, [bucket]) > 0:
        return
    letter = f"{text}, by {author.name} ({author.kind.lower().replace('_', ' ')}).\n"
    for address in await members.list_admin_addresses(db, organisation_id):
        after_commit(db, partial(mailer.post, address, "A change of your organisation's members", letter))
