"""What tests of settlements and revenue share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest
from tests.people import People

from gridloom.kernel.ids import uuid7

if TYPE_CHECKING:
    import asyncpg
    from tests.revenue.world import World


@pytest.fixture(scope="session")
async def pool(database_url: str) -> AsyncIterator[asyncpg.Pool[Any]]:
    from gridloom.platform.database.pool import create_pool

    pool = await create_pool(database_url, size=10)
    yield pool
    await pool.close()


@pytest.fixture(scope="session")
async def world(pool: asyncpg.Pool[Any], people: People) -> World:
    """An organisation whose assets tests make as they need them; the operator's comes first, on an empty database."""
    from tests.revenue.world import World

    id = uuid7()
    await pool.execute("insert into organisation (id, name, kind) values ($1, 'Settled GmbH', 'PARTICIPANT')", id)
    return World(pool, id)
