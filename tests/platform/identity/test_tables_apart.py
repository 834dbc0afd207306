"""Members, sessions and their organisation's rules on a distributed database, where each table is read by itself."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from tests.concurrency import await_blocked

from gridloom.kernel.ids import SessionID
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.store.grants import AssetRights, insert_asset, read_rights
from gridloom.platform.identity.store.members import change_password, find_account
from gridloom.platform.identity.store.sessions import begin_session


@pytest.fixture
async def organisation(new_organisation: Any) -> Any:
    return await new_organisation()


def begin(db: Any, person: Any, password_hash: str | None, **more: Any) -> Any:
    given = {"member_id": person.id, "refresh_hash": uuid4().bytes * 2, "address": None, "user_agent": None}
    return begin_session(db, SessionID(uuid4()), password_hash=password_hash, **given, **more)


class TestRightsOnAnAsset:
    async def test_are_the_grant_s_of_who_asks_and_no_other(
        self, app: Any, organisation: Any, new_organisation: Any, by_parts: Any
    ) -> None:
        granted, other = await new_organisation(), await new_organisation()
        asset_id = uuid4()
        key = await insert_asset(app.pool, asset_id, "PHYSICAL", organisation.id)
        for one, permission in ((granted, "Read:schedules"), (other, "Update:schedules")):
            await app.pool.execute(
                "insert into asset_grant (asset_key, organisation_id, permissions, granted_by) values ($1, $2, $3, $2)",
                *(key, one.id, [permission]),
            )
        rights = ((organisation, ()), (granted, ("Read:schedules",)), (other, ("Update:schedules",)))
        for asking, permissions in (*rights, (await new_organisation(), ())):
            whole = await read_rights(app.pool, asset_id, asking.id)
            assert whole == AssetRights(key, "PHYSICAL", organisation.id, frozenset(permissions))
            with by_parts():
                assert await read_rights(app.pool, asset_id, asking.id) == whole
                assert await read_rights(app.pool, uuid4(), asking.id) is None


class TestAPassword:
    async def test_changes_only_after_a_session_that_begins_with_it(
        self, app: Any, organisation: Any, by_parts: Any
    ) -> None:
        person = organisation.people[Role.TRADER]
        with by_parts():
            account = await find_account(app.pool, person.username)
            assert account is not None
            known: dict[str, Any] = {"known_hash": account.password_hash, "new_hash": "another"}
            async with app.pool.acquire() as one, app.pool.acquire() as other:
                async with one.transaction():
                    assert await begin(one, person, account.password_hash) is not None
                    changing = asyncio.ensure_future(change_password(other, person.id, **known))
                    await await_blocked(app, one, changing)
                    assert not changing.done()
                assert await changing

    async def test_that_changes_begins_no_session_any_more(self, app: Any, organisation: Any, by_parts: Any) -> None:
        person = organisation.people[Role.TRADER]
        with by_parts():
            account = await find_account(app.pool, person.username)
            assert account is not None
            known: dict[str, Any] = {"known_hash": account.password_hash, "new_hash": "another"}
            async with app.pool.acquire() as one, app.pool.acquire() as other:
                async with one.transaction():
                    assert await change_password(one, person.id, **known)
                    beginning = asyncio.ensure_future(begin(other, person, account.password_hash))
                    await await_blocked(app, one, beginning)
                    assert not beginning.done()
                assert await beginning is None
