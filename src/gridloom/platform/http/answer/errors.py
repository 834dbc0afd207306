"""Errors: each exception as a problem, and as one log line, with its traceback once a minute."""

from __future__ import annotations

import time
from typing import Any, Final

import asyncpg
import structlog
from prometheus_client import Counter

from gridloom.kernel.problem import BadRequest, InternalError, Problem, Unavailable
from gridloom.platform.database.errors import DatabaseFailure, classify_error

log = structlog.get_logger("gridloom.platform.http")

TRACEBACK_EVERY_S: Final = 60.0
MAX_KINDS: Final = 256

ABORTED_STREAMS: Final = Counter(
    "gridloom_streams_broken", "Answers that broke off after they had begun", ["operation"]
)

_UNSTORABLE = (asyncpg.CharacterNotInRepertoireError, asyncpg.UntranslatableCharacterError, UnicodeEncodeError)
_RETRY_AFTER_S = {
    DatabaseFailure.UNREACHABLE: 2,
    DatabaseFailure.TIMEOUT: 1,
    DatabaseFailure.READ_ONLY: 5,
    DatabaseFailure.OUT_OF_SPACE: 30,
}


_last_traceback_at: dict[tuple[str, str, int], float] = {}


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


def log_error(event: str, error: BaseException, **details: Any) -> None:
    """Write one line about a failure; with its traceback when none like it was logged in the last minute."""
    if _is_due(error):
        log.error(event, error=_in_words(error), exc_info=error, **details)
    else:
        log.error(event, error=_in_words(error), **details)


def report_broken_stream(operation_id: str, error: BaseException, **details: Any) -> None:
    """A stream that ended because of us, not of its reader."""
    ABORTED_STREAMS.labels(operation_id).inc()
    log_error("response.aborted", error, operation=operation_id, **details)


def _is_due(error: BaseException) -> bool:
    kind, now = _kind_of(error), time.monotonic()
    if now - _last_traceback_at.get(kind, -TRACEBACK_EVERY_S) < TRACEBACK_EVERY_S:
        return False
    if len(_last_traceback_at) >= MAX_KINDS:
        _last_traceback_at.clear()
    _last_traceback_at[kind] = now
    return True


def _kind_of(error: BaseException) -> tuple[str, str, int]:
    """Failures of one class from one line of code are alike."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = ("", 0) if trace is None else (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
    return type(error).__qualname__, *where


def _in_words(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error)[:300]}"
