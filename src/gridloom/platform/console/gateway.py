"""`/console/api/<path>` is the operation at `/<path>`, called with the token of the session that the cookie names."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from gridloom.kernel.problem import NotFound
from gridloom.platform.console.batch import answer_batch, read_batch
from gridloom.platform.console.rules import AllowedOrigins, check_origin
from gridloom.platform.console.sessions import ConsoleSessions
from gridloom.platform.http.admit import TOKEN_SOURCE
from gridloom.platform.http.answer.render import EncodedResponse
from gridloom.platform.http.answer.sending import send_response
from gridloom.platform.http.application import Application
from gridloom.platform.http.fields import to_json
from gridloom.platform.http.request import Receive, Scope, Send

PREFIX = "/console/api"
BATCH = f"{PREFIX}/batch"
_NOT_PASSED_ON = (b"cookie", b"authorization")
_ANSWER_TOKENS = tuple(f"/auth/public/{name}" for name in ("authenticate", "refresh", "second-factor", "sso/token"))
"""Operations that would give a token to a script."""
_TARGET = re.compile(rb"<(/[^>]*)>")


class Gateway:
    def __init__(self, edge: Application) -> None:
        self._edge = edge

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        check_origin(scope["method"], headers, self._edge.resources[AllowedOrigins])
        is_batch = scope["path"] == BATCH and scope["method"] == "POST"
        path = scope["path"] if is_batch else _inner_path(scope["path"])
        sessions = self._edge.resources[ConsoleSessions]
        cookie_header = headers.get(b"cookie")
        cookie = sessions.cookie_of(cookie_header.decode("latin-1") if cookie_header else None)
        inner = {
            **scope,
            "path": path,
            "raw_path": path.encode(),
            "headers": [(name, value) for name, value in scope["headers"] if name not in _NOT_PASSED_ON],
            TOKEN_SOURCE: partial(sessions.token_of, cookie),
        }
        if not is_batch:
            await self._edge(inner, receive, partial(_send_through, send))
            return
        batch = await read_batch(receive)
        answers = await answer_batch(
            inner, batch, lambda path: _inner_path(f"{PREFIX}{path}"), partial(_call_through, self._edge)
        )
        outcome = EncodedResponse(
            200, {"Content-Type": "application/json", "Cache-Control": "no-store"}, to_json(answers)
        )
        await send_response(outcome, headers, send, receive, is_head=False)


async def _call_through(edge: Application, scope: Scope, receive: Receive, send: Send) -> None:
    await edge(scope, receive, partial(_send_through, send))


def _inner_path(path: str) -> str:
    """The operation's own path. One that would lead back here, or be read in two ways, leads nowhere."""
    inner = path.removeprefix(PREFIX)
    segments = inner.split("/")[1:]
    is_plain = inner.startswith("/") and all(segment not in ("", ".", "..") for segment in segments)
    if not is_plain or "\\" in inner or segments[0] == "console" or inner in _ANSWER_TOKENS:
        raise NotFound(f"The console's gateway does not lead to {inner or '/'}.")
    return inner


async def _send_through(send: Send, message: dict[str, Any]) -> None:
    if message["type"] == "http.response.start":
        message = {**message, "headers": rewrite_headers(message["headers"])}
    await send(message)


def rewrite_headers(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Links lead back into the gateway; nothing is kept by the browser or shown as a page."""
    outward = []
    for name, value in headers:
        if name == b"link":
            value = _TARGET.sub(lambda found: b"<" + PREFIX.encode() + found[1] + b">", value)
        elif name == b"location" and value.startswith(b"/"):
            value = PREFIX.encode() + value
        elif name in (b"set-cookie", b"www-authenticate"):
            continue
        outward.append((name, value))
    if not any(name == b"cache-control" for name, _ in outward):
        outward.append((b"cache-control", b"no-store"))
    outward.append((b"x-content-type-options", b"nosniff"))
    outward.append((b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; sandbox"))
    return outward
