"""The one place that says what it means for the database to be away, to be busy, or to be unable to write."""

from __future__ import annotations

import errno
import socket
import ssl
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
"""What speaking to a database may raise: what runs for ever catches these, and goes on."""


class DatabaseFailure(Enum):
    """Why a statement could not be carried out although nothing is wrong with it."""

    AWAY = "The database is away."
    BUSY = "The database took too long."
    READ_ONLY = "The database takes no changes at the moment."
    NO_ROOM = "The database has no room left."


_BUSY: Final = (
    asyncpg.QueryCanceledError,
    asyncpg.LockNotAvailableError,
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.TooManyConnectionsError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    TimeoutError,
)
_NO_ROOM: Final = (asyncpg.DiskFullError, asyncpg.OutOfMemoryError, asyncpg.InsufficientResourcesError)
_AWAY: Final = (
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
_ERRNOS_AWAY: Final = {
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
    errno.ENETDOWN,
    errno.EHOSTDOWN,
    errno.EADDRNOTAVAIL,
    errno.EAGAIN,  # a unix socket whose queue is full
    errno.ENOTCONN,
    errno.EIO,
}
_ERRNOS_NO_ROOM: Final = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS}
# What the driver says of a connection that ended while somebody held it; it has no classes for these.
_LOST: Final = (
    "closed",
    "closing",
    "released back to the pool",
    "connection is lost",
    "terminated",
    "another operation is cancelling",
)


def classify_error(error: BaseException) -> DatabaseFailure | None:
    """Which outage a failure tells of; None when it is none, but a fault of ours or of the caller."""
    if isinstance(error, _BUSY):
        return DatabaseFailure.BUSY
    if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
        return DatabaseFailure.READ_ONLY
    if isinstance(error, _NO_ROOM):
        return DatabaseFailure.NO_ROOM
    if isinstance(error, _AWAY):
        return DatabaseFailure.AWAY
    if isinstance(error, asyncpg.InterfaceError):
        return DatabaseFailure.AWAY if any(word in str(error) for word in _LOST) else None
    if isinstance(error, asyncpg.InternalClientError):
        # The driver has lost the thread of a connection that ends: its backend has gone, or it was closed while a
        # statement was under way. Such a connection answers nothing any more.
        return DatabaseFailure.AWAY
    if isinstance(error, OSError):
        if error.errno in _ERRNOS_NO_ROOM:
            return DatabaseFailure.NO_ROOM
        return DatabaseFailure.AWAY if error.errno in _ERRNOS_AWAY else None
    return None
