"""A connection that is given back to its pool without a task of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from gridloom.platform.database import pool as pool_module
from gridloom.platform.database.pool import acquire, create_pool, release, repeatable_read

OURS = "pid in (select pid from pg_stat_activity where application_name = 'giving-back')"
"""The connections of the pool under test: services of other tests use the same database."""


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Any]:
    async with await create_pool(f"{database_url}&application_name=giving-back", size=2) as made:
        yield made


class TestAConnectionGivenBack:
    async def test_after_all_were_to_be_made_anew_is_closed(self, pool: Any) -> None:
        connection = await acquire(pool, longest_wait_s=5)
        former = connection.get_server_pid()
        await pool.expire_connections()
        await release(pool, connection)
        async with pool.acquire() as next_one:
            assert next_one.get_server_pid() != former

    @pytest.mark.parametrize("answers", range(5))
    async def test_by_readers_cancelled_as_an_answer_arrives_is_at_rest(
        self, pool: Any, database_url: str, answers: int
    ) -> None:
        """Each after so many answers, when the driver has taken the next and the reader has not: nothing is under way
        that could be cancelled."""

        async def read(statement: str) -> None:
            async with repeatable_read(pool) as connection:
                await connection.fetchval(statement)

        async def cancel_as_it_arrives(reading: Any) -> None:
            arrived = 0
            while not reading.done():
                if reading._fut_waiter is not None and reading._fut_waiter.done():
                    arrived += 1
                    if arrived > answers:
                        reading.cancel()
                await asyncio.sleep(0)

        onlooker = await asyncpg.connect(database_url)
        for made in (read("select 1 from pg_class limit 1"), pool.fetchval("select 2 from pg_class limit 1")):
            reading = asyncio.create_task(made)
            await cancel_as_it_arrives(reading)
            assert reading.cancelled() or reading.exception() is None
            begun = await onlooker.fetch(
                f"select state, query from pg_stat_activity where {OURS} and xact_start is not null"
            )
            assert begun == []
        await onlooker.close()

    @pytest.mark.parametrize("take", ["pool", "acquire"])
    async def test_and_cut_by_its_server_is_not_the_next_ones(self, pool: Any, database_url: str, take: str) -> None:
        """Also while the event loop has not come to see that it was: the request before was busy."""
        async with pool.acquire() as one, pool.acquire() as other:
            pids = [await one.fetchval("select pg_backend_pid()"), await other.fetchval("select pg_backend_pid()")]

        async def cut() -> None:
            cutter = await asyncpg.connect(database_url)
            await cutter.execute("select pg_terminate_backend(pid, 5000) from unnest($1::int[]) as pid", pids)
            await cutter.close()

        thread = threading.Thread(target=lambda: asyncio.run(cut()))
        thread.start()
        thread.join()  # and meanwhile nothing else
        if take == "pool":
            assert await pool.fetchval("select 1") == 1
        else:
            connection = await acquire(pool, longest_wait_s=5)
            assert await connection.fetchval("select 1") == 1
            await release(pool, connection)

    async def test_by_a_cancelled_task_frees_its_slot(self, pool: Any) -> None:
        async def ask() -> None:
            connection = await pool.acquire()
            try:
                await connection.fetchval("select pg_sleep(5)")
            finally:
                await release(pool, connection)

        asking = [asyncio.create_task(ask()) for _ in range(2)]
        await asyncio.sleep(0.2)
        for task in asking:
            task.cancel()
        await asyncio.wait(asking)
        async with pool.acquire(timeout=120) as one, pool.acquire(timeout=120) as other:
            assert await one.fetchval("select 1") + await other.fetchval("select 1") == 2

    async def test_that_listens_hears_nothing_for_the_next_one(self, pool: Any) -> None:
        connection = await pool.acquire()
        heard: list[object] = []
        await connection.add_listener("somewhere", lambda *told: heard.append(told))
        with pytest.warns(Warning, match="active notification listener"):
            await release(pool, connection)
        async with pool.acquire() as next_one:
            await next_one.execute("notify somewhere")
            await next_one.fetchval("select 1")
        assert heard == []

    async def test_is_closed_after_so_many_queries(self, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        async with await create_pool(database_url, size=1) as pool:
            connection = await acquire(pool, longest_wait_s=5)
            before = await connection.fetchval("select pg_backend_pid()")
            monkeypatch.setattr(connection._holder, "_max_queries", 1)
            await release(pool, connection)
            async with pool.acquire(timeout=120) as next_one:
                assert await next_one.fetchval("select pg_backend_pid()") != before


class TestAConnectionAtRest:
    async def test_is_closed_once_it_is_idle(self, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pool_module, "IDLE_POLL_INTERVAL_S", 0.1)
        async with await create_pool(database_url, size=4) as pool:
            taken = [await acquire(pool, longest_wait_s=5) for _ in range(4)]
            for connection in taken:
                await release(pool, connection)
            assert pool.get_size() == 4
            async with asyncio.timeout(120):
                while pool.get_size() > 1:
                    await asyncio.sleep(0.02)
            assert await pool.fetchval("select 1") == 1


class TestAConnectionTaken:
    async def test_is_waited_for_no_longer_than_allowed(self, pool: Any) -> None:
        held = [await acquire(pool, longest_wait_s=5) for _ in range(2)]
        with pytest.raises(TimeoutError):
            await acquire(pool, longest_wait_s=0.1)
        for connection in held:
            await release(pool, connection)
        await release(pool, await acquire(pool, longest_wait_s=5))
