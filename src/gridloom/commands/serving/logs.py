"""Structured logs: one JSON object a line, or colours for a person; never a secret."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, Literal

import structlog

LogFormat = Literal["json", "console"]

_SECRET_NAME = re.compile(r"password|secret|token|authorization|api_?key|dsn|database_url", re.IGNORECASE)
_SECRET_TEXT = re.compile(r"(Bearer\s+\S+|glk_\S+|eyJ[\w-]+\.[\w-]+\.[\w-]+|(?<=://)[^/@\s]+:[^/@\s]+(?=@))")
HIDDEN = "•••"


def redact(_: Any, __: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """By the name of the field, and by what tokens and passwords in addresses look like."""
    for name, value in entry.items():
        if _SECRET_NAME.search(name):
            entry[name] = HIDDEN
        elif isinstance(value, str):
            entry[name] = _SECRET_TEXT.sub(HIDDEN, value)
    return entry


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def escape_control_characters(_: Any, __: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Text from a caller stays one line: it neither moves a terminal's cursor nor looks like another entry."""
    for name, value in entry.items():
        if isinstance(value, str):
            shown = _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), value)
            entry[name] = shown if name == "exception" else shown.replace("\n", "\\n")
    return entry


def configure_logs(format: LogFormat = "json", level: str = "INFO") -> None:
    """Send everything, our own words and the libraries', through the same processors to standard error."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        redact,
    ]
    if format == "console":
        shared.append(escape_control_characters)
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    threshold = logging.getLevelNamesMapping()[level]
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processor=renderer))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(threshold)
