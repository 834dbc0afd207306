"""The runner inside each worker process: sleeps until something is due, then runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING

import structlog

from gridloom.platform.database.commit import transaction
from gridloom.platform.jobs import store
from gridloom.platform.jobs.attempt import mark_started, run_claimed
from gridloom.platform.jobs.declare import KINDS

if TYPE_CHECKING:
    from gridloom.platform.database.listener import Listener
    from gridloom.platform.database.pool import Database, Pool

log = structlog.get_logger()

POLL_INTERVAL_S = 30.0
"""The longest sleep: what a lost notification can cost."""
RETRY_DELAY_S = 1.0
"""Delay before polling again for a job that another runner has claimed, or after an error of the database."""
MAX_CONCURRENT_JOBS = 4

Claim = Callable[["Database", list[str]], Awaitable[store.ClaimedJob | None]]


class _Lanes:
    """Some slots of a runner: which kinds of jobs are run there, how many at a time, and how the next is claimed."""

    def __init__(self, slots: int, *, for_organisations: bool, claim: Claim) -> None:
        self.slots = slots
        self.claim = claim
        self.tasks: set[asyncio.Task[None]] = set()
        self.is_bulk_running = False
        self._for_organisations = for_organisations

    def free_kinds(self) -> list[str]:
        return [
            kind.name
            for kind in KINDS.values()
            if kind.for_organisations == self._for_organisations and not (kind.bulk and self.is_bulk_running)
        ]


class JobRunner:
    """Any number of these, in any number of processes, share one queue.

    Jobs of the platform and jobs that organisations ask for have slots of their own.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        max_concurrent: int = MAX_CONCURRENT_JOBS,
        organisation_slots: int = 3,
        max_running: int = 2,
        poll_interval_s: float = POLL_INTERVAL_S,
    ) -> None:
        """`max_running`: jobs of one organisation that run at a time on all replicas together."""
        self._pool = pool
        self._poll_interval_s = poll_interval_s
        self._wake = asyncio.Event()
        self._stopping = False
        self._claiming = asyncio.Lock()  # by one lane at a time: it takes two connections, and all lanes share one pool
        claim_of_organisation = partial(store.claim_due_of_organisation, max_running=max_running)
        self._groups = (
            _Lanes(max_concurrent, for_organisations=False, claim=store.claim_due),
            _Lanes(organisation_slots, for_organisations=True, claim=claim_of_organisation),
        )
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
        running = {task for lanes in self._groups for task in lanes.tasks}
        if running:
            _, late = await asyncio.wait(running, timeout=grace_s)
            for lane in late:
                lane.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def alive(self) -> bool:
        return self._task is not None and not self._task.done()

    async def _keep_running(self) -> None:
        while not self._stopping:
            self._wake.clear()
            try:
                pause_s = min([await self._poll_once(lanes) for lanes in self._groups])
            except Exception as error:  # noqa: BLE001  # it must outlive whatever happens to it
                log.warning("job.queue_unreachable", error=repr(error))
                pause_s = RETRY_DELAY_S
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._wake.wait()

    async def _poll_once(self, lanes: _Lanes) -> float:
        """Start as many lanes as find something to do; the seconds until the next look."""
        is_due, next_s = await store.next_due(self._pool, lanes.free_kinds())
        pause_s = self._poll_interval_s if next_s is None else min(next_s, self._poll_interval_s)
        if not is_due:
            return pause_s
        while not self._stopping and len(lanes.tasks) < lanes.slots:
            if not await self._start_task(lanes):
                # What is due is being run, here or elsewhere; should its runner die, it is ours a moment later.
                return min(pause_s, RETRY_DELAY_S)
        return pause_s

    async def _start_task(self, lanes: _Lanes) -> bool:
        found: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        lane = asyncio.create_task(self._run_while_due(lanes, found), name="job lane")
        lanes.tasks.add(lane)
        lane.add_done_callback(lanes.tasks.discard)
        return await found

    async def _run_while_due(self, lanes: _Lanes, found: asyncio.Future[bool]) -> None:
        try:
            while not self._stopping and await self._run_one(lanes, found):
                pass
        except Exception as error:  # noqa: BLE001  # a lost connection, most likely: the job is as it was
            log.warning("job.task_failed", error=repr(error))
            await asyncio.sleep(RETRY_DELAY_S)
        finally:
            if not found.done():
                found.set_result(False)
            elif not self._stopping:
                self._wake.set()

    async def _run_one(self, lanes: _Lanes, found: asyncio.Future[bool]) -> bool:
        bulk = False
        try:
            async with AsyncExitStack() as turn:
                await turn.enter_async_context(self._claiming)
                async with transaction(self._pool) as db:
                    claimed = await lanes.claim(db, lanes.free_kinds())
                    if claimed is None:
                        return False
                    if not found.done():
                        found.set_result(True)
                    if not await mark_started(self._pool, db, claimed):
                        return True
                    lanes.is_bulk_running = lanes.is_bulk_running or (bulk := KINDS[claimed.kind].bulk)
                    await turn.aclose()
                    await run_claimed(self._pool, db, claimed)
                    return True
        finally:
            if bulk:
                lanes.is_bulk_running = False
