"""Callbacks that wait for the transaction of one connection to commit, and are forgotten when it does not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import asyncpg
from asyncpg.pool import PoolConnectionProxy

if TYPE_CHECKING:
    from gridloom.database.pool import Pool

Callback = Callable[[], None]

_waiting: WeakKeyDictionary[object, dict[Callback, None]] = WeakKeyDictionary()


def _physical(db: object) -> object:
    """The connection behind a pool's proxy: the proxy lives for one loan only."""
    return db._con if isinstance(db, PoolConnectionProxy) else db  # type: ignore[attr-defined]


def after_commit(db: object, callback: Callback) -> None:
    """Call back once when `committed(db)` reports the commit; the same callback twice in a transaction counts once.

    On a pool or outside a transaction every statement commits by itself, so the callback is due at once.
    """
    connection = _physical(db)
    if not isinstance(connection, asyncpg.Connection) or not connection.is_in_transaction():
        callback()
        return
    _waiting.setdefault(connection, {})[callback] = None


def committed(db: object) -> None:
    """To be called by whoever committed the outermost transaction of this connection."""
    for callback in _waiting.pop(_physical(db), {}):
        callback()


def rolled_back(db: object) -> None:
    """To be called by whoever rolled back the outermost transaction of this connection."""
    _waiting.pop(_physical(db), None)


@asynccontextmanager
async def transaction(pool: Pool) -> AsyncIterator[PoolConnectionProxy[asyncpg.Record]]:
    """One connection of the pool in one transaction, with its after-commit callbacks."""
    async with pool.acquire() as connection:
        try:
            async with connection.transaction():
                yield connection
        except BaseException:
            rolled_back(connection)
            raise
        committed(connection)
