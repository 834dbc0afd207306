"""Answers without what differs from run to run: identifiers, secrets, real times, moments off the minute."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from tests.simulation.calls import UUID, Answer, Request

EXAMPLE_START = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
DIFFERENT = frozenset(
    {
        "requestId",
        "token",
        "secret",
        "solverSeconds",
        "createdAt",
        "cursor",
        "lastUsedAt",
        "expiresAt",
        "now",
        "username",
        "actorName",
    }
)
"""Fields that no two runs share."""


def _show_moment(found: re.Match[str]) -> str:
    text = found.group()
    return text if text[17:] == "00Z" else "<moment>"


def plain(text: str) -> str:
    return EXAMPLE_START.sub(_show_moment, UUID.sub("<id>", text))


def without_differences(said: Any) -> Any:
    if isinstance(said, dict):
        return {name: without_differences(value) for name, value in said.items() if name not in DIFFERENT}
    return [without_differences(one) for one in said] if isinstance(said, list) else said


def describe(request: Request, answer: Answer) -> str:
    """One line: what was asked, and the digest of what was said."""
    text = answer.content.decode(errors="replace")
    if "json" in answer.headers.get("content-type", "") and text:
        text = json.dumps(without_differences(json.loads(text)), sort_keys=True)
    digest = hashlib.sha256(plain(text).encode()).hexdigest()[:16]
    return f"{request.by.name} {request.method} {plain(request.target)} {answer.status} {digest}"
