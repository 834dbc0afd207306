"""What tests of settlements and revenue share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
from tests.people import People
from tests.revenue.world import World

from gridloom.database.pool import create_pool
from gridloom.kernel.ids import uuid7


@pytest.fixture(scope="session")
async def pool(database_url: str) -> AsyncIterator[asyncpg.Pool[Any]]:
    pool = await create_pool(database_url, size=10)
    yield pool
    await pool.close()


@pytest.fixture(scope="session")
async def world(pool: asyncpg.Pool[Any], people: People) -> World:
    """An organisation whose assets tests make as they need them; the operator's comes first, on an empty database."""
    id = uuid7()
    await pool.execute("insert into organisation (id, name, kind) values ($1, 'Settled GmbH', 'PARTICIPANT')", id)
    return World(pool, id)
