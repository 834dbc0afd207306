"""Answers without what differs from run to run: identifiers, secrets, real times, moments off the minute."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any
from urllib.parse import unquote

from tests.simulation.calls import UUID, Answer, Request

EXAMPLE_START = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
HEX_ID = re.compile(r"[0-9a-f]{32}", re.IGNORECASE)
"""An id as market messages write it."""
CURSOR = re.compile(r"(?<=cursor=)[^&]+")
"""Of a page; it may hold the millisecond at which a row was recorded."""
LOCAL_PORT = re.compile(r"127\.0\.0\.1(:|%3A)\d+")
DIFFERENT = frozenset(
    {
        "requestId",
        "token",
        "access_token",
        "refresh_token",
        "challenge",
        "uri",
        "recoveryCodes",
        "secret",
        "solverSeconds",
        "createdAt",
        "cursor",
        "lastUsedAt",
        "expiresAt",
        "now",
        "username",
        "actorName",
        "messageID",
    }
)
"""Fields that no two runs share, besides those whose name says when (`publishedAt`)."""


def _show_moment(found: re.Match[str]) -> str:
    text = found.group()
    return text if text[17:] == "00Z" else "<moment>"


def plain(text: str) -> str:
    named = HEX_ID.sub("<id>", UUID.sub("<id>", text))
    return LOCAL_PORT.sub("<address>", EXAMPLE_START.sub(_show_moment, named))


def without_differences(said: Any) -> Any:
    if isinstance(said, dict):
        kept = {name: value for name, value in said.items() if name not in DIFFERENT and not name.endswith("At")}
        return {name: without_differences(value) for name, value in kept.items()}
    return [without_differences(one) for one in said] if isinstance(said, list) else said


def describe(request: Request, answer: Answer) -> str:
    """One line: what was asked, and the digest of what was said."""
    text = answer.content.decode(errors="replace")
    if answer.headers.get("content-type", "").partition(";")[0].endswith(("/pdf", "/html", "xml")):
        text = ""  # pages and documents hold codes and moments in forms that are not read here
    if "json" in answer.headers.get("content-type", "") and text:
        said = without_differences(json.loads(text))
        if isinstance(said, list) and "/logbook" in request.target:
            # Entries that were written together have no order among them.
            said.sort(key=lambda entry: plain(json.dumps(entry, sort_keys=True)))
        text = json.dumps(said, sort_keys=True)
    if answer.status == 412:
        text = ""  # it names the present ETag, which may hold a digest of ids
    digest = hashlib.sha256(plain(text).encode()).hexdigest()[:16]
    target = plain(CURSOR.sub("<place>", unquote(request.target)))
    return f"{request.by.name} {request.method} {target} {answer.status} {digest}"
