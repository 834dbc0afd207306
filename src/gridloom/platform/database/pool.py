"""Connections to PostgreSQL: a bounded pool that keeps no session state and lets no statement run for ever."""

import asyncio
import select
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeAlias, Union

import asyncpg
import msgspec
from asyncpg.pool import PoolAcquireContext, PoolConnectionProxy

from gridloom.platform.tracing import watch_statements

# What a store takes first: the pool (each statement commits by itself) or a connection (in its caller's transaction).
Database: TypeAlias = Union[
    "asyncpg.Pool[asyncpg.Record]", "asyncpg.Connection[asyncpg.Record]", "PoolConnectionProxy[asyncpg.Record]"
]
Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"
Connection: TypeAlias = Union["asyncpg.Connection[asyncpg.Record]", "PoolConnectionProxy[asyncpg.Record]"]

# Types of PostgreSQL whose arrays statements use: the array's number and its element's, fixed in its catalogue.
_ARRAYS: dict[str, tuple[int, int]] = {
    "bool": (1000, 16),
    "bytea": (1001, 17),
    "int2": (1005, 21),
    "int4": (1007, 23),
    "text": (1009, 25),
    "int8": (1016, 20),
    "float8": (1022, 701),
    "timestamptz": (1185, 1184),
    "date": (1182, 1082),
    "interval": (1187, 1186),
    "numeric": (1231, 1700),
    "uuid": (2951, 2950),
    "jsonb": (3807, 3802),
}
_OTHER_FIELDS = dict.fromkeys(("basetype", "range_subtype", "attrtypoids", "attrnames", "basetype_name"))
ARRAY_TYPES: list[dict[str, Any]] = [
    {
        **_OTHER_FIELDS,
        "oid": array_oid,
        "ns": "pg_catalog",
        "name": f"_{name}",
        "kind": b"b",
        "elemtype": element_oid,
        "elemtype_name": name,
        "elemdelim": ",",
    }
    for name, (array_oid, element_oid) in _ARRAYS.items()
]
"""As the driver would read them from the catalogue on the first use in each connection, which takes seconds where Citus
filters `pg_class`."""

JSONB_VERSION = b"\x01"  # leads every binary jsonb
HUNG_UP = getattr(select, "POLLRDHUP", select.POLLHUP)
"""The event of a socket whose other side was closed; where the system has no such event, that it is gone altogether."""
CACHED_STATEMENTS = 300
"""Kept by each connection for as long as it lives. Of the driver's 100, with some 600 in the service, one in six
statements of mixed work was parsed and planned anew; with 300 it is one in ten, with 500 hardly fewer."""
IDLE_POLL_INTERVAL_S = 150.0
"""A connection that has done nothing between two looks is closed, as far as the pool keeps enough of them."""


class NoResetConnection(asyncpg.Connection):
    """A connection that is given back as it is: resetting it would double what PostgreSQL does for a short read.

    So nothing may leave state in a session: `SET LOCAL` and `pg_advisory_xact_lock` only. An open transaction is still
    rolled back, and one that the server has begun only to parse a statement is ended: the driver asks it to parse
    without an end (`Sync`), which comes with the execution. A request that was cancelled in between never sends it.
    """

    queries_before_parse = -1
    """How many queries had been sent when a statement was last to be parsed."""

    def _get_statement(self, *arguments: Any, **options: Any) -> Any:
        own: Any = self
        self.queries_before_parse = own._protocol.queries_count
        driver: Any = super()
        return driver._get_statement(*arguments, **options)

    def get_reset_query(self) -> str:
        return "select"  # whatever the server has begun ends with it

    async def reset(self, *, timeout: float | None = None) -> None:  # noqa: ASYNC109 — the driver's own
        """Nothing at all for a connection at rest, as nearly all are that are given back."""
        if not self.is_idle():
            await super().reset(timeout=timeout)

    def is_idle(self) -> bool:
        own: Any = self
        return not (
            own.is_in_transaction()
            or own._top_xact is not None
            or own._protocol.queries_count == self.queries_before_parse
            or own._listeners
            or own._log_listeners
        )


class _AcquireContext(PoolAcquireContext):
    """A connection for the length of a block, given back without ado."""

    async def __aenter__(self) -> "PoolConnectionProxy[asyncpg.Record]":
        discard_hung_up(self.pool)
        connection: PoolConnectionProxy[asyncpg.Record] = await super().__aenter__()
        return connection

    async def __aexit__(self, *_: object) -> None:
        borrowed: Any = self
        connection, borrowed.connection, borrowed.done = borrowed.connection, None, True
        await release(borrowed.pool, connection)


class NoResetPool(asyncpg.Pool):
    """A pool whose own reads and blocks give their connection back as changes do: without a task for each, and without
    a timer. Connections that are not needed are found by one look at all of them."""

    is_distributed = False
    """Whether the database is spread over several nodes: `detect_distribution` asks."""

    def acquire(self, *, timeout: float | None = None) -> Any:
        return _AcquireContext(self, timeout)

    def schedule_idle_check(self, seen: Mapping[int, int]) -> None:
        look = partial(_close_idle, weakref.ref(self), seen)
        asyncio.get_running_loop().call_later(IDLE_POLL_INTERVAL_S, look)


def _close_idle(which: weakref.ref[NoResetPool], seen: Mapping[int, int]) -> None:
    """Close connections at rest that have done nothing since the last look, which has `seen` how many queries each has
    answered."""
    pool: Any = which()
    if pool is None or pool.is_closing():
        return
    counts: dict[int, int] = {}
    for holder in [one for one in pool._queue._queue if one.is_connected()]:
        connection = holder._con
        counts[id(connection)] = connection._protocol.queries_count
        if seen.get(id(connection)) == counts[id(connection)]:
            holder._deactivate_inactive_connection()
    pool.schedule_idle_check(counts)


@asynccontextmanager
async def repeatable_read(pool: Pool) -> "AsyncIterator[Database]":
    """Several reads that all see the same instant."""
    async with pool.acquire() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        yield connection


def discard_hung_up(pool: Pool) -> None:
    """Close the connections at rest, of those to be used next, whose server has closed its side.

    The driver learns that from the event loop, which may come to it after the next request does. That one would be the
    first to fail, after a restart of the server or a failover, although nothing of it was lost.
    """
    own: Any = pool
    if own._queue is None:
        return
    for holder in reversed(own._queue._queue):
        if not holder.is_connected():
            continue
        if not _has_hung_up(holder._con):
            return
        holder._con.terminate()


def _has_hung_up(connection: Any) -> bool:
    transport = connection._transport
    descriptor = -1 if transport.is_closing() else transport.get_extra_info("socket").fileno()
    if descriptor < 0:
        return True
    poll = select.poll()
    poll.register(descriptor, HUNG_UP)
    return bool(poll.poll(0))


async def acquire(pool: Pool, *, longest_wait_s: float) -> "PoolConnectionProxy[asyncpg.Record]":
    """A connection of the pool; without a watch over the wait where there is nothing to wait for.

    That is so where a connection is idle and no caller waits: the one that was given back last is at the end.
    """
    own: Any = pool
    discard_hung_up(pool)
    queue = own._queue
    if queue is None or own._closing or queue._getters or not (queue._queue and queue._queue[-1].is_connected()):
        return await pool.acquire(timeout=longest_wait_s)
    holder = queue.get_nowait()
    try:
        connection: PoolConnectionProxy[asyncpg.Record] = await holder.acquire()
    except BaseException:
        queue.put_nowait(holder)
        own._schedule_min_size_maintenance()
        raise
    holder._timeout = None
    return connection


async def release(pool: Pool, connection: "PoolConnectionProxy[asyncpg.Record]") -> None:
    """Release a connection without the task that the pool makes for it, where there is nothing to wait for.

    That is so for a sound connection at rest, since nothing is reset. Where a caller waits for a connection it is
    handed on as ever: who has it next is settled in the order of the event loop.
    """
    own: Any = pool
    physical: Any = connection._con  # type: ignore[attr-defined]
    holder: Any = connection._holder
    if (
        physical is None
        or physical.is_closed()
        or not physical.is_idle()
        or physical._protocol._is_cancelling()
        or physical._protocol.queries_count >= holder._max_queries
        or holder._generation != own._generation
        or own._queue._getters
    ):
        await pool.release(connection)
        return
    physical._pool_release_ctr += 1  # what refers to the connection from before is worth nothing from now on
    holder._timeout = None
    holder._release()


def count_waiting(pool: Pool) -> int:
    """Callers that wait for a connection, since all that there may be are in use."""
    own: Any = pool
    return sum(not waiter.done() for waiter in own._queue._getters)


def abort_connections(pool: Pool) -> None:
    """End every connection at once, also those in use: what waits for their server fails instead of waiting on."""
    own: Any = pool
    for holder in own._holders:
        if holder.is_connected():
            holder._con.terminate()


async def prepare_connection(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Declare the array types, and have `jsonb` and `json` come and go as Python values."""
    await connection.set_type_codec(
        "jsonb",
        schema="pg_catalog",
        format="binary",
        encoder=lambda value: JSONB_VERSION + msgspec.json.encode(value),
        decoder=lambda body: msgspec.json.decode(memoryview(body)[1:]),
    )
    await connection.set_type_codec(
        "json", schema="pg_catalog", format="binary", encoder=msgspec.json.encode, decoder=msgspec.json.decode
    )
    driver: Any = connection
    driver._protocol.get_settings().register_data_types(ARRAY_TYPES)
    watch_statements(connection)


def server_settings(
    *,
    application_name: str = "gridloom",
    statement_timeout_s: float = 30,
    lock_timeout_s: float = 10,
    idle_in_transaction_timeout_s: float = 60,
) -> dict[str, str]:
    """Limits that the server sets a session from its start; a transaction that needs longer says `SET LOCAL`."""
    return {
        "application_name": application_name,
        "statement_timeout": f"{round(statement_timeout_s * 1000)}",
        "lock_timeout": f"{round(lock_timeout_s * 1000)}",
        "idle_in_transaction_session_timeout": f"{round(idle_in_transaction_timeout_s * 1000)}",
        "timezone": "UTC",
    }


async def create_pool(
    dsn: str,
    *,
    size: int = 10,
    min_size: int = 1,
    application_name: str = "gridloom",
    connect_timeout_s: float = 10,
    command_timeout_s: float = 60,
    statement_timeout_s: float = 30,
    lock_timeout_s: float = 10,
    idle_in_transaction_timeout_s: float = 60,
    prepare: Callable[..., Coroutine[Any, Any, None]] = prepare_connection,
) -> "asyncpg.Pool[asyncpg.Record]":
    """Open a pool of at most `size` connections to any PostgreSQL, over a socket or TCP."""
    pool = NoResetPool(
        dsn,
        min_size=min(min_size, size),
        max_size=size,
        max_queries=50_000,
        loop=None,
        record_class=asyncpg.Record,
        connection_class=NoResetConnection,
        init=prepare,
        command_timeout=command_timeout_s,
        timeout=connect_timeout_s,
        statement_cache_size=CACHED_STATEMENTS,
        max_cached_statement_lifetime=0,
        max_inactive_connection_lifetime=0,
        server_settings=server_settings(
            application_name=application_name,
            statement_timeout_s=statement_timeout_s,
            lock_timeout_s=lock_timeout_s,
            idle_in_transaction_timeout_s=idle_in_transaction_timeout_s,
        ),
    )
    await pool
    pool.schedule_idle_check({})
    return pool


def is_distributed(db: Database) -> bool:
    """Whether the database is spread over several nodes (Citus), as its pool has found it when the service started.

    There one statement of several parts costs more than the parts one after the other: the plan of a statement is kept
    if it reads or writes one table by its distribution key; one of several CTEs, sub-queries or joins is planned anew
    each time. A plain PostgreSQL keeps both plans, and each statement more is a round trip more. A connection outside a
    pool counts as a plain one.
    """
    pool: Any = db._holder._pool if isinstance(db, PoolConnectionProxy) else db
    return getattr(pool, "is_distributed", False)


async def detect_distribution(pool: Pool) -> None:
    """Ask the database once, for `is_distributed`."""
    own: Any = pool
    own.is_distributed = await pool.fetchval("select exists (select from pg_extension where extname = 'citus')")
