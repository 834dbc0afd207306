"""Reading by keys, of which there is mostly one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncpg

    from gridloom.platform.database.pool import Database

_OF_MANY = "= any($1::int[])"


async def fetch_by_keys(db: Database, statement: str, keys: Sequence[int], *others: object) -> Sequence[asyncpg.Record]:
    """The rows of a statement that asks for `= any($1::int[])`; for a single key it asks for `= $1`.

    Over a list PostgreSQL plans anew each time, since it cannot tell how long the next one will be, and that takes
    longer than to read a few rows by their index. For one key it keeps its plan.
    """
    if len(keys) == 1:
        return await db.fetch(_ask_for_one(statement), keys[0], *others)
    return await db.fetch(statement, list(keys), *others)


@cache
def _ask_for_one(statement: str) -> str:
    assert _OF_MANY in statement, "a statement that asks for keys"
    return statement.replace(_OF_MANY, "= $1")
