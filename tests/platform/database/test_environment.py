"""A database is a production's or a sandbox's for good, and keeps the clock of that."""

from __future__ import annotations

import asyncpg
import pytest
from tests.conftest import migrated_database

from gridloom.kernel.environment import Environment
from gridloom.platform.database.environment import EnvironmentMismatchError, establish_environment


class TestADatabase:
    @pytest.mark.parametrize(("ours", "others"), [("production", "sandbox"), ("sandbox", "production")])
    async def test_belongs_to_the_environment_that_came_first(self, ours: Environment, others: Environment) -> None:
        async with migrated_database() as url:
            connection = await asyncpg.connect(url)
            try:
                await connection.execute("delete from environment")
                for _ in range(2):
                    await establish_environment(connection, ours)
                with pytest.raises(
                    EnvironmentMismatchError, match=f"belongs to a {ours} service and cannot serve {others}"
                ):
                    await establish_environment(connection, others)
                assert await connection.fetchval("select array_agg(name) from environment") == [ours]
            finally:
                await connection.close()
