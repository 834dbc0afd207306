"""Failures in the log: one line each, and how they came about once a minute, so that an outage floods nothing."""

from __future__ import annotations

import time
from typing import Any, Final

import structlog
from prometheus_client import Counter

log = structlog.get_logger("gridloom.edge")

TRACEBACK_EVERY_S: Final = 60.0
MAX_KINDS: Final = 256

ABORTED_STREAMS: Final = Counter(
    "gridloom_streams_broken", "Answers that broke off after they had begun", ["operation"]
)

_last_traceback_at: dict[tuple[str, str, int], float] = {}


def log_error(event: str, error: BaseException, **details: Any) -> None:
    """Write one line about a failure; with its traceback when none like it was told of in the last minute."""
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
