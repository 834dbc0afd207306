"""Failures in the log: one line each, and how they came about once a minute, so that an outage floods nothing."""

from __future__ import annotations

import time
from typing import Any, Final

import structlog
from prometheus_client import Counter

log = structlog.get_logger("gridloom.edge")

TRACEBACK_EVERY_S: Final = 60.0
MOST_KINDS: Final = 256

BROKEN_STREAMS: Final = Counter("gridloom_streams_broken", "Answers that broke off after they had begun", ["operation"])

_told_at: dict[tuple[str, str, int], float] = {}


def report_failure(event: str, fault: BaseException, **details: Any) -> None:
    """Write one line about a failure; with its traceback when none like it was told of in the last minute."""
    if _is_due(fault):
        log.error(event, error=_in_words(fault), exc_info=fault, **details)
    else:
        log.error(event, error=_in_words(fault), **details)


def report_broken_stream(operation_id: str, fault: BaseException, **details: Any) -> None:
    """A stream that ended because of us, not of its reader."""
    BROKEN_STREAMS.labels(operation_id).inc()
    report_failure("stream broke off", fault, operation=operation_id, **details)


def _is_due(fault: BaseException) -> bool:
    kind, now = _kind_of(fault), time.monotonic()
    if now - _told_at.get(kind, -TRACEBACK_EVERY_S) < TRACEBACK_EVERY_S:
        return False
    if len(_told_at) >= MOST_KINDS:
        _told_at.clear()
    _told_at[kind] = now
    return True


def _kind_of(fault: BaseException) -> tuple[str, str, int]:
    """Failures of one class from one line of code are alike."""
    trace = fault.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = ("", 0) if trace is None else (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
    return type(fault).__qualname__, *where


def _in_words(fault: BaseException) -> str:
    return f"{type(fault).__name__}: {str(fault)[:300]}"
