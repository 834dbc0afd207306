"""Rows that a transaction writes last."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from gridloom.database.committing.after_commit import physical_of
from gridloom.database.committing.last_rows import (
    MOST_ROWS,
    Target,
    collect_rows,
    forget_rows,
    write_collected,
    write_last,
)
from gridloom.database.pool import create_pool

NOTES = Target("note", [("place", "{}"), ("words", "{}::text::jsonb"), ("at", "clock_timestamp()")])
NAMES = Target("name", [("key", "{}"), ("name", "{}")], "on conflict (key) do update set name = excluded.name")


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
    forget_rows(physical_of(connection))
    await connection.close()


async def places(db: Any) -> list[int]:
    return [row["place"] for row in await db.fetch("select place from note order by id")]


class TestLastRows:
    async def test_are_written_in_one_statement_in_the_order_in_which_they_came(self, db: Any) -> None:
        asked: list[str] = []
        async with db.transaction():
            collect_rows(db)
            await write_last(db, NOTES, (1, "{}"))
            await write_last(db, NAMES, (7, "seven"))
            await write_last(db, NOTES, (2, '{"a": 1}'), (3, "[]"))
            assert await places(db) == []
            with db.query_logger(lambda query: asked.append(query.query)):
                await write_collected(db)
        assert len(asked) == 1
        assert await places(db) == [1, 2, 3]
        assert await db.fetchval("select name from name where key = 7") == "seven"

    async def test_are_written_at_once_where_nobody_collects(self, db: Any) -> None:
        await write_last(db, NAMES, (1, "one"))
        await write_last(db, NAMES, (1, "uno"))
        assert await db.fetchval("select name from name") == "uno"

    async def test_are_written_at_once_through_a_pool(self, database_url: str) -> None:
        async with await create_pool(database_url, size=1) as pool:
            target = Target(
                "write_probe", [("is_only", "{}"), ("probed_at", "clock_timestamp()")], "on conflict do nothing"
            )
            await write_last(pool, target, (True,))
            assert await pool.fetchval("select count(*) from write_probe") == 1

    async def test_beyond_a_few_are_written_behind_those_before_them(self, db: Any) -> None:
        async with db.transaction():
            collect_rows(db)
            await write_last(db, NOTES, (0, "{}"))
            await write_last(db, NOTES, *((place, "{}") for place in range(1, 2 * MOST_ROWS + 3)))
            await write_last(db, NOTES, (99, "{}"))
            await write_collected(db)
        assert await places(db) == [*range(2 * MOST_ROWS + 3), 99]

    async def test_of_a_transaction_that_was_undone_are_forgotten(self, db: Any) -> None:
        transaction = db.transaction()
        await transaction.start()
        collect_rows(db)
        await write_last(db, NOTES, (1, "{}"))
        await transaction.rollback()
        forget_rows(physical_of(db))
        await write_last(db, NOTES, (2, "{}"))
        assert await places(db) == [2]
