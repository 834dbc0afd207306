"""A question to a source and its answer, and the faults that end a pull."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, TypeAlias, TypeVar
from urllib.parse import quote

T = TypeVar("T")

MEBIBYTE: Final = 1024 * 1024
MAX_SHOWN: Final = 160
MAX_FAULT: Final = 500
HIDDEN: Final = b"(hidden)"
MIN_SECRET: Final = 6
"""Anything shorter could stand in an answer by chance."""


@dataclass(frozen=True, slots=True)
class Question:
    """One request. `shown` stands for it in runs and logs: it holds no secret."""

    url: str
    shown: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    form: Mapping[str, str] | None = field(default=None, repr=False)
    limit_bytes: int = 4 * MEBIBYTE
    statuses: frozenset[int] = frozenset({200})
    """Those that the source's reader understands; any other one ends the pull."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Credentials that it sends: no run shows them, should the source send them back."""

    def hide_secrets(self, answered: bytes) -> bytes:
        """An error page may quote the request."""
        for secret in self.secrets:
            if len(secret) >= MIN_SECRET:
                answered = answered.replace(secret.encode(), HIDDEN).replace(quote(secret, safe="").encode(), HIDDEN)
        return answered


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    content_type: str = ""


Conversation: TypeAlias = Generator[Question, Answer, T]
"""Questions of a source in the order in which they depend on each other; it returns what it made of the answers."""


class FeedFault(Exception):
    """Why a pull ended without values: what was seen, bounded and without secrets."""

    is_outage = False
    """Whether the source may well answer in a moment; such a fault counts only when it repeats."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail[:MAX_FAULT])
        self.detail = detail[:MAX_FAULT]


class SourceUnavailable(FeedFault):
    """The source does not answer, or says that it cannot."""

    is_outage = True

    def __init__(self, detail: str, retry_after: timedelta | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class UnexpectedAnswer(FeedFault):
    """The answer is not what the source is known to send."""


class AnswerTooLarge(FeedFault):
    """More bytes than any true answer has."""


class Refused(FeedFault):
    """The source does not accept the request, or the credentials."""


def describe_body(body: bytes) -> str:
    """The beginning of an answer, as a person may read it in one line."""
    if not body:
        return "an empty answer"
    if body.startswith(b"PK\x03\x04"):
        return f"a ZIP file of {len(body)} bytes"
    text = body[: 4 * MAX_SHOWN].decode("utf-8", "replace")
    text = re.sub(r"[\x00-\x1f\x7f\s]+", " ", text).strip()
    shown = text[:MAX_SHOWN]
    return f"{shown!r}{' …' if len(text) > MAX_SHOWN or len(body) > 4 * MAX_SHOWN else ''}"
