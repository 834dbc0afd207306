"""ASGI middleware for browsers: the console's files and gateway, the guide, and the redirects to them."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator
from typing import Any

import structlog

from gridloom.kernel.problem import MethodNotAllowed, NotAcceptable, Problem
from gridloom.platform.console.gateway import PREFIX, Gateway
from gridloom.platform.console.pages import StaticFiles
from gridloom.platform.console.rules import AllowedOrigins
from gridloom.platform.console.sessions import ConsoleSessions
from gridloom.platform.console.sign_in_refusal import SINGLE_SIGN_ON_PATHS, answer_with_page
from gridloom.platform.guide.pages import HOME as GUIDE
from gridloom.platform.guide.pages import TEXT_INDEX, GuidePages
from gridloom.platform.http.answer.errors import problem_of
from gridloom.platform.http.answer.render import EncodedResponse, negotiate, render_problem
from gridloom.platform.http.answer.sending import send_response
from gridloom.platform.http.application import Application
from gridloom.platform.http.request import Receive, Scope, Send
from gridloom.platform.identity.signing_key_cache import SigningKeyCache
from gridloom.settings import Settings

log = structlog.get_logger("gridloom.platform.console")

HOME = "/console/"
SESSION = "/console/session"


class ConsoleMiddleware:
    """The service with its console in front; all else goes on to `behind`."""

    def __init__(
        self,
        edge: Application,
        behind: Any = None,
        pages: StaticFiles | None = None,
        guide: GuidePages | None = None,
    ) -> None:
        self._edge = edge
        self._behind = behind or edge
        self._gateway = Gateway(edge)
        self._pages = pages or StaticFiles()
        self._guide = guide or GuidePages()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or path == SESSION:
            await self._edge(scope, receive, send)
        elif path == PREFIX or path.startswith(f"{PREFIX}/"):
            await self._pass_on(scope, receive, send)
        elif path.startswith((HOME, GUIDE)) or path == TEXT_INDEX or _is_led_to_a_page(scope, path):
            peer = self._edge.connections.begin(scope.get("client"))
            try:
                await self._serve_page(scope, receive, send)
            finally:
                self._edge.connections.end(peer)
        elif path in SINGLE_SIGN_ON_PATHS and scope["method"] == "GET" and _wants_a_page(scope):
            await answer_with_page(self._behind, scope, receive, send)
        else:
            await self._behind(scope, receive, send)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_started = False

        async def sending(message: dict[str, Any]) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        try:
            await self._gateway(scope, receive, sending)
        except Exception as error:
            if has_started:
                raise
            await self._send_problem(error, scope, receive, send)

    async def _serve_page(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        try:
            if scope["method"] not in ("GET", "HEAD"):
                raise MethodNotAllowed(f"{scope['path']} answers GET, HEAD.", allow=["GET", "HEAD"])
            outcome = await self._read_page(
                scope["path"], headers.get(b"accept-encoding", b"").decode("latin-1") or None
            )
        except (Problem, OSError) as error:
            await self._send_problem(error, scope, receive, send)
            return
        await send_response(outcome, headers, send, receive, is_head=scope["method"] == "HEAD")

    async def _read_page(self, path: str, accept_encoding: str | None) -> EncodedResponse:
        if path == TEXT_INDEX:
            return await self._guide.read("llms.txt", accept_encoding)
        if path.startswith(GUIDE):
            return await self._guide.read(path.removeprefix(GUIDE), accept_encoding)
        if path.startswith(HOME):
            return await self._pages.read(path.removeprefix(HOME), accept_encoding)
        location = GUIDE if path == "/docs/guide" else HOME
        return EncodedResponse(302, {"Location": location, "Cache-Control": "no-store", "Vary": "Accept"}, b"")

    async def _send_problem(self, error: Exception, scope: Scope, receive: Receive, send: Send) -> None:
        problem, request_id = problem_of(error), uuid.uuid4().hex
        if problem.status >= 500:
            log.error("request.failed", path=scope["path"], request_id=request_id, exc_info=error)
        outcome = render_problem(problem, scope["path"], request_id)
        outcome.headers |= {"X-Request-Id": request_id, "Cache-Control": "no-store"}
        outcome.headers.pop("WWW-Authenticate", None)
        await send_response(outcome, dict(scope["headers"]), send, receive, is_head=scope["method"] == "HEAD")


def _is_led_to_a_page(scope: Scope, path: str) -> bool:
    return path in ("/console", "/docs/guide") or (path == "/" and _wants_a_page(scope))


def _wants_a_page(scope: Scope) -> bool:
    """Whether a browser asks, that would rather have a page than JSON."""
    if scope["method"] not in ("GET", "HEAD"):
        return False
    accept = dict(scope["headers"]).get(b"accept", b"").decode("latin-1")
    try:
        return "text/html" in accept and negotiate(accept, ("application/json", "text/html")) == "text/html"
    except NotAcceptable:
        return False


@contextlib.asynccontextmanager
async def lifespan(edge: Application, settings: Settings) -> AsyncIterator[None]:
    is_production = settings.environment == "production"
    own = settings.base_url if is_production else settings.sandbox_base_url
    addresses = (own,) if is_production else (own, settings.base_url)
    edge.resources.add(AllowedOrigins(tuple(filter(None, addresses)), is_sandbox=not is_production))
    edge.resources.add(ConsoleSessions(edge.pool, edge.resources[SigningKeyCache], is_production=is_production))
    yield
