"""Maps every exception to a problem."""

from __future__ import annotations

import asyncpg

from gridloom.database.errors import DatabaseFailure, classify_error
from gridloom.kernel.problem import BadRequest, InternalError, Problem, Unavailable

_UNSTORABLE = (asyncpg.CharacterNotInRepertoireError, asyncpg.UntranslatableCharacterError, UnicodeEncodeError)
_RETRY_AFTER_S = {
    DatabaseFailure.UNREACHABLE: 2,
    DatabaseFailure.TIMEOUT: 1,
    DatabaseFailure.READ_ONLY: 5,
    DatabaseFailure.OUT_OF_SPACE: 30,
}


def problem_of(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, _UNSTORABLE):
        return BadRequest("The request contains text that cannot be stored as UTF-8.")
    failure = classify_error(error)
    if failure is None:
        return InternalError()
    retry_after_s = _RETRY_AFTER_S[failure]
    effect = (
        f"The request may or may not have been applied: repeat it with its Idempotency-Key after {retry_after_s} s."
        if failure is DatabaseFailure.UNREACHABLE  # the commit may have succeeded although its confirmation was lost
        else f"Nothing was changed; retry after {retry_after_s} s."
    )
    return Unavailable(f"{failure.value} {effect}", retry_after_s=retry_after_s)
