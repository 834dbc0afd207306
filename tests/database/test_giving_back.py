"""A connection that is given back to its pool without a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gridloom.database.pool import create_pool, give_back, take


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Any]:
    async with await create_pool(database_url, size=2) as made:
        yield made


class TestAConnectionGivenBack:
    async def test_is_the_next_ones(self, pool: Any) -> None:
        for _ in range(5):
            connection = await take(pool, longest_wait_s=5)
            assert await connection.fetchval("select 1") == 1
            await give_back(pool, connection)
        assert pool.get_idle_size() == pool.get_size()

    async def test_is_no_longer_its_own(self, pool: Any) -> None:
        connection = await pool.acquire()
        await give_back(pool, connection)
        with pytest.raises(Exception, match="released back to the pool"):
            await connection.fetchval("select 1")

    async def test_has_no_transaction_open(self, pool: Any) -> None:
        connection = await pool.acquire()
        await connection.transaction().start()
        await give_back(pool, connection)
        async with pool.acquire() as next_one:
            assert not next_one.is_in_transaction()

    async def test_that_has_died_leaves_its_place(self, pool: Any) -> None:
        connection = await pool.acquire()
        connection.terminate()
        await give_back(pool, connection)
        async with pool.acquire(timeout=5) as one, pool.acquire(timeout=5) as other:
            assert await one.fetchval("select 1") + await other.fetchval("select 1") == 2

    async def test_goes_round_among_more_than_there_are_connections(self, pool: Any) -> None:
        served = [0] * 24

        async def ask(place: int) -> None:
            for _ in range(20):
                connection = await take(pool, longest_wait_s=20)
                await connection.fetchval("select 1")
                await give_back(pool, connection)
                served[place] += 1

        await asyncio.gather(*(ask(place) for place in range(len(served))))
        assert served == [20] * len(served)

    async def test_by_whoever_is_broken_off_leaves_its_place(self, pool: Any) -> None:
        async def ask() -> None:
            connection = await pool.acquire()
            try:
                await connection.fetchval("select pg_sleep(5)")
            finally:
                await give_back(pool, connection)

        asking = [asyncio.create_task(ask()) for _ in range(2)]
        await asyncio.sleep(0.2)
        for task in asking:
            task.cancel()
        await asyncio.wait(asking)
        async with pool.acquire(timeout=5) as one, pool.acquire(timeout=5) as other:
            assert await one.fetchval("select 1") + await other.fetchval("select 1") == 2


class TestAConnectionTaken:
    async def test_is_waited_for_no_longer_than_allowed(self, pool: Any) -> None:
        held = [await take(pool, longest_wait_s=5) for _ in range(2)]
        with pytest.raises(TimeoutError):
            await take(pool, longest_wait_s=0.1)
        for connection in held:
            await give_back(pool, connection)
        await give_back(pool, await take(pool, longest_wait_s=5))

    async def test_is_made_where_there_is_none_yet(self, pool: Any) -> None:
        await pool.expire_connections()
        connection = await take(pool, longest_wait_s=5)
        assert await connection.fetchval("select 1") == 1
        await give_back(pool, connection)
