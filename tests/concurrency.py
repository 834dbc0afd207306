"""Changes of one resource at the same time: the later one waits for the earlier, and then sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2

    from gridloom.platform.http.application import Application


async def answer_after_change(
    edge: Application, request: Awaitable[httpx2.Response], statement: str, *arguments: Any
) -> httpx2.Response:
    """The answer to a request that comes while another transaction has changed the row by `statement`, and has not
    committed it yet: it commits as soon as the request waits for it."""
    async with edge.pool.acquire() as connection:
        async with connection.transaction():
            assert await connection.execute(statement, *arguments) == "UPDATE 1"
            asked = asyncio.ensure_future(request)
            await await_blocked(edge, connection, asked)
        return await asked


async def await_blocked(edge: Application, connection: Any, asked: asyncio.Future[Any]) -> None:
    """Until a session waits for the transaction of this connection, or what was asked has ended without."""
    blocks = "select exists (select from pg_stat_activity where $1 = any(pg_blocking_pids(pid)))"
    async with asyncio.timeout(120):
        while not asked.done() and not await edge.pool.fetchval(blocks, connection.get_server_pid()):
            await asyncio.sleep(0.01)


async def answers_after_lock(
    edge: Application, lock: Callable[[Any], Awaitable[Any]], *requests: Awaitable[httpx2.Response]
) -> list[httpx2.Response]:
    """The answers to requests that come while a transaction holds a lock: it ends as soon as all of them wait for it,
    so that each has done whatever it does before it waits."""
    waiting = """with recursive behind(pid) as (
                   select $1::int
                   union select a.pid from pg_stat_activity a join behind b on b.pid = any(pg_blocking_pids(a.pid)))
                 select count(*) - 1 from behind"""
    async with edge.pool.acquire() as connection:
        async with connection.transaction(), asyncio.timeout(120):
            await lock(connection)
            asked = [asyncio.ensure_future(request) for request in requests]
            while await edge.pool.fetchval(waiting, connection.get_server_pid()) < sum(not one.done() for one in asked):
                await asyncio.sleep(0.01)
        return await asyncio.gather(*asked)


async def assert_etag_follows(client: httpx2.AsyncClient, path: str, change: httpx2.Response) -> None:
    """The ETag that a change answered is the one of what is read then."""
    assert change.status_code in (200, 201), change.text
    read = await client.get(path)
    assert read.status_code == 200, read.text
    assert change.headers["etag"] == read.headers["etag"]
