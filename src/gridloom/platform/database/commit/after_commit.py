"""Callbacks that wait for the transaction of one connection to commit, and are discarded when it does not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import asyncpg
from asyncpg.pool import PoolConnectionProxy

if TYPE_CHECKING:
    from gridloom.platform.database.pool import Pool

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
