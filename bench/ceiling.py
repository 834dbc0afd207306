"""The ceiling: a bare ASGI application on the same server and driver, with no authentication and no validation.

A bench declares what it does as handlers on a `Bare`; `python -m bench.ceiling bench.reads` serves it.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import asyncpg
import orjson
from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server.mp import MPServer

from gridloom.platform.database.pool import create_pool

Handler = Callable[["asyncpg.Pool[asyncpg.Record]", str, bytes], Awaitable[Any]]
"""Pool, the last part of the path, body → anything orjson can write, or bytes as they are."""


class Bare:
    """The least that can answer a request from PostgreSQL."""

    def __init__(self) -> None:
        self.handlers: dict[tuple[str, str], tuple[Handler, int]] = {}
        self.pool: asyncpg.Pool[asyncpg.Record] | None = None

    def on(self, method: str, prefix: str, status: int = 200) -> Callable[[Handler], Handler]:
        """`prefix` is the path without its last part."""

        def register(handler: Handler) -> Handler:
            self.handlers[method, prefix] = (handler, status)
            return handler

        return register

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        prefix, _, last = scope["path"].rpartition("/")
        handler, status = self.handlers[scope["method"], prefix]
        body = b""
        if scope["method"] != "GET":
            parts = []
            while True:
                message = await receive()
                parts.append(message.get("body", b""))
                if not message.get("more_body"):
                    break
            body = b"".join(parts)
        assert self.pool is not None
        answer = await handler(self.pool, last, body)
        content = answer if isinstance(answer, bytes) else orjson.dumps(answer, default=str)
        headers: Iterable[tuple[bytes, bytes]] = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(content)).encode()),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    async def _live(self, receive: Any, send: Any) -> None:
        await receive()
        self.pool = await create_pool(os.environ["BENCH_DATABASE_URL"], size=int(os.environ["BENCH_POOL_SIZE"]))
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.pool.close()
        await send({"type": "lifespan.shutdown.complete"})


def load() -> Bare:
    ceiling: Bare = importlib.import_module(os.environ["BENCH_MODULE"]).CEILING
    return ceiling


def main(module: str) -> None:
    os.environ["BENCH_MODULE"] = module
    MPServer(
        target="bench.ceiling:load",
        factory=True,
        address="127.0.0.1",
        port=int(os.environ["BENCH_PORT"]),
        interface=Interfaces.ASGI,
        workers=int(os.environ["BENCH_WORKERS"]),
        websockets=False,
        backlog=2048,
        log_level=LogLevels.warning,
        workers_kill_timeout=2,
    ).serve()


if __name__ == "__main__":
    main(sys.argv[1])
