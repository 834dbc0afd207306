"""The end of a transaction: the rows that it writes last, of all rooms in one statement, and callbacks after commit.

What a change leaves behind besides its effect (its line of the audit log, the events that tell of it, the answer kept
for a repetition) is neither written again nor read in the same transaction. Written one by one each would
cost a round trip, and most of them under the locks of the change.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from gridloom.platform.database.pool import is_distributed

if TYPE_CHECKING:
    from gridloom.platform.database.pool import Database, Pool

# --- after the commit ------------------------------------------------------------------------------------------------

Callback = Callable[[], None]

_waiting: WeakKeyDictionary[object, dict[Callback, None]] = WeakKeyDictionary()


def underlying_connection(db: object) -> object:
    """The connection behind a pool's proxy: the proxy lives for one loan only, or until the connection dies.

    Read it before the commit: the connection may be lost right after the confirmation.
    """
    return db._con if isinstance(db, PoolConnectionProxy) else db  # type: ignore[attr-defined]


def after_commit(db: object, callback: Callback) -> None:
    """Call back once when `run_callbacks(db)` reports the commit; the same callback twice in a transaction counts once.

    On a pool or outside a transaction every statement commits by itself, so the callback is due at once.
    """
    connection = underlying_connection(db)
    if not isinstance(connection, asyncpg.Connection) or not connection.is_in_transaction():
        callback()
        return
    _waiting.setdefault(connection, {})[callback] = None


def run_callbacks(db: object) -> None:
    """Call it after the outermost transaction of this connection was committed."""
    connection = underlying_connection(db)
    assert connection is not None, "ask for the physical connection before the commit"
    for callback in _waiting.pop(connection, {}):
        callback()


def discard_callbacks(db: object) -> None:
    """Call it after the outermost transaction of this connection was rolled back.

    A connection that died has left its proxy; what waited for it goes with it.
    """
    connection = underlying_connection(db)
    if connection is not None:
        _waiting.pop(connection, None)


@asynccontextmanager
async def transaction(
    pool: Pool, longest_wait_s: float | None = None
) -> AsyncIterator[PoolConnectionProxy[asyncpg.Record]]:
    """One connection of the pool in one transaction, with its after-commit callbacks."""
    async with pool.acquire(timeout=longest_wait_s) as connection:
        physical = underlying_connection(connection)
        try:
            async with connection.transaction():
                yield connection
        except BaseException as error:
            discard_callbacks(physical)
            if isinstance(error, asyncpg.InternalClientError) and isinstance(physical, asyncpg.Connection):
                physical.terminate()  # the driver no longer knows what it will say next
            raise
        run_callbacks(physical)


# --- rows that are written last --------------------------------------------------------------------------------------

Row = Sequence[object]


@dataclass(frozen=True, slots=True, eq=False)
class InsertTarget:
    """Where rows go: a table, its columns, and the expression for the value of each.

    `{}` is the row's next value, as it is, cast or within an expression; anything else is written as it is.
    """

    table: str
    columns: Sequence[tuple[str, str]]
    on_conflict: str = ""

    @classmethod
    def of_columns(cls, table: str, columns: str) -> InsertTarget:
        """Each column, of a list as in SQL, takes the row's next value as it is."""
        return cls(table, [(name, "{}") for name in columns.replace(",", " ").split()])

    @property
    def width(self) -> int:
        return sum(value.count("{}") for _, value in self.columns)

    def insert(self, rows: int, before: int) -> str:
        """The statement for so many rows, whose first value is the parameter after `before`."""
        names = ", ".join(name for name, _ in self.columns)
        return (
            f"insert into {self.table} ({names}) values {_write_values(self.columns, rows, before)} {self.on_conflict}"  # noqa: S608 — declared targets
        )


def _write_values(columns: Sequence[tuple[str, str]], rows: int, before: int) -> str:
    written = []
    for _ in range(rows):
        values = []
        for _, value in columns:
            taken = value.count("{}")
            values.append(value.format(*(f"${before + index}" for index in range(1, taken + 1))))
            before += taken
        written.append(f"({', '.join(values)})")
    return ", ".join(written)


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
