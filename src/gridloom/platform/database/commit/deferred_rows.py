"""Rows that a transaction writes last, all in one statement, whichever rooms they come from.

What a change leaves behind besides its effect (its line of the audit log, the events that tell of it, the answer kept
for a repetition) is neither written again nor read in the same transaction. Written one by one each would
cost a round trip, and most of them under the locks of the change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import asyncpg

from gridloom.platform.database.commit.after_commit import underlying_connection
from gridloom.platform.database.commit.insert_target import InsertTarget, Row
from gridloom.platform.database.pool import is_distributed

if TYPE_CHECKING:
    from gridloom.platform.database.pool import Database

MAX_DEFERRED_ROWS: Final = 8
"""More in one transaction are written by statements of their own: each number of rows is a statement to prepare."""


_collected: WeakKeyDictionary[object, list[tuple[InsertTarget, Row]]] = WeakKeyDictionary()


def begin_deferring(db: Database) -> None:
    """Buffer rows passed to `defer_insert` until `flush_deferred` writes them in one statement.

    Call it only at the start of the outermost transaction: a rollback to a savepoint does not discard buffered rows.
    """
    physical = underlying_connection(db)
    if physical is not None:  # else it has died since, and the next statement says so
        _collected[physical] = []


def discard_deferred(physical: object) -> None:
    """Call it when the transaction of a connection has ended, committed or not; None for a connection that was lost."""
    if physical is not None:
        _collected.pop(physical, None)


def _find_collected(db: Database) -> list[tuple[InsertTarget, Row]] | None:
    """None for a pool, and where rows are not being deferred."""
    physical = underlying_connection(db)
    return _collected.get(physical) if isinstance(physical, asyncpg.Connection) else None


async def defer_insert(db: Database, target: InsertTarget, *rows: Row) -> None:
    """Write rows of one table before the commit: with other deferred rows, or immediately where none are deferred."""
    waiting = _find_collected(db)
    if waiting is not None and len(waiting) + len(rows) <= MAX_DEFERRED_ROWS:
        waiting += [(target, row) for row in rows]
        return
    await flush_deferred(db)  # they came first
    for start in range(0, len(rows), MAX_DEFERRED_ROWS):
        await _write_rows(db, [(target, row) for row in rows[start : start + MAX_DEFERRED_ROWS]])


async def flush_deferred(db: Database) -> None:
    """Write what has been collected so far, in the order in which it came within each table."""
    waiting = _find_collected(db)
    if waiting:
        rows, waiting[:] = list(waiting), []
        await _write_rows(db, rows)


async def _write_rows(db: Database, rows: Sequence[tuple[InsertTarget, Row]]) -> None:
    by_target = _group_rows(rows)
    if len(by_target) > 1 and is_distributed(db):
        connection: Any = db  # rows of several tables are collected on one
        async with nullcontext() if connection.is_in_transaction() else connection.transaction():
            await _write_each(db, rows)
        return
    statement = compose_statement(tuple((target, len(own)) for target, own in by_target.items()))
    await db.execute(statement, *_list_values(by_target))


async def _write_each(db: Database, rows: Sequence[tuple[InsertTarget, Row]]) -> None:
    """The rows of each table by a statement of its own."""
    for target, own in _group_rows(rows).items():
        await db.execute(compose_statement(((target, len(own)),)), *(value for row in own for value in row))


def _group_rows(rows: Iterable[tuple[InsertTarget, Row]]) -> dict[InsertTarget, list[Row]]:
    by_target: dict[InsertTarget, list[Row]] = {}
    for target, row in rows:
        by_target.setdefault(target, []).append(row)
    return by_target


def _list_values(by_target: Mapping[InsertTarget, Sequence[Row]]) -> list[object]:
    return [value for own in by_target.values() for row in own for value in row]


@lru_cache(maxsize=256)
def compose_statement(parts: tuple[tuple[InsertTarget, int], ...]) -> str:
    inserts, before = [], 0
    for target, rows in parts:
        inserts.append(target.insert(rows, before))
        before += rows * target.width
    if len(inserts) == 1:
        return inserts[0]
    # None of them comes last: a distributed database lets a change of its own tables bring no other one along.
    return f"with {', '.join(f'last_{index} as ({insert})' for index, insert in enumerate(inserts))} select 1"
