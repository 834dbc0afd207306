"""What a failure means to the caller: every exception becomes one of the known problems."""

from __future__ import annotations

import asyncpg

from gridloom.database.errors import DatabaseFailure, classify_error
from gridloom.kernel.problem import BadRequest, InternalError, Problem, Unavailable

_UNSTORABLE = (asyncpg.CharacterNotInRepertoireError, asyncpg.UntranslatableCharacterError, UnicodeEncodeError)
_RETRY_AFTER_S = {
    DatabaseFailure.AWAY: 2,
    DatabaseFailure.BUSY: 1,
    DatabaseFailure.READ_ONLY: 5,
    DatabaseFailure.NO_ROOM: 30,
}


def problem_of(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, _UNSTORABLE):
        return BadRequest("The request contains text that cannot be stored as UTF-8.")
    outage = classify_error(error)
    if outage is None:
        return InternalError()
    promise = (
        "Nothing of this request is promised; try again."
        if outage is DatabaseFailure.AWAY  # a commit may have come through although its confirmation did not
        else "Nothing was changed; try again."
    )
    return Unavailable(f"{outage.value} {promise}", retry_after_s=_RETRY_AFTER_S[outage])
