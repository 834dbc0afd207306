"""Callbacks wait for the commit, and for nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import asyncpg
import pytest
from tests.conftest import migrated_database

from gridloom.platform.database.commit import after_commit, transaction
from gridloom.platform.database.pool import create_pool


@pytest.fixture
async def pool() -> AsyncIterator[asyncpg.Pool]:
    async with migrated_database() as dsn:
        pool = await create_pool(dsn)
        yield pool
        await pool.close()


class TestACallback:
    async def test_is_one_of_several_that_come_in_their_order(self, pool) -> None:
        called: list[str] = []
        calls = [partial(called.append, name) for name in ("one", "two", "three")]
        async with transaction(pool) as db:
            for call in calls:
                after_commit(db, call)
        assert called == ["one", "two", "three"]

    async def test_does_not_come_after_a_rollback_nor_with_the_next_transaction(self, pool) -> None:
        called: list[str] = []

        async def fail() -> None:
            async with transaction(pool) as db:
                after_commit(db, lambda: called.append("never"))
                raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            await fail()
        async with transaction(pool) as db:
            await db.execute("select 1")
        assert called == []

    async def test_comes_at_once_where_every_statement_commits_by_itself(self, pool) -> None:
        called: list[str] = []
        after_commit(pool, lambda: called.append("pool"))
        async with pool.acquire() as db:
            after_commit(db, lambda: called.append("connection"))
        assert called == ["pool", "connection"]
