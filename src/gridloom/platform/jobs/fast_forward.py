"""Walking the platform's clock forward from due time to due time, for the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import datetime
from typing import TYPE_CHECKING

from gridloom.platform.database.commit import transaction
from gridloom.platform.jobs import store
from gridloom.platform.jobs.attempt import mark_started, run_claimed
from gridloom.platform.jobs.declare import KINDS

if TYPE_CHECKING:
    from gridloom.platform.database.pool import Pool


MAX_CONCURRENT_JOBS = 2
"""Of a walk itself: where more are due at one instant, runners of other processes are woken to take the rest."""


async def run_due_platform_jobs(
    pool: Pool, until: datetime, set_clock: Callable[[datetime], Awaitable[None]], *, resume_clock: bool = True
) -> int:
    """Run every platform job that is due by `until`, in order of due time, with the clock standing at each; how many
    ran.

    `set_clock` must have committed when it returns, and must never move the clock back. Jobs that these jobs enqueue
    are run in their turn. A job that another replica is just running is waited for. One that fails is left to the
    runner's retries: the clock does not stop for it. `resume_clock` says whether the clock runs on afterwards or
    stands.
    """
    kinds = list(KINDS)
    claiming = asyncio.Lock()  # by one at a time: it takes two connections, of a pool that others share
    ran = 0
    while coming := await store.earliest_platform_jobs(pool, kinds, until, MAX_CONCURRENT_JOBS + 1):
        kind, _, instant = coming[0]
        # Jobs of a kind that are due at the same instant have no order.
        keys = [key for other, key, due in coming if (other, due) == (kind, instant)]
        if (postpone := KINDS[kind].postpone) is not None:
            instant = await postpone(pool, instant, coming[len(keys)][2] if len(coming) > len(keys) else until)
        await set_clock(instant)
        if len(keys) > MAX_CONCURRENT_JOBS:
            await store.wake(pool)
        ran += sum(await asyncio.gather(*(_run_one(pool, kind, key, claiming) for key in keys[:MAX_CONCURRENT_JOBS])))
    await set_clock(until)
    if resume_clock:  # the runners' timers were set by the clock as it stood before
        await store.wake(pool)
    return ran


async def _run_one(pool: Pool, kind: str, key: str, claiming: asyncio.Lock) -> bool:
    async with AsyncExitStack() as turn:
        await turn.enter_async_context(claiming)
        async with transaction(pool) as db:
            claimed = await store.claim_one(db, kind, key)
            if claimed is None or not await mark_started(pool, db, claimed):
                return False
            await turn.aclose()
            await run_claimed(pool, db, claimed, is_walk=True)
            return True
