"""A queue of its own for each test, and kinds of jobs that are forgotten after it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import pytest
from tests.conftest import migrated_database

if TYPE_CHECKING:
    import asyncpg


@pytest.fixture
async def dsn() -> AsyncIterator[str]:
    async with migrated_database() as dsn:
        yield dsn


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[asyncpg.Pool[asyncpg.Record]]:
    from gridloom.platform.database.pool import create_pool

    pool = await create_pool(dsn)
    await pool.execute("create table done (key text, attempt int, at timestamptz default clock_timestamp())")
    yield pool
    await pool.close()


@pytest.fixture
def kinds() -> Iterator[None]:
    from gridloom.platform.jobs.declare import KINDS

    before = dict(KINDS)
    KINDS.clear()
    yield
    KINDS.clear()
    KINDS.update(before)
