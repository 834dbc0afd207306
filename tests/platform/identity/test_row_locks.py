"""What a transaction decides by stays as it was read until the transaction ends: whoever would change it waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest
from tests.concurrency import await_blocked

from gridloom.kernel.ids import SessionID
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.store.api_keys import lock_key_age
from gridloom.platform.identity.store.invitations import lock_invitation
from gridloom.platform.identity.store.members import change_password
from gridloom.platform.identity.store.organisations import lock_organisation
from gridloom.platform.identity.store.sessions import begin_session


@pytest.fixture
async def organisation(new_organisation: Any) -> Any:
    return await new_organisation()


async def begin(db: Any, organisation: Any) -> UUID:
    member_id: UUID = organisation.people[Role.TRADER].id
    given: dict[str, Any] = {
        "password_hash": None,
        "refresh_hash": uuid4().bytes * 2,
        "address": None,
        "user_agent": None,
    }
    assert await begin_session(db, SessionID(uuid4()), member_id=member_id, **given) is not None
    return member_id


async def lock_one_invitation(db: Any, organisation: Any) -> UUID:
    body = {"email": "new@example.org", "role": "VIEWER"}
    made = await organisation.admin.post(f"/organisations/{organisation.id}/invitations", json=body)
    invitation_id = UUID(made.json()["id"])
    assert await lock_invitation(db, organisation.id, invitation_id) is not None
    return invitation_id


async def lock_ours(db: Any, organisation: Any) -> UUID:
    await lock_organisation(db, organisation.id)
    return UUID(str(organisation.id))


async def lock_age(db: Any, organisation: Any) -> UUID:
    await lock_key_age(db, organisation.id)
    return UUID(str(organisation.id))


class TestARow:
    @pytest.mark.parametrize(
        ("table", "lock"),
        [
            pytest.param("invitation", lock_one_invitation, id="an invitation that is revoked"),
            pytest.param("organisation", lock_ours, id="an organisation whose members change"),
            pytest.param("organisation", lock_age, id="the age that new keys may reach"),
        ],
    )
    async def test_is_changed_by_no_other_transaction(
        self, app: Any, organisation: Any, table: str, lock: Callable[[Any, Any], Awaitable[UUID]]
    ) -> None:
        change = f"select from {table} where id = $1 for no key update nowait"
        async with app.pool.acquire() as one, app.pool.acquire() as other:
            async with one.transaction():
                key = await lock(one, organisation)
                with pytest.raises(asyncpg.LockNotAvailableError):
                    await other.fetch(change, key)
            assert len(await other.fetch(change, key)) == 1


class TestAPassword:
    async def test_is_not_changed_while_a_session_begins_with_it(self, app: Any, organisation: Any) -> None:
        async with app.pool.acquire() as one, app.pool.acquire() as other:
            async with one.transaction():
                member_id = await begin(one, organisation)
                changing = asyncio.ensure_future(change_password(other, member_id, known_hash="known", new_hash="new"))
                await await_blocked(app, one, changing)
                assert not changing.done()
            assert not await changing
