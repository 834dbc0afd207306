"""Runs the server over stdio, or over streamable HTTP on this machine alone."""

from __future__ import annotations

import secrets
from typing import Any, Final

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from gridloom_client import AsyncClient
from gridloom_mcp.server import make_server

PATH: Final = "/mcp"


def run_stdio(url: str, api_key: str, *, allow_writes: bool) -> None:
    """Until the assistant closes the pipe."""

    async def run() -> None:
        async with AsyncClient(url, api_key=api_key, progress=False) as client:
            await make_server(client, allow_writes=allow_writes).run_stdio_async()

    anyio.run(run)


def run_http(url: str, api_key: str, address: tuple[str, int], bearer: str, *, allow_writes: bool) -> None:
    """Until it is stopped. Only for callers with the bearer token, under a host and origin of this machine."""
    host, port = address

    async def run() -> None:
        async with AsyncClient(url, api_key=api_key, progress=False) as client:
            server = make_server(client, allow_writes=allow_writes)
            await _serve(RequireBearer(_make_app(server, host, port), bearer), host, port)

    anyio.run(run)


def _make_app(server: MCPServer[Any], host: str, port: int) -> ASGIApp:
    names = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
    checks = TransportSecuritySettings(allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names])
    return server.streamable_http_app(streamable_http_path=PATH, transport_security=checks, host=host)


async def _serve(app: ASGIApp, host: str, port: int) -> None:
    import uvicorn

    await uvicorn.Server(uvicorn.Config(app, host=host, port=port, log_level="warning")).serve()


class RequireBearer:
    """Answers 401 to whoever lacks the token: other users of the machine reach its loopback too."""

    def __init__(self, app: ASGIApp, bearer: str) -> None:
        self._app = app
        self._expected = f"Bearer {bearer}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not secrets.compare_digest(given, self._expected):
                refusal = PlainTextResponse(
                    "This server needs its bearer token.\n", 401, {"WWW-Authenticate": "Bearer"}
                )
                return await refusal(scope, receive, send)
        return await self._app(scope, receive, send)
