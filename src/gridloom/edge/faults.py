"""What a failure means to the caller: every exception becomes one of the known problems."""

from __future__ import annotations

import asyncpg

from gridloom.kernel.problem import BadRequest, InternalError, Problem, Unavailable

_BUSY = (
    asyncpg.QueryCanceledError,
    asyncpg.LockNotAvailableError,
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.TooManyConnectionsError,
    TimeoutError,
)
_AWAY = (
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.ReadOnlySQLTransactionError,
    ConnectionError,
)
_UNSTORABLE = (asyncpg.CharacterNotInRepertoireError, asyncpg.UntranslatableCharacterError, UnicodeEncodeError)


def problem_of(fault: Exception) -> Problem:
    if isinstance(fault, Problem):
        return fault
    if isinstance(fault, _BUSY):
        return Unavailable("The database took too long. Nothing was changed; try again.")
    if isinstance(fault, _AWAY) or (isinstance(fault, asyncpg.InterfaceError) and "closed" in str(fault)):
        return Unavailable("The database is away. Nothing of this request is promised; try again.")
    if isinstance(fault, _UNSTORABLE):
        return BadRequest("The request contains text that cannot be stored as UTF-8.")
    return InternalError()
