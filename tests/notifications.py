"""What PostgreSQL notifies on a channel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import asyncpg


@asynccontextmanager
async def counting_notifications(dsn: str, channel: str) -> AsyncIterator[Callable[[], Awaitable[int]]]:
    """How many came since the last time that it was asked."""
    heard, listener = asyncio.Queue[str](), await asyncpg.connect(dsn)
    await listener.add_listener(channel, lambda *given: heard.put_nowait(str(given[-1])))

    async def count() -> int:
        await listener.execute("select pg_notify($1, 'last')", channel)
        seen = [await heard.get()]
        while seen[-1] != "last":
            seen.append(await heard.get())
        return len(seen) - 1

    try:
        yield count
    finally:
        await listener.close()
