"""A connection that is given back to its pool without a task of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from gridloom.platform.database import pool as pool_module
from gridloom.platform.database.pool import NoResetConnection, acquire, create_pool, release, repeatable_read

OURS = "pid in (select pid from pg_stat_activity where application_name = 'giving-back')"
"""The connections of the pool under test: services of other tests use the same database."""
COUNT = "select count(*) from pg_class"


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Any]:
    async with await create_pool(f"{database_url}&application_name=giving-back", size=2) as made:
        yield made


class TestAConnectionGivenBack:
    async def test_is_the_next_ones(self, pool: Any) -> None:
        for _ in range(5):
            connection = await acquire(pool, longest_wait_s=5)
            assert await connection.fetchval("select 1") == 1
            await release(pool, connection)
        assert pool.get_idle_size() == pool.get_size()

    async def test_after_all_were_to_be_made_anew_is_closed(self, pool: Any) -> None:
        connection = await acquire(pool, longest_wait_s=5)
        former = connection.get_server_pid()
        await pool.expire_connections()
        await release(pool, connection)
        async with pool.acquire() as next_one:
            assert next_one.get_server_pid() != former

    async def test_is_no_longer_its_own(self, pool: Any) -> None:
        connection = await pool.acquire()
        await release(pool, connection)
        with pytest.raises(Exception, match="released back to the pool"):
            await connection.fetchval("select 1")

    async def test_has_no_transaction_open(self, pool: Any) -> None:
        connection = await pool.acquire()
        await connection.transaction().start()
        await release(pool, connection)
        async with pool.acquire() as next_one:
            assert not next_one.is_in_transaction()

    async def test_after_a_statement_that_was_parsed_and_never_run_is_at_rest(self, pool: Any) -> None:
        """The driver has it parsed without an end; the next transaction would not be the first to read in it."""
        with pytest.raises(asyncpg.DataError):
            await pool.fetchval("select $1::int from pg_class limit 1", "no number")
        async with repeatable_read(pool) as connection:
            assert await connection.fetchval("show transaction_isolation") == "repeatable read"
            assert await connection.fetchval("show transaction_read_only") == "on"

    async def test_by_a_reader_cancelled_between_parsing_and_running_is_at_rest(
        self, pool: Any, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        parsed = NoResetConnection._get_statement

        async def parse_and_be_cancelled(connection: Any, query: str, *arguments: Any, **options: Any) -> Any:
            statement = await parsed(connection, query, *arguments, **options)
            if query != COUNT:  # of a service that other tests left running
                return statement
            raise asyncio.CancelledError

        with monkeypatch.context() as patched:
            patched.setattr(NoResetConnection, "_get_statement", parse_and_be_cancelled)
            with pytest.raises(asyncio.CancelledError):
                await pool.fetchval(COUNT)
        onlooker = await asyncpg.connect(database_url)
        held = await onlooker.fetchval(
            f"select count(*) from pg_locks where relation = 'pg_class'::regclass and {OURS}"
        )
        await onlooker.close()
        assert held == 0, "a change of the table would have to wait for a connection that nobody uses"
        async with repeatable_read(pool) as connection:
            assert await connection.fetchval("select 1") == 1

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

    async def test_that_has_died_leaves_its_place(self, pool: Any) -> None:
        connection = await pool.acquire()
        connection.terminate()
        await release(pool, connection)
        async with pool.acquire(timeout=120) as one, pool.acquire(timeout=120) as other:
            assert await one.fetchval("select 1") + await other.fetchval("select 1") == 2

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

    async def test_goes_round_among_more_than_there_are_connections(self, pool: Any) -> None:
        served = [0] * 24

        async def ask(place: int) -> None:
            for _ in range(20):
                connection = await acquire(pool, longest_wait_s=20)
                await connection.fetchval("select 1")
                await release(pool, connection)
                served[place] += 1

        await asyncio.gather(*(ask(place) for place in range(len(served))))
        assert served == [20] * len(served)

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

    async def test_is_closed_where_others_are_to_be_made(self, pool: Any) -> None:
        connection = await acquire(pool, longest_wait_s=5)
        before = await connection.fetchval("select pg_backend_pid()")
        await pool.expire_connections()
        await release(pool, connection)
        async with pool.acquire(timeout=120) as next_one:
            assert await next_one.fetchval("select pg_backend_pid()") != before

    async def test_is_closed_after_so_many_queries(self, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        async with await create_pool(database_url, size=1) as pool:
            connection = await acquire(pool, longest_wait_s=5)
            before = await connection.fetchval("select pg_backend_pid()")
            monkeypatch.setattr(connection._holder, "_max_queries", 1)
            await release(pool, connection)
            async with pool.acquire(timeout=120) as next_one:
                assert await next_one.fetchval("select pg_backend_pid()") != before

    async def test_is_unused_once_the_pool_closes(self, database_url: str) -> None:
        pool = await create_pool(database_url, size=1)
        connection = await acquire(pool, longest_wait_s=5)
        closing = asyncio.create_task(pool.close())
        await asyncio.sleep(0)
        with pytest.raises(Exception, match="pool is closing"):
            await acquire(pool, longest_wait_s=5)
        await release(pool, connection)
        await asyncio.wait_for(closing, 120)


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

    async def test_stays_as_long_as_it_is_used(self, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pool_module, "IDLE_POLL_INTERVAL_S", 0.2)
        async with await create_pool(database_url, size=2) as pool:
            used = await acquire(pool, longest_wait_s=5)
            idle = await acquire(pool, longest_wait_s=5)
            before = await used.fetchval("select pg_backend_pid()")
            await release(pool, idle)
            await release(pool, used)
            async with asyncio.timeout(120):
                while pool.get_size() > 1:
                    assert await pool.fetchval("select pg_backend_pid()") == before
                    await asyncio.sleep(0.01)
            assert await pool.fetchval("select pg_backend_pid()") == before


class TestAConnectionTaken:
    async def test_is_waited_for_no_longer_than_allowed(self, pool: Any) -> None:
        held = [await acquire(pool, longest_wait_s=5) for _ in range(2)]
        with pytest.raises(TimeoutError):
            await acquire(pool, longest_wait_s=0.1)
        for connection in held:
            await release(pool, connection)
        await release(pool, await acquire(pool, longest_wait_s=5))

    async def test_is_made_where_there_is_none_yet(self, pool: Any) -> None:
        await pool.expire_connections()
        connection = await acquire(pool, longest_wait_s=5)
        assert await connection.fetchval("select 1") == 1
        await release(pool, connection)
