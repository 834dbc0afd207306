"""What it means for the database to be away, busy or unable to write."""

import asyncio
import errno
import socket
import ssl

import asyncpg
import pytest
from asyncpg.exceptions import TargetServerAttributeNotMatched

from gridloom.platform.database.commit import after_commit, discard_callbacks, transaction
from gridloom.platform.database.errors import DatabaseFailure, classify_error
from gridloom.platform.database.pool import create_pool
from gridloom.platform.http.answer.errors import problem_of


class TestOutage:
    @pytest.mark.parametrize(
        ("error", "outage"),
        [
            (asyncpg.AdminShutdownError("terminating connection"), DatabaseFailure.UNREACHABLE),
            (asyncpg.CrashShutdownError("terminating connection"), DatabaseFailure.UNREACHABLE),
            (asyncpg.CannotConnectNowError("the database system is starting up"), DatabaseFailure.UNREACHABLE),
            (asyncpg.ConnectionDoesNotExistError("closed in the middle of operation"), DatabaseFailure.UNREACHABLE),
            (asyncpg.InterfaceError("cannot perform operation: connection is closed"), DatabaseFailure.UNREACHABLE),
            (asyncpg.InterfaceError("connection has been released back to the pool"), DatabaseFailure.UNREACHABLE),
            (asyncpg.InterfaceError("pool is closing"), DatabaseFailure.UNREACHABLE),
            (
                asyncpg.InternalClientError("cannot switch to state 15; another operation (2) is in progress"),
                DatabaseFailure.UNREACHABLE,
            ),
            (asyncpg.InternalClientError("got result for unknown protocol state 3"), DatabaseFailure.UNREACHABLE),
            (
                asyncpg.InterfaceError("cannot perform operation: another operation is cancelling"),
                DatabaseFailure.UNREACHABLE,
            ),
            (asyncpg.PostgresIOError("could not read block"), DatabaseFailure.UNREACHABLE),
            (asyncpg.InvalidPasswordError("password authentication failed"), DatabaseFailure.UNREACHABLE),
            (asyncpg.InternalServerError("postmaster was shut down, exiting"), DatabaseFailure.UNREACHABLE),
            (
                asyncpg.InternalServerError("failure on connection marked as essential: 10.0.0.2:5432"),
                DatabaseFailure.UNREACHABLE,
            ),
            (
                asyncpg.InternalServerError("server closed the connection unexpectedly\n\tThis probably means"),
                DatabaseFailure.UNREACHABLE,
            ),
            (
                asyncpg.ConnectionFailureError("connection to the remote node gridloom@10.0.0.2:5432 failed"),
                DatabaseFailure.UNREACHABLE,
            ),
            (ConnectionResetError(), DatabaseFailure.UNREACHABLE),
            (FileNotFoundError(errno.ENOENT, "no such socket"), DatabaseFailure.UNREACHABLE),
            (socket.gaierror("name unknown"), DatabaseFailure.UNREACHABLE),
            (OSError(errno.EHOSTUNREACH, "no route"), DatabaseFailure.UNREACHABLE),
            (asyncpg.DiskFullError("could not extend file"), DatabaseFailure.OUT_OF_SPACE),
            (OSError(errno.ENOSPC, "no space left on device"), DatabaseFailure.OUT_OF_SPACE),
            (OSError(errno.EMFILE, "too many open files"), DatabaseFailure.OUT_OF_SPACE),
            (
                asyncpg.ReadOnlySQLTransactionError("cannot execute INSERT in a read-only transaction"),
                DatabaseFailure.READ_ONLY,
            ),
            (asyncpg.QueryCanceledError("statement timeout"), DatabaseFailure.TIMEOUT),
            (asyncpg.TooManyConnectionsError("sorry, too many clients"), DatabaseFailure.TIMEOUT),
            (TimeoutError(), DatabaseFailure.TIMEOUT),
        ],
    )
    def test_is_known_by_what_the_driver_raises(self, error, outage):
        assert classify_error(error) is outage
        problem = problem_of(error)
        assert problem.status == 503
        assert int(problem.headers["Retry-After"]) >= 1

    def test_is_told_apart_by_every_class_and_number(self):
        by_class = {
            DatabaseFailure.TIMEOUT: (
                asyncpg.LockNotAvailableError,
                asyncpg.SerializationError,
                asyncpg.DeadlockDetectedError,
                asyncpg.IdleInTransactionSessionTimeoutError,
            ),
            DatabaseFailure.OUT_OF_SPACE: (asyncpg.OutOfMemoryError, asyncpg.InsufficientResourcesError),
            DatabaseFailure.UNREACHABLE: (
                asyncpg.PostgresSystemError,
                asyncpg.InvalidAuthorizationSpecificationError,
                asyncpg.InvalidCatalogNameError,
                asyncpg.DatabaseDroppedError,
                TargetServerAttributeNotMatched,
                EOFError,
                ssl.SSLError,
            ),
        }
        for failure, classes in by_class.items():
            assert {classify_error(kind("x")) for kind in classes} == {failure}, failure
        by_number = {
            DatabaseFailure.UNREACHABLE: "ENETUNREACH ENETDOWN EHOSTDOWN EADDRNOTAVAIL EAGAIN ENOTCONN EIO",
            DatabaseFailure.OUT_OF_SPACE: "EDQUOT ENFILE ENOMEM ENOBUFS",
        }
        for failure, names in by_number.items():
            assert {classify_error(OSError(getattr(errno, name), "x")) for name in names.split()} == {failure}

    @pytest.mark.parametrize(
        "error",
        [
            ValueError("ours"),
            asyncpg.UniqueViolationError("twice"),
            asyncpg.UndefinedTableError("no such table"),
            asyncpg.InternalServerError("cache lookup failed for type 4711"),
            asyncpg.InterfaceError("the server expects 2 arguments for this query, 1 was passed"),
            OSError(errno.EISDIR, "is a directory"),
        ],
    )
    def test_is_none_of_our_own_faults(self, error):
        assert classify_error(error) is None
        assert problem_of(error).status == 500


class TestADeadConnection:
    async def work_on_a_connection_that_dies(self, pool, callback):
        async with transaction(pool) as connection:
            after_commit(connection, callback)
            pid = await connection.fetchval("select pg_backend_pid()")
            async with pool.acquire() as other:
                await other.execute("select pg_terminate_backend($1)", pid)
            await asyncio.sleep(0.1)
            await connection.execute("select 1")

    async def test_is_discarded_with_what_waited_for_its_commit(self, database_url):
        called = []
        async with await create_pool(database_url, size=2, min_size=2) as pool:
            with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
                await self.work_on_a_connection_that_dies(pool, lambda: called.append(1))
            assert called == []
            assert await pool.fetchval("select 1") == 1

    async def test_says_that_it_was_rolled_back(self, database_url):
        async with await create_pool(database_url, size=1) as pool, pool.acquire() as connection:
            connection.terminate()
            discard_callbacks(connection)


class TestAConnectionWhoseThreadIsLost:
    async def test_is_never_used_again(self, database_url):
        """Closed while a statement is under way, as by a pool that closes: its answer may outrun the cancelling."""
        async with await create_pool(database_url, size=1) as pool:
            backends: list[int] = []
            with pytest.raises(asyncpg.InternalClientError):
                await self.lose_the_thread(pool, backends)
            assert await pool.fetchval("select pg_backend_pid()") not in backends

    async def lose_the_thread(self, pool, backends):
        async with transaction(pool) as connection:
            backends.append(await connection.fetchval("select pg_backend_pid()"))
            raise asyncpg.InternalClientError("got result for unknown protocol state 3")

    async def test_is_known_by_a_statement_that_a_close_overtakes(self, database_url):
        connection = await asyncpg.connect(database_url)
        asked = asyncio.create_task(connection.fetchval("select 1"))
        await asyncio.sleep(0)
        await connection.close()
        with pytest.raises(BaseException) as raised:  # noqa: PT011 — which of its words is the driver's affair
            await asked
        assert classify_error(raised.value) is not None
