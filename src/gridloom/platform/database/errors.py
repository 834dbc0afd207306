"""The one place that says what it means for the database to be away, to be busy, or to be unable to write."""

from __future__ import annotations

import errno
import socket
import ssl
import time
from enum import Enum
from typing import Final

import asyncpg
from asyncpg.exceptions import TargetServerAttributeNotMatched

DATABASE_ERRORS: Final = (
    OSError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    TimeoutError,
)
"""Exceptions of a database call. Loops that run for the life of the process catch them and continue."""


class DatabaseFailure(Enum):
    """Why the database could not run a valid statement."""

    UNREACHABLE = "The database is unreachable."
    TIMEOUT = "The database did not answer in time."
    READ_ONLY = "The database is read-only."
    OUT_OF_SPACE = "The database is out of disk space or memory."


_TIMEOUTS: Final = (
    asyncpg.QueryCanceledError,
    asyncpg.LockNotAvailableError,
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.TooManyConnectionsError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    TimeoutError,
)
_OUT_OF_SPACE: Final = (asyncpg.DiskFullError, asyncpg.OutOfMemoryError, asyncpg.InsufficientResourcesError)
_UNREACHABLE: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,  # shut down, crashed, starting up, the database dropped
    asyncpg.PostgresIOError,
    asyncpg.PostgresSystemError,  # its files cannot be read or written
    asyncpg.InvalidAuthorizationSpecificationError,  # it no longer lets us in
    asyncpg.InvalidCatalogNameError,
    TargetServerAttributeNotMatched,  # of several hosts none takes writes: no standby has been promoted yet
    ConnectionError,
    FileNotFoundError,  # its socket has gone
    EOFError,
    socket.gaierror,
    ssl.SSLError,
)
_ERRNOS_UNREACHABLE: Final = {
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
    errno.ENETDOWN,
    errno.EHOSTDOWN,
    errno.EADDRNOTAVAIL,
    errno.EAGAIN,  # a unix socket whose queue is full
    errno.ENOTCONN,
    errno.EIO,
}
_ERRNOS_OUT_OF_SPACE: Final = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS}
# What the driver says of a connection that ended while it was acquired; it has no classes for these.
_LOST: Final = (
    "closed",
    "closing",
    "released back to the pool",
    "connection is lost",
    "terminated",
    "another operation is cancelling",
)
# What a coordinator (Citus) says of a worker node that it has lost: it has no code of its own for these (XX000).
_NODE_LOST: Final = (
    "postmaster was shut down",
    "failure on connection marked as essential",
    "failed to prepare transaction",
    "could not commit transaction for shard",
    "could not find any healthy placement",
    "connection to the remote node",
    "connection to server",
    "server closed the connection",
    "could not receive data from server",
    "could not send data to server",
    "no connection to the server",
    "connection not open",
    "SSL SYSCALL error",
)


class RefusedWrites:
    """When this process last saw a write refused for want of disk space."""

    last_at: float = float("-inf")

    @classmethod
    def record(cls) -> None:
        cls.last_at = time.monotonic()


def classify_error(error: BaseException) -> DatabaseFailure | None:
    """The failure that an exception reports; None for a bug of the service or an error of the caller."""
    failure = _find_failure(error)
    if failure is DatabaseFailure.OUT_OF_SPACE:
        RefusedWrites.record()
    return failure


def _find_failure(error: BaseException) -> DatabaseFailure | None:
    if isinstance(error, _TIMEOUTS):
        return DatabaseFailure.TIMEOUT
    if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
        return DatabaseFailure.READ_ONLY
    if isinstance(error, _OUT_OF_SPACE):
        return DatabaseFailure.OUT_OF_SPACE
    if isinstance(error, _UNREACHABLE):
        return DatabaseFailure.UNREACHABLE
    if isinstance(error, asyncpg.InternalServerError):
        return DatabaseFailure.UNREACHABLE if any(words in str(error) for words in _NODE_LOST) else None
    if isinstance(error, asyncpg.InterfaceError):
        return DatabaseFailure.UNREACHABLE if any(word in str(error) for word in _LOST) else None
    if isinstance(error, asyncpg.InternalClientError):
        # The driver has lost the thread of a connection that ends: its backend has gone, or it was closed while a
        # statement was under way. Such a connection answers nothing any more.
        return DatabaseFailure.UNREACHABLE
    if isinstance(error, OSError):
        if error.errno in _ERRNOS_OUT_OF_SPACE:
            return DatabaseFailure.OUT_OF_SPACE
        return DatabaseFailure.UNREACHABLE if error.errno in _ERRNOS_UNREACHABLE else None
    return None
