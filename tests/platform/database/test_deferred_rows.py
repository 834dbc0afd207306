"""Rows that a transaction writes last."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import Any

import asyncpg
import pytest

from gridloom.platform.database.commit import (
    InsertTarget,
    begin_deferring,
    defer_insert,
    discard_deferred,
    flush_deferred,
    underlying_connection,
)
from gridloom.platform.database.pool import create_pool

NOTES = InsertTarget("note", [("place", "{}"), ("words", "{}::text::jsonb"), ("at", "clock_timestamp()")])
NAMES = InsertTarget("name", [("key", "{}"), ("name", "{}")], "on conflict (key) do update set name = excluded.name")

TABLES = """
create temporary table note (id bigint generated always as identity, place int, words jsonb, at timestamptz not null);
create temporary table name (key int primary key, name text)
"""


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(database_url)
    await connection.execute(TABLES)
    yield connection
    discard_deferred(underlying_connection(connection))
    await connection.close()


async def places(db: Any) -> list[int]:
    return [row["place"] for row in await db.fetch("select place from note order by id")]


class TestLastRows:
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


class TestRowsOnSeveralNodes:
    @pytest.mark.parametrize("is_in_transaction", [True, False])
    async def test_are_written_by_a_statement_for_each_table(self, database_url: str, is_in_transaction: bool) -> None:
        async with await create_pool(database_url, size=1) as pool, pool.acquire() as db:
            pool.is_distributed = True  # type: ignore[attr-defined]
            await db.execute(TABLES)
            asked: list[str] = []
            async with db.transaction() if is_in_transaction else nullcontext():
                begin_deferring(db)
                for row in (1, 2):
                    await defer_insert(db, NOTES, (row, "{}"))
                    await defer_insert(db, NAMES, (row, "a"))
                with db.query_logger(lambda query: asked.append(query.query.split(" (")[0])):
                    await flush_deferred(db)
            assert await places(db) == [1, 2]
            assert [text for text in asked if text.startswith("insert")] == ["insert into note", "insert into name"]
            discard_deferred(underlying_connection(db))
