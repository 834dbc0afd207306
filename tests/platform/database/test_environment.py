"""A database is a production's or a sandbox's for good, and keeps the clock of that."""

from __future__ import annotations

from datetime import timedelta

import asyncpg
import pytest
from tests.conftest import migrated_database

from gridloom.kernel.environment import Environment
from gridloom.platform.database.clock import platform_now, platform_now_to_the_ms, real_now
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


class TestTheClocks:
    async def test_are_the_real_one_and_one_that_a_sandbox_may_move(self) -> None:
        async with migrated_database() as url:
            connection = await asyncpg.connect(url)
            try:
                await establish_environment(connection, "sandbox")
                await connection.execute("update sandbox_clock set ahead = interval '3 days', hold_until = null")
                before, platform, after = (
                    await real_now(connection),
                    await platform_now(connection),
                    await real_now(connection),
                )
                assert before <= platform - timedelta(days=3) <= after
                assert await connection.fetchval("select platform_pace()") == 1
                shown = [await platform_now_to_the_ms(connection) for _ in range(5)]
                assert {moment.microsecond % 1000 for moment in shown} == {0}
                assert any(moment.microsecond for moment in shown), "and not to the second"
                await connection.execute("update sandbox_clock set hold_until = $1", platform)
                assert await platform_now(connection) == platform
                assert await connection.fetchval("select platform_pace()") == 0
            finally:
                await connection.close()
