"""Rows that a transaction writes last."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from gridloom.platform.database.commit import deferred_rows
from gridloom.platform.database.commit.after_commit import after_commit, underlying_connection
from gridloom.platform.database.commit.deferred_rows import (
    MAX_DEFERRED_ROWS,
    begin_deferring,
    defer_insert,
    discard_deferred,
    execute_single_statement,
    fetchrow_with_collected,
    flush_deferred,
    write_by_parts,
)
from gridloom.platform.database.commit.insert_target import InsertTarget
from gridloom.platform.database.commit.single_statement import SingleStatementWrite
from gridloom.platform.database.pool import create_pool
from gridloom.platform.database.statement import NamedStatement

NOTES = InsertTarget("note", [("place", "{}"), ("words", "{}::text::jsonb"), ("at", "clock_timestamp()")])
NAMES = InsertTarget("name", [("key", "{}"), ("name", "{}")], "on conflict (key) do update set name = excluded.name")


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(database_url)
    await connection.execute(
        """
        create temporary table note (
          id bigint generated always as identity, place int, words jsonb, at timestamptz not null);
        create temporary table name (key int primary key, name text)
        """
    )
    yield connection
    discard_deferred(underlying_connection(connection))
    await connection.close()


async def places(db: Any) -> list[int]:
    return [row["place"] for row in await db.fetch("select place from note order by id")]


class TestLastRows:
    async def test_are_written_in_one_statement_in_the_order_in_which_they_came(self, db: Any) -> None:
        asked: list[str] = []
        async with db.transaction():
            begin_deferring(db)
            await defer_insert(db, NOTES, (1, "{}"))
            await defer_insert(db, NAMES, (7, "seven"))
            await defer_insert(db, NOTES, (2, '{"a": 1}'), (3, "[]"))
            assert await places(db) == []
            with db.query_logger(lambda query: asked.append(query.query)):
                await flush_deferred(db)
        assert len(asked) == 1
        assert await places(db) == [1, 2, 3]
        assert await db.fetchval("select name from name where key = 7") == "seven"

    async def test_are_written_at_once_outside_of_a_deferring_transaction(self, db: Any) -> None:
        await defer_insert(db, NAMES, (1, "one"))
        await defer_insert(db, NAMES, (1, "uno"))
        assert await db.fetchval("select name from name") == "uno"

    async def test_are_written_at_once_through_a_pool(self, database_url: str) -> None:
        async with await create_pool(database_url, size=1) as pool:
            target = InsertTarget(
                "write_probe", [("is_only", "{}"), ("probed_at", "clock_timestamp()")], "on conflict do nothing"
            )
            for pool.is_distributed in (False, True):  # type: ignore[attr-defined]
                await defer_insert(pool, target, (True,))
                assert await pool.fetchval("select count(*) from write_probe") == 1

    async def test_beyond_a_few_are_written_behind_those_before_them(self, db: Any) -> None:
        async with db.transaction():
            begin_deferring(db)
            await defer_insert(db, NOTES, (0, "{}"))
            await defer_insert(db, NOTES, *((place, "{}") for place in range(1, 2 * MAX_DEFERRED_ROWS + 3)))
            await defer_insert(db, NOTES, (99, "{}"))
            await flush_deferred(db)
        assert await places(db) == [*range(2 * MAX_DEFERRED_ROWS + 3), 99]

    async def test_of_a_transaction_that_was_undone_are_discarded(self, db: Any) -> None:
        transaction = db.transaction()
        await transaction.start()
        begin_deferring(db)
        await defer_insert(db, NOTES, (1, "{}"))
        await transaction.rollback()
        discard_deferred(underlying_connection(db))
        await defer_insert(db, NOTES, (2, "{}"))
        assert await places(db) == [2]


class TestAChangeOfOneStatement:
    """Gathered first, and committed by the statement that writes it."""

    async def gather(self, called: list[str]) -> SingleStatementWrite:
        change = SingleStatementWrite()
        await defer_insert(change, NOTES, (1, "{}"))
        await defer_insert(change, NAMES, (7, "seven"))
        await defer_insert(change, NOTES, (2, "[]"))
        after_commit(change, lambda: called.append("after"))
        return change

    async def test_writes_all_its_rows_at_once(self, db: Any) -> None:
        called: list[str] = []
        change, asked = await self.gather(called), list[str]()
        with db.query_logger(lambda query: asked.append(query.query)):
            await execute_single_statement(db, change)
            await execute_single_statement(db, SingleStatementWrite())
        assert (await places(db), await db.fetchval("select name from name where key = 7")) == ([1, 2], "seven")
        assert len(asked) == 1, "nothing is asked for a change without rows"
        assert called == []
        change.committed()
        change.committed()
        assert (called, change.rows) == (["after"], [])

    async def test_writes_its_rows_along_with_a_statement_of_its_own(self, db: Any) -> None:
        statement = NamedStatement("with given as (select :b::text as b, :a::int as a) select a, b from given")
        called: list[str] = []
        change = await self.gather(called)
        change.connection = db
        row = await fetchrow_with_collected(change, statement, a=5, b="five")
        assert (row["a"], row["b"]) == (5, "five")
        assert (await places(db), await db.fetchval("select name from name where key = 7")) == ([1, 2], "seven")
        assert (called, change.rows) == (["after"], [])
        alone = await fetchrow_with_collected(change, statement, a=6, b="six")
        assert (alone["a"], await places(db)) == (6, [1, 2])

    async def test_in_a_transaction_writes_along_what_was_collected(self, db: Any) -> None:
        statement = NamedStatement("with given as (select :a::int as a) select a from given")
        async with db.transaction():
            begin_deferring(db)
            assert (await fetchrow_with_collected(db, statement, a=4))["a"] == 4
            await defer_insert(db, NOTES, (3, "{}"))
            assert (await fetchrow_with_collected(db, statement, a=5))["a"] == 5
            assert await places(db) == [3]
            await flush_deferred(db)
        assert await places(db) == [3], "once"

    async def test_by_parts_writes_its_rows_last_and_all_or_nothing(self, db: Any) -> None:
        called: list[str] = []
        change = await self.gather(called)
        change.connection = db

        async def break_off() -> None:
            async with write_by_parts(change) as within:
                await within.execute("insert into name (key, name) values (8, 'eight')")
                raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            await break_off()
        assert (await places(db), await db.fetchval("select count(*) from name"), called) == ([], 0, [])
        async with write_by_parts(change) as within:
            await within.execute("insert into name (key, name) values (7, 'old')")
            assert await places(db) == []
        assert (await places(db), await db.fetchval("select name from name where key = 7")) == ([1, 2], "seven")
        assert called == ["after"]
        async with db.transaction():
            begin_deferring(db)
            await defer_insert(db, NOTES, (9, "{}"))
            async with write_by_parts(db) as same:
                assert same is db
            assert await places(db) == [1, 2, 9]

    async def test_on_several_nodes_writes_each_table_by_itself(self, db: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(deferred_rows, "is_distributed", lambda _: True)
        change, asked = await self.gather([]), list[str]()
        with db.query_logger(lambda query: asked.append(query.query.split(" (")[0])):
            await execute_single_statement(db, change)
        assert await places(db) == [1, 2]
        assert [text for text in asked if text.startswith("insert")] == ["insert into note", "insert into name"]
        async with db.transaction():
            await execute_single_statement(db, change)
        assert await places(db) == [1, 2, 1, 2]


async def test_a_change_of_one_row_is_written_as_one_of_several_is_and_one_of_none_is_not() -> None:
    done: list[Any] = []

    class Connection:
        async def execute(self, statement: str, *values: Any) -> None:
            done.append(values)

    for count in (0, 1, 2):
        change = SingleStatementWrite()
        await defer_insert(change, NAMES, *[(number, "a") for number in range(count)])
        connection: Any = Connection()
        await execute_single_statement(connection, change)
    assert done == [(0, "a"), (0, "a", 1, "a")]
