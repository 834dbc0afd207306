"""The runner inside each worker process: sleeps until something is due, then runs it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING

import structlog

from gridloom.database.committing.after_commit import transaction
from gridloom.jobs import store
from gridloom.jobs.declare import KINDS
from gridloom.jobs.run import begin, run_begun

if TYPE_CHECKING:
    from gridloom.database.listen import Listener
    from gridloom.database.pool import Pool

log = structlog.get_logger()

LOOK_EVERY_S = 30.0
"""The longest sleep: what a lost notification can cost."""
LOOK_AGAIN_S = 1.0
"""How soon to look again for a job that somebody else is running, or after trouble with the database."""
AT_ONCE = 4


class JobRunner:
    """Any number of these, in any number of processes, share one queue."""

    def __init__(self, pool: Pool, *, at_once: int = AT_ONCE, look_every_s: float = LOOK_EVERY_S) -> None:
        self._pool = pool
        self._at_once = at_once
        self._look_every_s = look_every_s
        self._wake = asyncio.Event()
        self._stopping = False
        self._bulk_running = False
        self._claiming = asyncio.Lock()  # by one lane at a time: it takes two connections, and all lanes share one pool
        self._lanes: set[asyncio.Task[None]] = set()
        self._task: asyncio.Task[None] | None = None

    def attach(self, listener: Listener) -> None:
        listener.subscribe(store.CHANNEL, lambda _payload: self._wake.set())

    async def start(self) -> None:
        for kind in KINDS.values():
            if kind.every is not None:
                await store.put_recurring(self._pool, kind.name, kind.clock, kind.every)
        self._task = asyncio.create_task(self._keep_running(), name="job runner")

    async def stop(self, grace_s: float = 10.0) -> None:
        """Take no new job and let the running ones end.

        What has not ended after the grace time is undone, and another replica runs it.
        """
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            await self._task
        if self._lanes:
            _, late = await asyncio.wait(self._lanes, timeout=grace_s)
            for lane in late:
                lane.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def alive(self) -> bool:
        return self._task is not None and not self._task.done()

    async def _keep_running(self) -> None:
        while not self._stopping:
            self._wake.clear()
            try:
                pause_s = await self._look_for_work()
            except Exception as error:  # noqa: BLE001  # it must outlive whatever happens to it
                log.warning("job.queue_unreachable", error=repr(error))
                pause_s = LOOK_AGAIN_S
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._wake.wait()

    async def _look_for_work(self) -> float:
        """Start as many lanes as find something to do; the seconds until the next look."""
        is_due, next_s = await store.look(self._pool, self._free_kinds())
        pause_s = self._look_every_s if next_s is None else min(next_s, self._look_every_s)
        if not is_due:
            return pause_s
        while not self._stopping and len(self._lanes) < self._at_once:
            if not await self._start_lane():
                # What is due is being run, here or elsewhere; should its runner die, it is ours a moment later.
                return min(pause_s, LOOK_AGAIN_S)
        return pause_s

    async def _start_lane(self) -> bool:
        found: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        lane = asyncio.create_task(self._run_while_due(found), name="job lane")
        self._lanes.add(lane)
        lane.add_done_callback(self._lanes.discard)
        return await found

    async def _run_while_due(self, found: asyncio.Future[bool]) -> None:
        try:
            while not self._stopping and await self._run_one(found):
                pass
        except Exception as error:  # noqa: BLE001  # a lost connection, most likely: the job is as it was
            log.warning("job.lane_broke", error=repr(error))
            await asyncio.sleep(LOOK_AGAIN_S)
        finally:
            if not found.done():
                found.set_result(False)
            elif not self._stopping:
                self._wake.set()

    def _free_kinds(self) -> list[str]:
        return [kind.name for kind in KINDS.values() if not (kind.bulk and self._bulk_running)]

    async def _run_one(self, found: asyncio.Future[bool]) -> bool:
        bulk = False
        try:
            async with AsyncExitStack() as turn:
                await turn.enter_async_context(self._claiming)
                async with transaction(self._pool) as db:
                    claimed = await store.claim_due(db, self._free_kinds())
                    if claimed is None:
                        return False
                    if not found.done():
                        found.set_result(True)
                    if not await begin(self._pool, db, claimed):
                        return True
                    self._bulk_running = self._bulk_running or (bulk := KINDS[claimed.kind].bulk)
                    await turn.aclose()
                    await run_begun(self._pool, db, claimed)
                    return True
        finally:
            if bulk:
                self._bulk_running = False
