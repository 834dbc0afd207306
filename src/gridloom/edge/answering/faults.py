"""What a failure means to the caller: every exception becomes one of the known problems."""

from __future__ import annotations

import asyncpg

from gridloom.database.away import Outage, outage_of
from gridloom.kernel.problem import BadRequest, InternalError, Problem, Unavailable

_UNSTORABLE = (asyncpg.CharacterNotInRepertoireError, asyncpg.UntranslatableCharacterError, UnicodeEncodeError)
_RETRY_AFTER_S = {Outage.AWAY: 2, Outage.BUSY: 1, Outage.READ_ONLY: 5, Outage.NO_ROOM: 30}


def problem_of(fault: Exception) -> Problem:
    if isinstance(fault, Problem):
        return fault
    if isinstance(fault, _UNSTORABLE):
        return BadRequest("The request contains text that cannot be stored as UTF-8.")
    outage = outage_of(fault)
    if outage is None:
        return InternalError()
    promise = (
        "Nothing of this request is promised; try again."
        if outage is Outage.AWAY  # a commit may have come through although its confirmation did not
        else "Nothing was changed; try again."
    )
    return Unavailable(f"{outage.value} {promise}", retry_after_s=_RETRY_AFTER_S[outage])
