"""An invitation is used once, while it is open; what became of it stays."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from gridloom.kernel.ids import InvitationID, uuid7
from gridloom.platform.identity.model import InvitationStatus
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.store import invitations


@pytest.fixture
async def make(app: Any, new_organisation: Any) -> Any:
    ours = await new_organisation()

    async def insert() -> Any:
        return await invitations.put_invitation(
            app.pool,
            invitation_id=InvitationID(uuid7()),
            organisation_id=ours.id,
            email=f"{secrets.token_hex(4)}@example.org",
            role=Role.TRADER,
            token_hash=secrets.token_bytes(32),
            invited_by=ours.people[Role.ADMIN].id,
        )

    return insert


async def status_of(app: Any, made: Any) -> InvitationStatus:
    [found] = [
        one
        for one in await invitations.list_invitations(app.pool, made.organisation_id, after=None, limit=10)
        if one.id == made.id
    ]
    return found.status


class TestAnInvitation:
    async def test_that_was_accepted_is_neither_used_again_nor_revoked(self, app: Any, make: Any) -> None:
        made, other = await make(), await make()
        assert await invitations.use_invitation(app.pool, made.id)
        assert not await invitations.use_invitation(app.pool, made.id)
        await invitations.revoke_invitation(app.pool, made.id)
        row = await app.pool.fetchrow("select accepted_at, revoked_at from invitation where id = $1", made.id)
        assert (row["accepted_at"] is not None, row["revoked_at"]) == (True, None)
        assert [await status_of(app, one) for one in (made, other)] == ["ACCEPTED", "PENDING"]

    async def test_that_was_revoked_is_not_used(self, app: Any, make: Any) -> None:
        made, other = await make(), await make()
        await invitations.revoke_invitation(app.pool, made.id)
        assert not await invitations.use_invitation(app.pool, made.id)
        assert [await status_of(app, one) for one in (made, other)] == ["REVOKED", "PENDING"]
