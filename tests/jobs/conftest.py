"""A queue of its own for each test, and kinds of jobs that are forgotten after it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest
from tests.conftest import migrated_database

from gridloom.database.pool import create_pool
from gridloom.jobs.declare import KINDS


@pytest.fixture
async def dsn() -> AsyncIterator[str]:
    async with migrated_database() as dsn:
        yield dsn


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[asyncpg.Pool[asyncpg.Record]]:
    pool = await create_pool(dsn)
    await pool.execute("create table done (key text, attempt int, at timestamptz default clock_timestamp())")
    yield pool
    await pool.close()


@pytest.fixture
def kinds() -> Iterator[None]:
    before = dict(KINDS)
    KINDS.clear()
    yield
    KINDS.clear()
    KINDS.update(before)
