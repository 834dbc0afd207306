"""Runners of a test of their own, and a job that notes that it ran."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from gridloom.platform.database.listener import Listener
from gridloom.platform.jobs import JobRun, JobRunner


def now() -> datetime:
    return datetime.now(UTC)


async def note(run: JobRun) -> None:
    await run.db.execute("insert into done (key, attempt) values ($1, $2)", run.key, run.attempt)


@asynccontextmanager
async def running(pool, dsn: str, count: int = 1, **options) -> AsyncIterator[list[JobRunner]]:
    runners = [JobRunner(pool, **options) for _ in range(count)]
    listener = Listener(dsn)
    for runner in runners:
        runner.attach(listener)
    await listener.start()
    for runner in runners:
        await runner.start()
    await listener.connected.wait()
    try:
        yield runners
    finally:
        for runner in runners:
            await runner.stop()
        await listener.stop()


async def until(check: Callable[[], Awaitable[object]], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not await check():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.02)
