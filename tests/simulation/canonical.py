"""Answers without what differs from run to run: identifiers, real times, and moments off the quarter-hour."""

from __future__ import annotations

import hashlib
import re

from tests.simulation.calls import UUID, Answer, Request

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def _show_moment(found: re.Match[str]) -> str:
    text = found.group()
    return text if text[17:] == "00Z" else "<moment>"


def plain(text: str) -> str:
    return MOMENT.sub(_show_moment, UUID.sub("<id>", text))


def describe(request: Request, answer: Answer) -> str:
    """One line: what was asked and the digest of what was said."""
    said = plain(answer.content.decode(errors="replace"))
    digest = hashlib.sha256(said.encode()).hexdigest()[:16]
    return f"{request.by.name} {request.method} {plain(request.target)} {answer.status} {digest}"
