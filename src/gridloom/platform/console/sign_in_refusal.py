"""The page that a browser gets where single sign-on is refused: a sentence, and the way back.

The operations of single sign-on answer with problems, as all do. A browser navigates to them itself, and would show the
problem's JSON to a person.
"""

from __future__ import annotations

import html
from typing import Any, Final

import msgspec

from gridloom.platform.console.pages import style_hash
from gridloom.platform.http.answer.render import PROBLEM_JSON
from gridloom.platform.http.request import Receive, Scope, Send

SINGLE_SIGN_ON_PATHS: Final = ("/auth/public/sso/start", "/auth/public/sso/callback")

_STYLE = """
:root { color-scheme: light dark; font: 13px/20px "Inter Variable", Inter, system-ui, sans-serif;
  color: light-dark(#14201c, #e8efec); background: light-dark(#f4f6f5, #0b100e) }
body { margin: 0 }
main { min-height: 100vh; box-sizing: border-box; padding: 20px; display: flex; flex-direction: column;
  align-items: center; justify-content: center; gap: 16px }
header { display: flex; align-items: center; gap: 10px }
h1 { margin: 0; font-size: 22px; line-height: 28px; font-weight: 600 }
h2 { margin: 0; font-size: 14px; line-height: 20px; font-weight: 600 }
section { box-sizing: border-box; width: 340px; max-width: 100%; padding: 20px; display: flex; flex-direction: column;
  gap: 14px; border-radius: 10px; background: light-dark(#fff, #121917);
  border: 1px solid light-dark(#e2e7e5, #222d29) }
p { margin: 0; overflow-wrap: anywhere }
.note { font-size: 12px; line-height: 16px; color: light-dark(#51615b, #a3b3ad) }
a { box-sizing: border-box; height: 32px; padding: 5px 12px; border-radius: 7px; text-align: center; font-weight: 500;
  text-decoration: none; color: light-dark(#fff, #07130e); background: light-dark(#0b6e4f, #35b98a) }
a:focus-visible { outline: 2px solid light-dark(#0b6e4f, #35b98a); outline-offset: 2px }
"""
_MARK = (
    '<rect width="24" height="24" rx="5" fill="#0b6e4f"/>'
    '<path d="M9 5v14M15 5v14M5 8.5h14M5 12h14M5 15.5h14" stroke="#cdebdf" stroke-width="1.6" stroke-linecap="round"/>'
)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Not signed in - Gridloom</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main>
<header><svg width="32" height="32" viewBox="0 0 24 24" aria-hidden="true">{mark}</svg><h1>Gridloom</h1></header>
<section>
<h2>Not signed in</h2>
<p role="alert">{sentence}</p>
<p>{advice}</p>
<a href="/console/">Back to sign-in</a>
<p class="note">Request {request_id}</p>
</section>
</main>
</body>
</html>
"""
_HEADERS: Final = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        f"default-src 'none'; style-src {style_hash(_STYLE)}; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Vary": "Accept",
}
_ADVICE: Final = {
    "single-sign-on-refused": (
        "Sign in again. If it fails once more, an administrator of your organisation finds the reason in its audit log."
    ),
    "network-not-allowed": "Your organisation allows sign-in from its own networks only. Connect to one and try again.",
    "provider-unreachable": "Try again in a few minutes, or sign in with a password.",
}
_OTHER_ADVICE: Final = "Sign in again."


class _Problem(msgspec.Struct, rename="camel"):
    type: str
    title: str
    detail: str = ""
    request_id: str = ""


class RefusalPageSender:
    """An ASGI `send` that turns a problem into a page of the same status; every other response passes as it is."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: dict[str, Any] | None = None
        self._body = b""

    async def __call__(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start" and _is_problem(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._send_page(self._start)

    async def _send_page(self, start: dict[str, Any]) -> None:
        page = render_page(self._body)
        replaced = {name.lower().encode() for name in (*_HEADERS, "Content-Length")}
        headers = [(name, value) for name, value in start["headers"] if name.lower() not in replaced]
        headers += [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
        headers.append((b"content-length", str(len(page)).encode()))
        await self._send({**start, "headers": headers})
        await self._send({"type": "http.response.body", "body": page})


def _is_problem(start: dict[str, Any]) -> bool:
    return any(name.lower() == b"content-type" and value == PROBLEM_JSON.encode() for name, value in start["headers"])


def render_page(document: bytes) -> bytes:
    problem = msgspec.json.decode(document, type=_Problem)
    return _PAGE.format(
        style=_STYLE,
        mark=_MARK,
        sentence=html.escape(problem.detail or f"{problem.title}."),
        advice=_ADVICE.get(problem.type.rpartition("/")[2], _OTHER_ADVICE),
        request_id=html.escape(problem.request_id),
    ).encode()


def without_compression(scope: Scope) -> Scope:
    """The request as of a client that takes no compression: a problem has to be read before it is a page."""
    return {**scope, "headers": [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]}


async def answer_with_page(behind: Any, scope: Scope, receive: Receive, send: Send) -> None:
    await behind(without_compression(scope), receive, RefusalPageSender(send))
