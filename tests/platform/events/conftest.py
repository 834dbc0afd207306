"""A database of its own, with organisations, for tests of the orders of events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from uuid import UUID

import asyncpg
import pytest
from tests.conftest import migrated_database

from gridloom.kernel.ids import uuid7

NewOrganisation = Callable[..., Awaitable[UUID]]


@pytest.fixture
async def dsn() -> AsyncIterator[str]:
    async with migrated_database() as dsn:
        yield dsn


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[asyncpg.Pool]:
    from gridloom.platform.database.pool import create_pool

    pool = await create_pool(dsn, size=20)
    yield pool
    await pool.close()


@pytest.fixture
def organisation(pool: asyncpg.Pool) -> NewOrganisation:
    async def make(kind: str = "PARTICIPANT") -> UUID:
        organisation_id = uuid7()
        await pool.execute("insert into organisation (id, name, kind) values ($1, 'x', $2)", organisation_id, kind)
        return organisation_id

    return make
