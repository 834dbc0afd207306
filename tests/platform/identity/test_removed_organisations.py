"""A reset of the sandbox removes organisations while requests of their members are under way."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from gridloom.kernel.ids import SessionID
from gridloom.kernel.problem import NotFound
from gridloom.platform.console.store import read_organisation
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.store.api_keys import lock_key_age
from gridloom.platform.identity.store.members import find_account
from gridloom.platform.identity.store.organisations import lock_organisation
from gridloom.platform.identity.store.sessions import begin_session, find_live_session


class ResetMeanwhile:
    """A database in which organisations are gone by the time they are read, one statement after the other."""

    def __init__(self, pool: Any) -> None:
        self.pool = pool

    async def fetchrow(self, query: str, *arguments: Any) -> Any:
        found = await self.pool.fetchrow(query, *arguments)
        return None if "from organisation" in query else found

    async def fetchval(self, query: str, *arguments: Any) -> Any:
        return await self.pool.fetchval(query, *arguments)


class TestAMemberOfARemovedOrganisation:
    async def test_is_unknown_from_then_on(self, app: Any, new_organisation: Any):
        organisation = await new_organisation()
        person = organisation.people[Role.TRADER]
        session_id = SessionID(uuid4())
        given: dict[str, Any] = {"password_hash": None, "refresh_hash": uuid4().bytes * 2}
        began = await begin_session(app.pool, session_id, member_id=person.id, address=None, user_agent=None, **given)
        assert began is not None
        username = await app.pool.fetchval("select username from member where id = $1", person.id)
        databases: list[tuple[Any, bool]] = [(app.pool, True), (ResetMeanwhile(app.pool), False)]
        for db, is_known in databases:
            assert (await find_live_session(db, session_id, person.id) is not None) is is_known
            assert (await find_account(db, username) is not None) is is_known
            assert (await read_organisation(db, organisation.id) is not None) is is_known

    @pytest.mark.parametrize("lock", [lock_organisation, lock_key_age])
    async def test_finds_nothing_to_change(self, app: Any, lock: Any):
        removed = UUID(int=7)
        with pytest.raises(NotFound, match=str(removed)):
            await lock(app.pool, removed)
